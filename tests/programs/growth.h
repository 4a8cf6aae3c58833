/* The resources that a program and its launcher hold after each of many rounds: they must not
   grow. */
#include "check.h"
#include <dirent.h>
#include <unistd.h>

/* More than this is growth: caches fill up a little, and the heap has gaps. */
enum { KIB_MORE_MAX = 2048, DESCRIPTORS_MORE_MAX = 2 };

struct held {
    int descriptors;
    long kib;
};

static inline struct held held(long process) {
    struct held now = {0, 0};
    long pages = 0, rest;
    char path[64];
    snprintf(path, sizeof path, "/proc/%ld/fd", process);
    DIR *dir = opendir(path);
    CHECK(dir != NULL);
    while (readdir(dir) != NULL)
        now.descriptors++;
    closedir(dir);
    snprintf(path, sizeof path, "/proc/%ld/statm", process);
    FILE *statm = fopen(path, "r");
    CHECK(statm != NULL && fscanf(statm, "%ld %ld", &rest, &pages) == 2);
    fclose(statm);
    now.kib = pages * (sysconf(_SC_PAGESIZE) / 1024);
    return now;
}

/* Returns whether the parent is our launcher: others may grow as they like. */
static inline int is_ours(void) {
    char path[64], name[16] = "";
    snprintf(path, sizeof path, "/proc/%ld/comm", (long)getppid());
    FILE *comm = fopen(path, "r");
    CHECK(comm != NULL && fscanf(comm, "%15s", name) == 1);
    fclose(comm);
    return strcmp(name, "mpiexec") == 0;
}

/* Looks after a round: says what is held at the start, in the middle and at the end, and ends the
   job if it has grown since a quarter of the rounds. */
static inline void look_for_growth(int round, int rounds, const char *who) {
    static struct held before[2];
    const char *of[2] = {"", "'s launcher"};
    int has_grown = 0;
    for (int i = 0; i < 2; i++) {
        if (round != 0 && round != rounds / 4 && round != rounds / 2 && round != rounds - 1)
            return;
        struct held now = held(i == 0 ? getpid() : getppid());
        if (round == rounds / 4)
            before[i] = now;
        fprintf(stderr, "%s%s after %d of %d rounds: %d descriptors, %ld KiB\n", who, of[i], round + 1, rounds,
                now.descriptors, now.kib);
        if (i == 1 && !is_ours())
            continue;
        has_grown |= round == rounds - 1 && (now.descriptors > before[i].descriptors + DESCRIPTORS_MORE_MAX ||
                                             now.kib > before[i].kib + KIB_MORE_MAX);
    }
    CHECK(!has_grown);
}
