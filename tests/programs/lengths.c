/* lengths COLLECTIVE WHO ON [PLAIN]: one rank gives another length to a collective than the others,
 * for many pairs of lengths that may go different ways: rank 0, or the last one (WHO is "first" or
 * "last"). Where all need the contribution of that rank, or it needs theirs, all get an error; else
 * some rank does. With ON 1 all ranks then go on to a barrier of the same communicator, also those
 * that noticed nothing, and to long reductions; with ON 2 to the reductions at once. Nobody may
 * wait long, and what succeeds is right. With PLAIN 0 the operation is the program's own. */
#include "check.h"

enum { MOST = 2000000, LONG_S = 5 };
static const int lengths[] = {8, 24, 32, 6000, 40000, 300000, MOST};
enum { LENGTHS = sizeof lengths / sizeof lengths[0] };
static int rank, size, plain = 1, failures;
static char *from, *to;
static MPI_Comm control;
static MPI_Op own;

static void add(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

/* The elements of each block of a vector of so many bytes. */
static int block_of(int bytes) {
    int block = bytes / 4 / size;
    return block ? block : 1;
}

static int call(const char *which, int bytes, MPI_Comm comm) {
    int count = bytes / 4, block = block_of(bytes), counts[64];
    MPI_Op op = plain ? MPI_SUM : own;
    for (int i = 0; i < size; i++)
        counts[i] = block;
    if (!strcmp(which, "allreduce"))
        return MPI_Allreduce(from, to, count, MPI_INT, op, comm);
    if (!strcmp(which, "reduce"))
        return MPI_Reduce(from, to, count, MPI_INT, op, 0, comm);
    if (!strcmp(which, "reduce_scatter"))
        return MPI_Reduce_scatter(from, to, counts, MPI_INT, op, comm);
    if (!strcmp(which, "reduce_scatter_block"))
        return MPI_Reduce_scatter_block(from, to, block, MPI_INT, op, comm);
    if (!strcmp(which, "scan"))
        return MPI_Scan(from, to, count, MPI_INT, op, comm);
    if (!strcmp(which, "allgather"))
        return MPI_Allgather(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, comm);
    if (!strcmp(which, "alltoall"))
        return MPI_Alltoall(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, comm);
    if (!strcmp(which, "bcast"))
        return MPI_Bcast(from, bytes, MPI_BYTE, 0, comm);
    if (!strcmp(which, "gather"))
        return MPI_Gather(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, 0, comm);
    if (!strcmp(which, "scatter"))
        return MPI_Scatter(from, bytes, MPI_BYTE, to, bytes, MPI_BYTE, 0, comm);
    fprintf(stderr, "lengths: no collective %s\n", which);
    MPI_Abort(MPI_COMM_WORLD, 4);
    return -1;
}

/* The ranks that must get an error, a bit each: of a call in which `who` gives another length. */
static int must_err(const char *which, int who, int shortest) {
    int all = (1 << size) - 1;
    if (!strcmp(which, "bcast") || !strcmp(which, "scatter"))
        return who == 0 ? all & ~1 : 1 << who;
    if (!strcmp(which, "gather"))
        return 1;
    /* Between long messages the ranks that get a wrong one say so. */
    if (!strcmp(which, "scan") || !strcmp(which, "reduce") || shortest > 8000)
        return 0;
    return all;
}

/* Long reductions after the error. Returns how many failed. */
static int go_on(MPI_Comm comm) {
    enum { COUNT = 1 << 18 };
    int failed = 0, expected = size * (size + 1) / 2, *sums = (int *)to;
    for (int i = 0; i < COUNT; i++)
        ((int *)from)[i] = rank + 1;
    for (int i = 0; i < 2; i++) {
        if (MPI_Allreduce(from, to, COUNT, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS)
            CHECK(sums[0] == expected && sums[COUNT / 2] == expected && sums[COUNT - 1] == expected);
        else
            failed++;
    }
    if (MPI_Scan(from, to, COUNT, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS)
        CHECK(sums[0] == (rank + 1) * (rank + 2) / 2 && sums[COUNT - 1] == sums[0]);
    else
        failed++;
    return failed;
}

static void try(const char *which, int who, int on, int usual, int other) {
    int bytes = rank == who ? other : usual, erred, shortest = usual < other ? usual : other;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int i = 0; i < 6; i++)
        CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
    double start = MPI_Wtime();
    int code = call(which, bytes, comm), class = class_of(code);
    if (on == 1)
        MPI_Barrier(comm);
    failures += on ? go_on(comm) : 0;
    double took = MPI_Wtime() - start;
    int own_bit = class != MPI_SUCCESS ? 1 << rank : 0;
    if (took > LONG_S) {
        fprintf(stderr, "lengths: %s of %d bytes, and %d at rank %d, took rank %d %.1f s\n", which, usual, other, who,
                rank, took);
        MPI_Abort(MPI_COMM_WORLD, 5);
    }
    MPI_Allreduce(&own_bit, &erred, 1, MPI_INT, MPI_BOR, control);
    int must = must_err(which, who, shortest);
    if (erred == 0 || (erred & must) != must) {
        fprintf(stderr, "lengths: %s of %d bytes, and %d at rank %d: errors at ranks %#x, not %#x\n", which, usual, other,
                who, erred, must);
        MPI_Abort(MPI_COMM_WORLD, 6);
    }
    if (class != MPI_SUCCESS)
        CHECK(class == MPI_ERR_TRUNCATE || class == MPI_ERR_COUNT || class == MPI_ERR_OTHER);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv) {
    CHECK(argc > 3);
    plain = argc < 5 || atoi(argv[4]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &control);
    MPI_Op_create(add, 1, &own);
    from = calloc(size, MOST), to = calloc(size, MOST);
    for (int i = 0; i < LENGTHS; i++)
        for (int j = 0; j < LENGTHS; j++)
            if (block_of(lengths[i]) != block_of(lengths[j]))
                try(argv[1], strcmp(argv[2], "first") ? size - 1 : 0, atoi(argv[3]), lengths[i], lengths[j]);
    if (failures)
        fprintf(stderr, "lengths: %d reductions after errors failed on rank %d\n", failures, rank);
    MPI_Op_free(&own);
    MPI_Comm_free(&control);
    MPI_Finalize();
    report("lengths", rank, size);
    return 0;
}
