/* A long message arrives while its receiver computes, outside MPI: with
 * VERBENA_PROGRESS_THREAD=1. The sender says in shared memory that its send is complete, which
 * takes the receiver's doing; the receiver computes until it reads that, and only then waits. With
 * the argument "alone", and VERBENA_PROGRESS_THREAD=0, it computes for two seconds and must not
 * read it: the message is longer than what the cells of shared memory hold.
 * Both ranks must see the same /tmp. */
#include "check.h"
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { BYTES = 16 << 20, ROUNDS = 5, SECONDS_MAX = 60, SECONDS_ALONE = 2 };

/* The word that both ranks share: rank 1 counts its completed sends there. */
static atomic_int *shared_word(int rank) {
    char name[64] = "";
    int file = -1;
    if (rank == 0) {
        snprintf(name, sizeof name, "/tmp/verbena-progress-thread.XXXXXX");
        file = mkstemp(name);
        CHECK(file >= 0 && ftruncate(file, sizeof(atomic_int)) == 0);
    }
    MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank != 0)
        file = open(name, O_RDWR);
    CHECK(file >= 0);
    atomic_int *word = mmap(NULL, sizeof *word, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    CHECK(word != MAP_FAILED);
    close(file);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        unlink(name);
    return word;
}

static int alone;

/* Computes until the word is no less; whether that came within the time. */
static int compute_until(atomic_int *word, int least) {
    volatile double value = 1;
    time_t end = time(NULL) + (alone ? SECONDS_ALONE : SECONDS_MAX);
    while (atomic_load(word) < least) {
        for (int step = 0; step < 100000; step++)
            value = value * 1.0000001 + 1e-9;
        if (time(NULL) > end)
            return 0;
    }
    return 1;
}

static void receive_beside(unsigned char *bytes, atomic_int *word, int round) {
    MPI_Request request;
    memset(bytes, 0, BYTES);
    MPI_Irecv(bytes, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(compute_until(word, round + 1) == !alone);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int at = 0; at < BYTES; at++)
        CHECK(bytes[at] == (unsigned char)(at * 7 + round));
}

static void send(unsigned char *bytes, atomic_int *word, int round) {
    for (int at = 0; at < BYTES; at++)
        bytes[at] = (unsigned char)(at * 7 + round);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Send(bytes, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    atomic_fetch_add(word, 1);
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size == 2);
    alone = argc > 1 && strcmp(argv[1], "alone") == 0;
    unsigned char *bytes = malloc(BYTES);
    CHECK(bytes);
    atomic_int *word = shared_word(rank);
    for (int round = 0; round < (alone ? 1 : ROUNDS); round++) {
        if (rank == 0)
            receive_beside(bytes, word, round);
        else
            send(bytes, word, round);
    }
    free(bytes);
    report("progress_thread", rank, size);
    MPI_Finalize();
    return 0;
}
