/* sleeps WAY FILE [SECONDS]: rank 1 sleeps in the kernel outside MPI, or within a call of it, for
 * this long or for ever; after that it says whether the call was as if nobody had looked. */
#include <fcntl.h>
#include <mpi.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MANY = 1 << 20 };

static unsigned seconds = 1000;

/* A child that holds the lock of the file and the writing end of the pipe for so long. */
static pid_t holder(const char *file, int lock, int writer) {
    int ready[2];
    char byte;
    if (pipe(ready) != 0)
        exit(3);
    pid_t child = fork();
    if (child == 0) {
        if (lock)
            flock(open(file, O_RDWR | O_CREAT, 0600), LOCK_EX);
        write(ready[1], "x", 1);
        sleep(seconds);
        write(writer, "y", 1);
        _exit(0);
    }
    read(ready[0], &byte, 1);
    return child;
}

/* A child that reads the pipe after this time. Returns more bytes than a pipe holds. */
static size_t slow_reader(const int *ends) {
    static char bytes[MANY];
    if (fork() == 0) {
        close(ends[1]);
        sleep(seconds);
        while (read(ends[0], bytes, sizeof bytes) > 0) {
        }
        _exit(0);
    }
    return MANY;
}

/* Sleeps; returns 1 if it ended as it should. */
static int rest(const char *way, const char *file) {
    char byte = 0;
    int ends[2], status = -1;
    MPI_File opened;
    if (pipe(ends) != 0)
        return 0;
    if (!strcmp(way, "pause"))
        return pause() == 0;
    if (!strcmp(way, "sleep"))
        return sleep(seconds) == 0;
    if (!strcmp(way, "poll"))
        return poll(NULL, 0, 1000 * (int)seconds) == 0;
    if (!strcmp(way, "file")) {
        mkfifo(file, 0600);
        return MPI_File_open(MPI_COMM_SELF, file, MPI_MODE_RDONLY, MPI_INFO_NULL, &opened) == MPI_SUCCESS;
    }
    if (!strcmp(way, "write"))
        return write(ends[1], calloc(1, MANY), slow_reader(ends)) == MANY;
    pid_t child = holder(file, !strcmp(way, "lock"), ends[1]);
    if (!strcmp(way, "read"))
        return read(ends[0], &byte, 1) == 1 && byte == 'y';
    if (!strcmp(way, "lock"))
        return flock(open(file, O_RDWR), LOCK_EX) == 0;
    return waitpid(child, &status, 0) == child && status == 0;
}

int main(int argc, char **argv) {
    int rank;
    struct timespec before, after;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 3)
        seconds = (unsigned)atoi(argv[3]);
    if (rank == 1) {
        clock_gettime(CLOCK_MONOTONIC, &before);
        int is_right = rest(argv[1], argv[2]);
        clock_gettime(CLOCK_MONOTONIC, &after);
        double passed = (double)(after.tv_sec - before.tv_sec) + 1e-9 * (double)(after.tv_nsec - before.tv_nsec);
        puts(is_right && passed > seconds - 0.5 ? "as long as it should" : "cut short");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
