/* Spawns copies of itself, in the way that the first argument names. */
#include "check.h"
#include <dirent.h>
#include <signal.h>
#include <unistd.h>

static const int LONG = 1 << 18;
static char *self;

static int descriptors(void) {
    int count = 0;
    DIR *dir = opendir("/proc/self/fd");
    CHECK(dir != NULL);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count;
}

static long resident_kib(void) {
    long pages = 0, rest;
    FILE *statm = fopen("/proc/self/statm", "r");
    CHECK(statm != NULL && fscanf(statm, "%ld %ld", &rest, &pages) == 2);
    fclose(statm);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* All processes of both sides, in which everybody talks with everybody. */
static void talk(MPI_Comm inter, int high) {
    MPI_Comm all;
    int rank, size, sum = 0, expected = 0;
    CHECK(MPI_Intercomm_merge(inter, high, &all) == MPI_SUCCESS);
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all);
    for (int i = 0; i < size; i++)
        expected += i;
    CHECK(sum == expected);
    int *out = malloc(LONG * sizeof *out), *in = malloc(LONG * sizeof *in);
    for (int step = 1; step < size; step++) {
        int to = (rank + step) % size, from = (rank + size - step) % size;
        for (int i = 0; i < LONG; i++)
            out[i] = rank * 7 + i;
        MPI_Status status;
        MPI_Sendrecv(out, LONG, MPI_INT, to, step, in, LONG, MPI_INT, from, step, all, &status);
        CHECK(status.MPI_SOURCE == from && in[0] == from * 7 && in[LONG - 1] == from * 7 + LONG - 1);
        MPI_Sendrecv(&rank, 1, MPI_INT, to, 0, in, 1, MPI_INT, MPI_ANY_SOURCE, 0, all, &status);
        CHECK(in[0] == status.MPI_SOURCE);
    }
    free(out);
    free(in);
    /* One-sided, in memory of the program's and of the library's. */
    for (int allocated = 0; allocated < 2; allocated++) {
        int own[2] = {-1, -1}, *base = own, got = -1, next = (rank + 1) % size;
        MPI_Win win;
        if (allocated)
            MPI_Win_allocate(sizeof own, sizeof(int), MPI_INFO_NULL, all, &base, &win);
        else
            MPI_Win_create(own, sizeof own, sizeof(int), MPI_INFO_NULL, all, &win);
        MPI_Win_fence(0, win);
        MPI_Put(&rank, 1, MPI_INT, next, 0, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        CHECK(base[0] == (rank + size - 1) % size);
        MPI_Get(&got, 1, MPI_INT, next, 0, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        CHECK(got == rank);
        MPI_Win_lock_all(0, win);
        MPI_Fetch_and_op(&rank, &got, MPI_INT, next, 0, MPI_SUM, win);
        MPI_Win_flush(next, win);
        MPI_Win_unlock_all(win);
        CHECK(got == rank);
        MPI_Win_free(&win);
    }
    MPI_Comm part, twin;
    MPI_Comm_split(all, rank % 2, -rank, &part);
    MPI_Comm_dup(part, &twin);
    MPI_Barrier(twin);
    MPI_Comm_free(&twin);
    MPI_Comm_free(&part);
    MPI_Comm_free(&all);
}

static void child(MPI_Comm parent, int argc, char **argv) {
    int rank, size, *appnum, flag;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "arguments") == 0) {
        CHECK(argc == 5 && strcmp(argv[2], "a b") == 0 && strcmp(argv[3], "") == 0 && strcmp(argv[4], "-n") == 0);
        char folder[4096] = "";
        CHECK(strcmp(getenv("SPAWNED_WITH"), "x=y") == 0);
        CHECK(getcwd(folder, sizeof folder) != NULL && strcmp(folder, "/") == 0);
    } else if (strcmp(what, "numbered") == 0) {
        MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &appnum, &flag);
        CHECK(flag && argc == 3 && atoi(argv[2]) == *appnum && *appnum == (rank > 0));
    } else if (strcmp(what, "dies") == 0) {
        MPI_Barrier(parent);
        raise(SIGKILL);
    } else if (strcmp(what, "aborts") == 0) {
        MPI_Barrier(parent);
        MPI_Abort(MPI_COMM_WORLD, 7);
    } else if (strcmp(what, "sleeps") == 0) {
        MPI_Barrier(parent);
        for (;;)
            pause();
    } else if (strcmp(what, "stays") == 0) {
        MPI_Comm_disconnect(&parent);
        usleep(300000);
        if (rank == 0)
            printf("the child is done\n");
        return;
    } else if (strcmp(what, "forgets") == 0) {
        return;
    }
    if (strcmp(what, "short") != 0)
        talk(parent, 1);
    else
        MPI_Barrier(parent);
    MPI_Comm_disconnect(&parent);
    CHECK(parent == MPI_COMM_NULL);
}

static MPI_Comm spawn(const char *what, int count) {
    MPI_Comm inter;
    char *argv[] = {(char *)what, NULL};
    int codes[16], size;
    memset(codes, 0xff, sizeof codes);
    CHECK(MPI_Comm_spawn(self, argv, count, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes) == MPI_SUCCESS);
    for (int i = 0; i < count; i++)
        CHECK(codes[i] == MPI_SUCCESS);
    MPI_Comm_remote_size(inter, &size);
    CHECK(size == count);
    return inter;
}

