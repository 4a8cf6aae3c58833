/* skipped WHICH: the last rank fails in its arguments in a collective in which the others need it,
 * and all go on. The others get an error, at the latest when that rank is in its next collective;
 * with WHICH "stays" it never is before they have told it by a message. What succeeds later is
 * right, and all broadcasts and reductions at the end succeed. */
#include "check.h"

enum { COUNT = 16384, TIMES = 20, LONG_S = 5 };
static int rank, size, last;
static int from[COUNT], to[COUNT];
static MPI_Comm comm, control;
static MPI_Op own;

static void add(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

static int sum_of_all(int i) {
    int sum = 0;
    for (int r = 0; r < size; r++)
        sum += 1000 * r + i;
    return sum;
}

static int reduce(MPI_Op op, int count) {
    for (int i = 0; i < COUNT; i++)
        from[i] = 1000 * rank + i, to[i] = -1;
    int code = MPI_Allreduce(from, to, count, MPI_INT, op, comm);
    for (int i = 0; code == MPI_SUCCESS && i < count; i++)
        CHECK(to[i] == sum_of_all(i));
    return code;
}

/* A broadcast that goes through slots. */
static int bcast(int root, int salt) {
    for (int i = 0; i < COUNT; i++)
        to[i] = rank == root ? salt + i : -1;
    int code = MPI_Bcast(to, COUNT, MPI_INT, root, comm);
    for (int i = 0; code == MPI_SUCCESS && i < COUNT; i++)
        CHECK(to[i] == salt + i);
    return code;
}

/* The last rank skips it. */
static int skipped(int which) {
    int count = rank == last ? -1 : COUNT;
    for (int i = 0; i < COUNT; i++)
        from[i] = 1000 * rank + i, to[i] = rank == 0 ? 7 * i : -1;
    switch (which % 4) {
    case 0:
        return MPI_Allreduce(from, to, count, MPI_INT, own, comm);
    case 1:
        return MPI_Allreduce(from, to, count, MPI_INT, MPI_SUM, comm);
    case 2:
        return MPI_Allreduce(from, to, rank == last ? -1 : 2, MPI_INT, MPI_SUM, comm);
    default: {
        /* Nobody needs the last rank here. */
        int code = MPI_Bcast(to, count, MPI_INT, 0, comm);
        for (int i = 0; code == MPI_SUCCESS && i < COUNT; i++)
            CHECK(to[i] == 7 * i);
        return code;
    }
    }
}

int main(int argc, char **argv) {
    CHECK(argc > 1);
    int stays = !strcmp(argv[1], "stays");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &control);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Op_create(add, 1, &own);
    last = size - 1;
    for (int i = 0; i < 6; i++)
        CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
    for (int time = 0; time < TIMES; time++) {
        double start = MPI_Wtime();
        int code = skipped(time);
        CHECK(rank == last ? class_of(code) == MPI_ERR_COUNT : time % 4 == 3 || code != MPI_SUCCESS);
        if (stays && rank == last)
            for (int r = 0; r < last; r++)
                CHECK(MPI_Recv(NULL, 0, MPI_INT, r, 0, control, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        else if (stays)
            CHECK(MPI_Send(NULL, 0, MPI_INT, last, 0, control) == MPI_SUCCESS);
        bcast(last, 100 * time);
        bcast(0, 200 * time);
        reduce(own, COUNT);
        reduce(MPI_SUM, COUNT);
        CHECK(MPI_Wtime() - start < LONG_S);
        MPI_Barrier(control);
        CHECK(bcast(time % size, 300 * time) == MPI_SUCCESS);
        CHECK(reduce(own, COUNT) == MPI_SUCCESS && reduce(MPI_SUM, COUNT) == MPI_SUCCESS);
        CHECK(reduce(MPI_SUM, 2) == MPI_SUCCESS && bcast(last, 400 * time) == MPI_SUCCESS);
    }
    MPI_Op_free(&own);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&control);
    MPI_Finalize();
    report("skipped", rank, size);
    return 0;
}
