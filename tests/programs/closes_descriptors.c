/* closes_descriptors FILE: a program that closes all descriptors that it did not open, as
 * daemons do, after MPI_Init. Its own files, pipes and sockets get the numbers; MPI goes on,
 * and nothing of its own is read or changed. */
#include "check.h"
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST = 3, LAST = 63, BYTES = 8 << 20 };
static int rank, size;

static char byte_at(long offset) { return (char)(offset * 31 + offset / 4096 + 1); }

/* The launcher's line stays: without it nobody could tell that the program ended as it should. */
static int is_the_launchers(int fd) {
    const char *line = getenv("PMI_FD");
    return line && fd == atoi(line);
}

static void close_all(void) {
    for (int fd = FIRST; fd <= LAST; fd++)
        if (!is_the_launchers(fd))
            close(fd);
}

/* A file with known bytes, at offset BYTES. */
static int make_file(const char *name) {
    char block[4096];
    int fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= FIRST);
    for (long at = 0; at < BYTES; at += sizeof block) {
        for (unsigned i = 0; i < sizeof block; i++)
            block[i] = byte_at(at + i);
        CHECK(write(fd, block, sizeof block) == sizeof block);
    }
    return fd;
}

static void check_file(int fd) {
    char block[4096];
    struct stat stat;
    CHECK(fstat(fd, &stat) == 0 && stat.st_size == BYTES);
    CHECK(lseek(fd, 0, SEEK_CUR) == BYTES);
    for (long at = 0; at < BYTES; at += sizeof block) {
        CHECK(pread(fd, block, sizeof block, at) == sizeof block);
        for (unsigned i = 0; i < sizeof block; i++)
            CHECK(block[i] == byte_at(at + i));
    }
}

/* Every number that is free becomes the file, or the socket. */
static void take_numbers(int file, int socket) {
    for (int fd = FIRST; fd <= LAST; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            CHECK(dup2(fd % 8 == 6 ? socket : file, fd) == fd);
}

static void communicate(int rounds) {
    static char out[1 << 20], in[1 << 20];
    static const int lengths[] = {0, 8, 3000, 70000, 1 << 20};
    int right = (rank + 1) % size, left = (rank + size - 1) % size, sum;
    for (int round = 0; round < rounds; round++) {
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int i = 0; i < 10; i++)
            MPI_Barrier(comm);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
        CHECK(sum == size * (size - 1) / 2);
        for (int i = 0; i < 5; i++) {
            memset(out, rank + i, lengths[i]);
            MPI_Sendrecv(out, lengths[i], MPI_CHAR, right, i, in, lengths[i], MPI_CHAR, left, i, comm, MPI_STATUS_IGNORE);
            CHECK(lengths[i] == 0 || (in[0] == (char)(left + i) && in[lengths[i] - 1] == (char)(left + i)));
        }
        MPI_Comm_free(&comm);
    }
}

int main(int argc, char **argv) {
    char name[1024], said[4];
    int pair[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(name, sizeof name, "%s.%d", argv[1], rank);
    close_all();
    int file = make_file(name);
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    for (int end = 0; end < 2; end++) {
        CHECK(dup2(pair[end], LAST + 1 + end) == LAST + 1 + end && close(pair[end]) == 0);
        pair[end] = LAST + 1 + end;
    }
    CHECK(write(pair[1], "own", 3) == 3 && write(pair[0], "own", 3) == 3);
    take_numbers(file, pair[0]);
    communicate(20);
    if (argc > 2)
        sleep(1); /* ranks that wait for this one sleep */
    communicate(5);
    MPI_Finalize();
    check_file(file);
    for (int end = 0; end < 2; end++)
        CHECK(recv(pair[end], said, sizeof said, MSG_DONTWAIT) == 3 && !memcmp(said, "own", 3));
    CHECK(unlink(name) == 0);
    report("closes_descriptors", rank, size);
    return 0;
}
