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

/* Blocks of one element from and to everybody. */
static int ones[64], places[64], bytes[64];
static MPI_Datatype sent[64], wanted[64];

static void blocks(MPI_Datatype out, MPI_Datatype in) {
    for (int i = 0; i < 64; i++)
        ones[i] = 1, places[i] = i, bytes[i] = 4 * i, sent[i] = out, wanted[i] = in;
}

static int alltoallw(MPI_Comm comm) {
    return MPI_Alltoallw(ints, ones, bytes, sent, more, ones, bytes, wanted, comm);
}

/* The even ranks and the odd ranks, as the groups of an intercommunicator. */
static MPI_Comm between(void) {
    MPI_Comm mine, both;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &mine);
    MPI_Intercomm_create(mine, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &both);
    MPI_Comm_free(&mine);
    return both;
}

/* A ring, in which everybody sends to the next one. */
static MPI_Comm ring(void) {
    int from = (rank + size - 1) % size, to = (rank + 1) % size;
    MPI_Comm comm;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &from, MPI_UNWEIGHTED, 1, &to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &comm);
    return comm;
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *count; i++)
        ((int *)inout)[i] += ((int *)in)[i];
}

/* Calls on communicators of their own; -1 if there is no such way. */
static int wrong_elsewhere(const char *way) {
    int odd = rank % 2;
    MPI_Aint far[64];
    for (int i = 0; i < 64; i++)
        far[i] = 4 * i;
    blocks(odd ? MPI_FLOAT : MPI_INT, MPI_INT);
    if (!strcmp(way, "between-types"))
        return MPI_Allreduce(ints, more, 2, odd ? MPI_INT : MPI_FLOAT, MPI_SUM, between());
    if (!strcmp(way, "between-bcast-types")) {
        int root = rank == 0 ? MPI_ROOT : odd ? 0 : MPI_PROC_NULL;
        return MPI_Bcast(ints, 2, odd ? MPI_FLOAT : MPI_INT, root, between());
    }
    if (!strcmp(way, "between-allgather-types"))
        return MPI_Allgather(ints, 2, MPI_INT, more, 2, odd ? MPI_INT : MPI_FLOAT, between());
    if (!strcmp(way, "between-alltoallv"))
        return MPI_Alltoallv(ints, ones, places, sent[0], more, ones, places, MPI_INT, between());
    if (!strcmp(way, "between-roots"))
        return MPI_Bcast(ints, 1, MPI_INT, rank < 2 ? MPI_ROOT : MPI_PROC_NULL, between());
    if (!strcmp(way, "between-kinds"))
        return odd ? MPI_Barrier(between()) : MPI_Allreduce(ints, more, 1, MPI_INT, MPI_SUM, between());
    if (!strcmp(way, "neighbor-alltoallv"))
        return MPI_Neighbor_alltoallv(ints, ones, places, sent[0], more, ones, places, MPI_INT, ring());
    if (!strcmp(way, "neighbor-alltoallw"))
        return MPI_Neighbor_alltoallw(ints, ones, far, sent, more, ones, far, wanted, ring());
    if (!strcmp(way, "neighbor-allgather"))
        return MPI_Neighbor_allgather(ints, 1, sent[0], more, 1, MPI_INT, ring());
    return -1;
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
    if (!strcmp(way, "much-longer"))
        return bcast(rank == 0 ? 10000 : 6, MPI_INT, 0);
    if (!strcmp(way, "much-shorter"))
        return bcast(rank == 0 ? 6 : 10000, MPI_INT, 0);
    if (!strcmp(way, "much-longer-vector"))
        return allreduce(rank == 0 ? 6 : 10000, MPI_INT, MPI_SUM);
    if (!strcmp(way, "nonblocking"))
        return finish(rank == 0 ? MPI_Ibcast(ints, 1, MPI_INT, 0, MPI_COMM_WORLD, &request)
                                : MPI_Iallreduce(ints, more, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
    if (!strcmp(way, "persistent"))
        return started(
            MPI_Allreduce_init(ints, more, 1, MPI_INT, odd ? MPI_MAX : MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
    if (!strcmp(way, "scatter-alltoall"))
        return rank == 0 ? MPI_Scatter(ints, 1, MPI_INT, more, 1, MPI_INT, 0, MPI_COMM_WORLD)
                         : MPI_Alltoall(ints, 1, MPI_INT, more, 1, MPI_INT, MPI_COMM_WORLD);
    if (!strcmp(way, "sizes"))
        return allreduce(odd ? 8 : 4, odd ? MPI_FLOAT : MPI_DOUBLE, MPI_SUM);
    if (!strcmp(way, "long-sizes"))
        return allreduce(odd ? MANY : MANY / 2, odd ? MPI_FLOAT : MPI_DOUBLE, MPI_SUM);
    if (!strcmp(way, "reduced-sizes"))
        return MPI_Reduce(ints, more, odd ? 2 : 1, odd ? MPI_INT : MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!strcmp(way, "bcast-sizes"))
        return bcast(odd ? 4 : 2, odd ? MPI_SHORT : MPI_INT, 0);
    blocks(odd ? MPI_FLOAT : MPI_INT, MPI_INT);
    if (!strcmp(way, "alltoallv"))
        return MPI_Alltoallv(ints, ones, places, sent[0], more, ones, places, MPI_INT, MPI_COMM_WORLD);
    if (!strcmp(way, "alltoallw"))
        return alltoallw(MPI_COMM_WORLD);
    if (!strcmp(way, "ialltoallv"))
        return finish(MPI_Ialltoallv(ints, ones, places, sent[0], more, ones, places, MPI_INT, MPI_COMM_WORLD,
                                     &request));
    if (!strcmp(way, "no-elements"))
        return MPI_Reduce(ints, more, rank == 0 ? 0 : 4, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (!strcmp(way, "pair-ops"))
        return allreduce(1, MPI_2INT, odd ? MPI_MAXLOC : MPI_MINLOC);
    if (!strcmp(way, "user-ops")) {
        MPI_Op op;
        MPI_Op_create(add, !odd, &op);
        return allreduce(1, MPI_INT, op);
    }
    if (!strcmp(way, "dup-split")) {
        MPI_Comm new;
        return rank == 0 ? MPI_Comm_dup(MPI_COMM_WORLD, &new) : MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &new);
    }
    if (!strcmp(way, "grids")) {
        MPI_Comm new;
        int sizes[2] = {odd ? 2 : 1, odd ? 1 : 2}, periods[2] = {0, 0};
        return MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periods, 0, &new);
    }
    if (!strcmp(way, "graphs")) {
        MPI_Comm new;
        int ends[2] = {1, 2}, edges[2] = {odd, 1 - odd};
        return MPI_Graph_create(MPI_COMM_WORLD, 2, ends, edges, 0, &new);
    }
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

/* Counts that divide the same elements otherwise, types of other names with the same elements, each
 * block and each way of an intercommunicator with its own. */
static void fine_sizes(MPI_Datatype four, MPI_Datatype strided) {
    MPI_Aint addresses[8];
    MPI_Comm comm;
    CHECK(MPI_Bcast(ints, rank == 0 ? 2 : 8, rank == 0 ? strided : MPI_INT, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Bcast(ints, rank == 0 ? 2 : 8, rank == 0 ? four : MPI_INTEGER, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Bcast(addresses, 8, rank % 2 ? MPI_AINT : MPI_COUNT, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    /* No program of the standard's, but many do: elements of one size are moved. */
    CHECK(MPI_Bcast(ints, 8, rank % 2 ? MPI_FLOAT : MPI_INT, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Gather(ints, 2, rank % 2 ? MPI_UNSIGNED : MPI_INT, more, 2, MPI_FLOAT, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(ints, more, 2, rank % 2 ? MPI_INT : MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Reduce(ints, more, 0, rank % 2 ? MPI_FLOAT : MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    /* What goes to odd ranks is bytes, and what goes to rank 0 has no elements. */
    blocks(MPI_INT, rank % 2 ? MPI_BYTE : MPI_INTEGER);
    int lengths[64], none[64];
    for (int i = 0; i < size; i++) {
        none[i] = i != 0;
        lengths[i] = rank == 0 ? 0 : rank % 2 ? 4 : 1;
        if (rank == 0)
            wanted[i] = MPI_DOUBLE;
    }
    CHECK(MPI_Alltoallw(ints, none, bytes, sent, more, lengths, bytes, wanted, MPI_COMM_WORLD) == MPI_SUCCESS);
    comm = ring();
    /* Everybody sends what the next one wants. */
    MPI_Datatype own = rank % 2 ? MPI_FLOAT : MPI_INT, before = (rank + size - 1) % size % 2 ? MPI_FLOAT : MPI_INT;
    CHECK(MPI_Neighbor_allgather(ints, 1, own, more, 1, before, comm) == MPI_SUCCESS);
    CHECK(MPI_Neighbor_alltoall(ints, 2, own, more, 2, before, comm) == MPI_SUCCESS);
    MPI_Comm_free(&comm);
    if (size == 1)
        return;
    comm = between();
    MPI_Datatype other = rank % 2 ? MPI_INT : MPI_FLOAT;
    int root = rank == 0 ? MPI_ROOT : rank % 2 ? 0 : MPI_PROC_NULL;
    CHECK(MPI_Allgather(ints, 3, own, more, 3, other, comm) == MPI_SUCCESS);
    CHECK(MPI_Alltoall(ints, 3, own, more, 3, other, comm) == MPI_SUCCESS);
    CHECK(MPI_Bcast(ints, 3, MPI_INT, root, comm) == MPI_SUCCESS);
    CHECK(MPI_Reduce(ints, more, 3, MPI_INT, MPI_SUM, root, comm) == MPI_SUCCESS);
    CHECK(MPI_Gather(ints, 1, rank % 2 ? MPI_INT : MPI_DOUBLE, more, 1, MPI_INT, root, comm) == MPI_SUCCESS);
    CHECK(MPI_Scatter(ints, 1, MPI_INT, more, 1, rank % 2 ? MPI_INT : MPI_DOUBLE, root, comm) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(ints, more, 3, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    MPI_Comm_free(&comm);
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
    fine_sizes(four, strided);
    /* Each group gets the other's result, so each may reduce in its own way. */
    if (size > 1) {
        MPI_Comm groups = between();
        CHECK(MPI_Allreduce(ints, got, 2, MPI_INT, rank % 2 ? MPI_SUM : MPI_MAX, groups) == MPI_SUCCESS);
        MPI_Comm_free(&groups);
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
    else if (wrong_elsewhere(way) < 0)
        wrong(way);
    /* Whoever noticed nothing goes on, as programs do. */
    MPI_Finalize();
    if (!strcmp(way, "fine"))
        report("mismatch", rank, size);
    return 0;
}