static void merge(void) {
    MPI_Comm inter = spawn("talks", 4);
    talk(inter, 0);
    MPI_Comm_disconnect(&inter);
}

static void arguments(void) {
    char *argv[] = {"arguments", "a b", "", "-n", NULL};
    MPI_Info info;
    MPI_Comm inter;
    MPI_Info_create(&info);
    MPI_Info_set(info, "env", "SPAWNED_WITH=x=y");
    MPI_Info_set(info, "a key that nobody knows", "1");
    MPI_Info_set(info, "soft", "1:9:2");
    MPI_Info_set(info, "wdir", "/");
    MPI_Info_set(info, "host", "localhost");
    /* The program is found by the key alone: nothing of this name is in PATH. */
    char file[4096] = "";
    CHECK(readlink("/proc/self/exe", file, sizeof file - 1) > 0);
    char *name = strrchr(file, '/') + 1, path[4200];
    name[-1] = '\0';
    snprintf(path, sizeof path, "/no/such/folder:%s", file);
    MPI_Info_set(info, "path", path);
    int codes[4], size;
    CHECK(MPI_Comm_spawn(name, argv, 4, info, 0, MPI_COMM_WORLD, &inter, codes) == MPI_SUCCESS);
    MPI_Comm_remote_size(inter, &size);
    CHECK(size == 3 && codes[2] == MPI_SUCCESS && codes[3] == MPI_ERR_SPAWN);
    MPI_Info_free(&info);
    talk(inter, 0);
    MPI_Comm_disconnect(&inter);
}

static void multiple(void) {
    char *commands[] = {self, self}, *first[] = {"numbered", "0", NULL}, *second[] = {"numbered", "1", NULL};
    char **argvs[] = {first, second};
    int counts[] = {1, 2}, codes[3], size;
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm inter;
    CHECK(MPI_Comm_spawn_multiple(2, commands, argvs, counts, infos, 0, MPI_COMM_WORLD, &inter, codes) == 0);
    MPI_Comm_remote_size(inter, &size);
    CHECK(size == 3);
    talk(inter, 0);
    MPI_Comm_disconnect(&inter);
}

static void missing(void) {
    MPI_Comm inter;
    int codes[2] = {0, 0};
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Comm_spawn("/no/such/program", MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes),
                MPI_ERR_SPAWN);
    CHECK(codes[0] == MPI_ERR_SPAWN && codes[1] == MPI_ERR_SPAWN);
    CHECK_CLASS(MPI_Comm_spawn("/bin/true", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                               MPI_ERRCODES_IGNORE),
                MPI_ERR_SPAWN);
    CHECK_CLASS(MPI_Comm_spawn(self, MPI_ARGV_NULL, 0, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes), MPI_ERR_ARG);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    merge();
}

/* Spawning and disconnecting again and again takes no more memory and descriptors. */
static void again(int rounds, int children) {
    int open = 0;
    long memory = 0;
    for (int i = 0; i < rounds; i++) {
        MPI_Comm inter = spawn("short", children);
        MPI_Barrier(inter);
        MPI_Comm_disconnect(&inter);
        if (i == rounds / 4) {
            open = descriptors();
            memory = resident_kib();
        }
    }
    if (descriptors() > open + 2 || resident_kib() > memory + 4096) {
        fprintf(stderr, "%d descriptors and %ld KiB have become %d and %ld\n", open, memory, descriptors(),
                resident_kib());
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

static void lose(const char *how) {
    int word = 0;
    MPI_Comm inter = spawn(how, 1);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    MPI_Barrier(inter);
    CHECK(MPI_Recv(&word, 1, MPI_INT, 0, 9, inter, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    CHECK(MPI_Send(&word, 1, MPI_INT, 0, 9, inter) != MPI_SUCCESS);
    MPI_Comm_free(&inter);
}

int main(int argc, char **argv) {
    MPI_Comm parent, inter;
    int rank, size;
    self = argv[0];
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        child(parent, argc, argv);
        MPI_Finalize();
        return 0;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *what = argc > 1 ? argv[1] : "merge";
    if (strcmp(what, "merge") == 0)
        merge();
    else if (strcmp(what, "arguments") == 0)
        arguments();
    else if (strcmp(what, "multiple") == 0)
        multiple();
    else if (strcmp(what, "missing") == 0)
        missing();
    else if (strcmp(what, "again") == 0)
        again(atoi(argv[2]), argc > 3 ? atoi(argv[3]) : 2);
    else if (strcmp(what, "killed") == 0)
        lose("dies");
    else if (strcmp(what, "aborted") == 0)
        lose("aborts");
    else if (strcmp(what, "asleep") == 0) {
        inter = spawn("sleeps", 2);
        MPI_Barrier(inter);
        printf("all sleep\n");
        fflush(stdout);
        for (;;)
            pause();
    }
    else if (strcmp(what, "first") == 0) {
        inter = spawn("stays", 2);
        MPI_Comm_disconnect(&inter);
    } else if (strcmp(what, "forgets") == 0) {
        inter = spawn("forgets", 2);
    } else
        CHECK(!"a known way");
    report("spawns", rank, size);
    MPI_Finalize();
    return 0;
}
