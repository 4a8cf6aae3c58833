/* A program whose calls are known: what wrappers.c counts of it is compared. It calls what needs
 * much help inside the library: other communicators, topologies, collectives, derived datatypes,
 * long messages. */
#include "check.h"

#define LONG 300000

static int rank, size, next, previous;

static void messages(void) {
    static char out[LONG], in[LONG];
    MPI_Request requests[2];
    for (int i = 0; i < 5; i++) {
        MPI_Irecv(in, LONG, MPI_BYTE, previous, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, LONG, MPI_BYTE, next, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < 3; i++) {
        MPI_Irecv(in, 100, MPI_INT, previous, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Send(out, 100, MPI_INT, next, 1, MPI_COMM_WORLD);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    MPI_Sendrecv(out, LONG, MPI_BYTE, next, 2, in, LONG, MPI_BYTE, previous, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void collectives(void) {
    static double a[LONG / 8], b[LONG / 8];
    MPI_Request request;
    for (int i = 0; i < 4; i++)
        MPI_Allreduce(a, b, LONG / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Iallreduce(a, b, LONG / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Bcast(a, LONG / 8, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void objects(void) {
    MPI_Comm dup, half, cart;
    MPI_Datatype column;
    int dims[1] = {size}, periods[1] = {1};
    MPI_Comm_dup(MPI_COMM_WORLD, &dup);
    MPI_Comm_split(dup, rank % 2, 0, &half);
    MPI_Cart_create(half, 1, (int[]){1}, periods, 0, &cart);
    MPI_Type_vector(3, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Type_free(&column);
    if (cart != MPI_COMM_NULL)
        MPI_Comm_free(&cart);
    MPI_Comm_free(&half);
    MPI_Comm_free(&dup);
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 1, &cart);
    MPI_Comm_disconnect(&cart);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    next = (rank + 1) % size;
    previous = (rank + size - 1) % size;
    messages();
    collectives();
    objects();
    report("profiled", rank, size);
    MPI_Finalize();
    return 0;
}
