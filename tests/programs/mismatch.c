/* mismatch WAY [WARM]: the ranks call collectives that do not match, and the library finds out:
 * some rank gets an error that names what was called, or the job ends with it; never a plausible
 * result. WARM collectives come first, so that the communicator has a board. Ways that begin
 * with "fine" are legal, whatever they look like. */
#include "check.h"

enum { MANY = 100000 };
static int rank, size, ints[MANY], more[4 * MANY];
static float floats[MANY];
static MPI_Request request;

/* The blocking call, or the same in another form. */
#define BARRIER() MPI_Barrier(MPI_COMM_WORLD)

static int finish(int code) {
    return code != MPI_SUCCESS ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static int started(int code) {
    return code != MPI_SUCCESS ? code : finish(MPI_Start(&request));
}

static int bcast(int count, MPI_Datatype type, int root) {
    void *buffer = type == MPI_FLOAT ? (void *)floats : ints;
    return MPI_Bcast(buffer, count, type, root, MPI_COMM_WORLD);
}

static int allreduce(int count, MPI_Datatype type, MPI_Op op) {
    return MPI_Allreduce(ints, more, count, type, op, MPI_COMM_WORLD);
}

static int wrong(const char *way) {
    int odd = rank % 2, *none = NULL;
    if (!strcmp(way, "bcast-allreduce"))
        return rank == 0 ? bcast(1, MPI_INT, 0) : allreduce(1, MPI_INT, MPI_SUM);
    if (!strcmp(way, "allreduce-bcast"))
        return rank != 0 ? bcast(1, MPI_INT, 0) : allreduce(1, MPI_INT, MPI_SUM);
    if (!strcmp(way, "barrier-allreduce"))
        return rank == 0 ? BARRIER() : allreduce(1, MPI_INT, MPI_SUM);
    if (!strcmp(way, "barrier-reduce"))
        return rank == 0 ? BARRIER() : MPI_Reduce(ints, more, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!strcmp(way, "ops"))
        return allreduce(1, MPI_INT, odd ? MPI_MAX : MPI_SUM);
    if (!strcmp(way, "long-ops"))
        return allreduce(MANY, MPI_INT, odd ? MPI_MAX : MPI_SUM);
    if (!strcmp(way, "roots"))
        return bcast(1, MPI_INT, rank);
    if (!strcmp(way, "reduce-ops"))
        return MPI_Reduce(ints, more, 1, MPI_INT, odd ? MPI_MIN : MPI_SUM, 0, MPI_COMM_WORLD);
    if (!strcmp(way, "types"))
        return bcast(4, odd ? MPI_FLOAT : MPI_INT, 0);
    if (!strcmp(way, "long-types"))
        return bcast(MANY, odd ? MPI_FLOAT : MPI_INT, 0);
    if (!strcmp(way, "reduced-types"))
        return allreduce(4, odd ? MPI_FLOAT : MPI_INT, MPI_SUM);
    if (!strcmp(way, "longer"))
        return bcast(rank == 0 ? 20 : 10, MPI_INT, 0);
    if (!strcmp(way, "shorter"))
        return bcast(rank == 0 ? 10 : 20, MPI_INT, 0);
    if (!strcmp(way, "nonblocking"))
        return finish(rank == 0 ? MPI_Ibcast(ints, 1, MPI_INT, 0, MPI_COMM_WORLD, &request)
                                : MPI_Iallreduce(ints, more, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    if (!strcmp(way, "persistent"))
        return started(
            MPI_Allreduce_init(ints, more, 1, MPI_INT, odd ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    if (!strcmp(way, "scatter-alltoall"))
        return rank == 0 ? MPI_Scatter(ints, 1, MPI_INT, more, 1, MPI_INT, 0, MPI_COMM_WORLD)
                         : MPI_Alltoall(ints, 1, MPI_INT, more, 1, MPI_INT, MPI_COMM_WORLD);
    if (!strcmp(way, "dup")) {
        MPI_Comm copy;
        return rank == 0 ? MPI_Comm_dup(MPI_COMM_WORLD, &copy) : allreduce(1, MPI_INT, MPI_SUM);
    }
    if (!strcmp(way, "finalize"))
        return rank == 0 ? MPI_SUCCESS : allreduce(1, MPI_INT, MPI_SUM);
    fprintf(stderr, "mismatch: no such way: %s %p\n", way, (void *)none);
    MPI_Abort(MPI_COMM_WORLD, 4);
    return MPI_SUCCESS;
}

/* Type maps may differ where signatures agree; bytes go with everything of their length; what
 * has no elements has no type; only the root's receive arguments count. */
static void fine(void) {
    MPI_Datatype four, strided;
    int got[64];
    MPI_Type_contiguous(4, MPI_INT, &four);
    MPI_Type_vector(4, 1, 2, MPI_INT, &strided);
    MPI_Type_commit(&four);
    MPI_Type_commit(&strided);
    for (int round = 0; round < 8; round++) {
        for (int i = 0; i < 8; i++)
            ints[i] = rank == 0 ? round + i : -1;
        CHECK(MPI_Bcast(ints, rank == 0 ? 4 : 1, rank == 0 ? MPI_INT : four, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(ints[3] == round + 3);
        CHECK(MPI_Bcast(ints, rank == 0 ? 16 : 1, rank == 0 ? MPI_BYTE : strided, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(ints[rank == 0 ? 3 : 6] == round + 3);
        CHECK(MPI_Gather(ints, rank == 0 ? 4 : 16, rank == 0 ? MPI_INT : MPI_PACKED, got, 1, four, 0,
                         MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(MPI_Bcast(ints, 0, rank == 0 ? MPI_INT : MPI_FLOAT, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
        int counts[64], places[64];
        for (int i = 0; i < size; i++)
            counts[i] = i % 2, places[i] = 0;
        CHECK(MPI_Gatherv(floats, rank % 2, rank % 2 ? MPI_INT : MPI_FLOAT, got, counts, places, MPI_INT, 0,
                          MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(MPI_Allreduce(MPI_IN_PLACE, got, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    MPI_Type_free(&four);
    MPI_Type_free(&strided);
}

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "";
    int warm = argc > 2 ? atoi(argv[2]) : 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < warm; i++)
        CHECK(allreduce(1, MPI_INT, MPI_SUM) == MPI_SUCCESS);
    if (!strcmp(way, "fine"))
        fine();
    else
        wrong(way);
    /* Whoever noticed nothing goes on, as programs do. */
    MPI_Finalize();
    if (!strcmp(way, "fine"))
        report("mismatch", rank, size);
    return 0;
}
