/* late_refusal [WHO]: exchanges large messages while single-copy works, then lets the kernel
 * refuse it (to all ranks, or to the rank WHO alone), in the middle of the program, and
 * exchanges more: whole messages that were never begun, and some that were begun before. */
#include "check.h"
#include "seccomp.h"

enum { LONG = 3 << 20, ROUNDS = 4 };
static unsigned char *out, *in;
static int rank, size;

static unsigned char byte_of(int from, int round, int i) {
    return (unsigned char)(from * 13 + round * 7 + i + (i >> 9));
}

static void fill(int round) {
    for (int i = 0; i < LONG; i++)
        out[i] = byte_of(rank, round, i);
    memset(in, 0xee, LONG);
}

static void check(int left, int round) {
    for (int i = 0; i < LONG; i++)
        CHECK(in[i] == byte_of(left, round, i));
}

int main(int argc, char **argv) {
    MPI_Request requests[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    int refused = argc < 2 || atoi(argv[1]) == rank;
    out = malloc(LONG);
    in = malloc(LONG);
    for (int round = 0; round < 3 * ROUNDS; round++) {
        fill(round);
        MPI_Irecv(in, LONG, MPI_BYTE, left, round, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, LONG, MPI_BYTE, right, round, MPI_COMM_WORLD, &requests[1]);
        if (round == ROUNDS && refused) /* the messages are announced, and perhaps begun */
            CHECK(refuse(SYS_process_vm_readv, SYS_process_vm_writev, refusal("eperm")) == 0);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        check(left, round);
    }
    free(out);
    free(in);
    MPI_Finalize();
    report("late_refusal", rank, size);
    return 0;
}
