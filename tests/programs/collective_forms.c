/* Nonblocking and persistent collectives, several at once; a program's own operation; an
   intercommunicator. */
#include "check.h"

/* Composition of the maps x -> m x + c: associative, not commutative. */
static void compose(void *in, void *inout, int *len, MPI_Datatype *type) {
    unsigned *a = in, *b = inout;
    (void)type;
    for (int i = 0; i < *len; i++) {
        b[2 * i + 1] = a[2 * i] * b[2 * i + 1] + a[2 * i + 1];
        b[2 * i] = a[2 * i] * b[2 * i];
    }
}

static void composed(int ranks, unsigned *m, unsigned *c) {
    *m = 1, *c = 0;
    for (int i = 0; i < ranks; i++) {
        *c = *m * (unsigned)(i + 5) + *c;
        *m *= (unsigned)(2 * i + 3);
    }
}

static void reductions(int rank, int size) {
    MPI_Datatype pair;
    MPI_Op op;
    unsigned mine[2] = {(unsigned)(2 * rank + 3), (unsigned)(rank + 5)}, all[2], before[2] = {0, 0}, m, c;
    MPI_Type_contiguous(2, MPI_UNSIGNED, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(compose, 0, &op);
    MPI_Allreduce(mine, all, 1, pair, op, MPI_COMM_WORLD);
    composed(size, &m, &c);
    CHECK(all[0] == m && all[1] == c);
    MPI_Request request;
    MPI_Iexscan(mine, before, 1, pair, op, MPI_COMM_WORLD, &request);
    /* They live on until the operation is complete. */
    MPI_Op_free(&op);
    MPI_Type_free(&pair);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    composed(rank, &m, &c);
    CHECK(rank == 0 || (before[0] == m && before[1] == c));
}

static void at_once(int rank, int size) {
    enum { MANY = 12, LENGTH = 3000 };
    static int in[MANY][LENGTH], out[MANY][LENGTH];
    MPI_Request requests[MANY + 1];
    for (int k = 0; k < MANY; k++) {
        for (int i = 0; i < LENGTH; i++)
            in[k][i] = rank + k + i;
        int length = k % 2 ? LENGTH : 1;
        if (k % 3 == 0)
            MPI_Iallreduce(in[k], out[k], length, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[k]);
        else if (k % 3 == 1)
            MPI_Ibcast(in[k], length, MPI_INT, k % size, MPI_COMM_WORLD, &requests[k]);
        else
            MPI_Iscan(in[k], out[k], length, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &requests[k]);
    }
    MPI_Ibarrier(MPI_COMM_WORLD, &requests[MANY]);
    /* Waited for in another order than begun, which differs between the ranks. */
    for (int k = 0; k <= MANY; k++)
        MPI_Wait(&requests[(k * 5 + rank) % (MANY + 1)], MPI_STATUS_IGNORE);
    for (int k = 0; k < MANY; k++) {
        int last = k % 2 ? LENGTH - 1 : 0;
        if (k % 3 == 0)
            CHECK(out[k][last] == size * (size - 1) / 2 + size * (k + last));
        else if (k % 3 == 1)
            CHECK(in[k][last] == k % size + k + last);
        else
            CHECK(out[k][last] == rank + k + last);
    }
}

static void persistent(int rank, int size) {
    int value, sum, *all = malloc(size * sizeof *all);
    MPI_Request requests[2];
    MPI_Allreduce_init(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Allgather_init(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &requests[1]);
    for (int round = 0; round < 20; round++) {
        value = rank + round;
        all[rank] = rank * round;
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK(sum == size * (size - 1) / 2 + size * round);
        for (int i = 0; i < size; i++)
            CHECK(all[i] == i * round);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    free(all);
}

static void vectors(int rank, int size) {
    int *counts = malloc(size * sizeof *counts), *displs = malloc(size * sizeof *displs), total = 0;
    for (int i = 0; i < size; i++) {
        counts[i] = i % 4;
        displs[i] = total;
        total += counts[i];
    }
    int *all = malloc((total + 1) * sizeof *all), mine[4] = {rank, rank, rank, rank};
    MPI_Allgatherv(mine, counts[rank], MPI_INT, all, counts, displs, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        for (int k = 0; k < counts[i]; k++)
            CHECK(all[displs[i] + k] == i);
    MPI_Reduce_scatter(all, mine, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int k = 0; k < counts[rank]; k++)
        CHECK(mine[k] == rank * size);
    MPI_Scatterv(all, counts, displs, MPI_INT, mine, counts[rank], MPI_INT, size - 1, MPI_COMM_WORLD);
    for (int k = 0; k < counts[rank]; k++)
        CHECK(mine[k] == rank);
    free(counts);
    free(displs);
    free(all);
}

static void two_groups(int rank, int size) {
    MPI_Comm half, inter;
    int side = rank % 2, others = side ? (size + 1) / 2 : size / 2, sum = -1, expected = 0;
    MPI_Comm_split(MPI_COMM_WORLD, side, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 7, &inter);
    MPI_Barrier(inter);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter);
    for (int i = 0; i < others; i++)
        expected += 2 * i + 1 - side;
    CHECK(sum == expected);
    int *all = malloc(others * sizeof *all), value = rank;
    MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, inter);
    for (int i = 0; i < others; i++)
        CHECK(all[i] == 2 * i + 1 - side);
    MPI_Bcast(&value, 1, MPI_INT, side ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
    CHECK(value == (side ? 0 : rank));
    free(all);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    reductions(rank, size);
    at_once(rank, size);
    persistent(rank, size);
    vectors(rank, size);
    if (size > 1)
        two_groups(rank, size);
    MPI_Finalize();
    if (rank == 0)
        printf("collective_forms: ok with %d ranks\n", size);
    return 0;
}
