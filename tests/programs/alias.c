/* One buffer for both directions of a collective is refused, in every form, and the call has not
 * taken part: the next ones fit together. */
#include "check.h"

enum { EACH = 2, RANKS_MAX = 16, ALL = EACH * RANKS_MAX };
static int rank, size, buffer[ALL], other[ALL], counts[RANKS_MAX], places[RANKS_MAX], bytes[RANKS_MAX];
static MPI_Datatype types[RANKS_MAX];
static MPI_Request request;
static MPI_Comm comm;

#define REFUSED(call) CHECK_CLASS(call, MPI_ERR_BUFFER)
#define ALL_FORMS(name, init, ...)                                                                                     \
    do {                                                                                                               \
        REFUSED(MPI_##name(__VA_ARGS__, comm));                                                                        \
        REFUSED(MPI_I##init(__VA_ARGS__, comm, &request));                                                             \
        REFUSED(MPI_##name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, &request));                                        \
    } while (0)

static void everywhere(void) {
    int *own = &buffer[EACH * rank];
    ALL_FORMS(Allreduce, allreduce, buffer, buffer, EACH, MPI_INT, MPI_SUM);
    ALL_FORMS(Scan, scan, buffer, buffer, EACH, MPI_INT, MPI_SUM);
    ALL_FORMS(Exscan, exscan, buffer, buffer, EACH, MPI_INT, MPI_SUM);
    ALL_FORMS(Reduce_scatter, reduce_scatter, buffer, buffer, counts, MPI_INT, MPI_SUM);
    ALL_FORMS(Reduce_scatter_block, reduce_scatter_block, buffer, buffer, EACH, MPI_INT, MPI_SUM);
    ALL_FORMS(Allgather, allgather, own, EACH, MPI_INT, buffer, EACH, MPI_INT);
    ALL_FORMS(Allgatherv, allgatherv, own, EACH, MPI_INT, buffer, counts, places, MPI_INT);
    ALL_FORMS(Alltoall, alltoall, buffer, EACH, MPI_INT, buffer, EACH, MPI_INT);
    ALL_FORMS(Alltoallv, alltoallv, buffer, counts, places, MPI_INT, buffer, counts, places, MPI_INT);
    ALL_FORMS(Alltoallw, alltoallw, buffer, counts, bytes, types, buffer, counts, bytes, types);
}

/* Only the root has both buffers. The others do not call: the root's call did not take part. */
static void at_root(void) {
    int *own = &buffer[EACH * rank];
    ALL_FORMS(Reduce, reduce, buffer, buffer, EACH, MPI_INT, MPI_SUM, rank);
    ALL_FORMS(Gather, gather, own, EACH, MPI_INT, buffer, EACH, MPI_INT, rank);
    ALL_FORMS(Gatherv, gatherv, own, EACH, MPI_INT, buffer, counts, places, MPI_INT, rank);
    ALL_FORMS(Scatter, scatter, buffer, EACH, MPI_INT, own, EACH, MPI_INT, rank);
    ALL_FORMS(Scatterv, scatterv, buffer, counts, places, MPI_INT, own, EACH, MPI_INT, rank);
}

/* Nothing is wrong with these. */
static void allowed(void) {
    MPI_Datatype first, second;
    int value = rank, sum = 0, where[] = {0}, behind[] = {1};
    CHECK(MPI_Allreduce(buffer, buffer, 0, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    CHECK(MPI_Reduce(rank == 0 ? MPI_IN_PLACE : buffer, buffer, 1, MPI_INT, MPI_SUM, 0, comm) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    CHECK(sum == size * (size - 1) / 2);
    /* The same address, but other bytes. */
    MPI_Type_create_indexed_block(1, 1, where, MPI_INT, &first);
    MPI_Type_create_indexed_block(1, 1, behind, MPI_INT, &second);
    MPI_Type_commit(&first);
    MPI_Type_commit(&second);
    if (size == 1)
        CHECK(MPI_Alltoall(buffer, 1, first, buffer, 1, second, comm) == MPI_SUCCESS);
    MPI_Type_free(&first);
    MPI_Type_free(&second);
}

static void local(void) {
    REFUSED(MPI_Reduce_local(MPI_IN_PLACE, other, EACH, MPI_INT, MPI_SUM));
    REFUSED(MPI_Reduce_local(other, MPI_IN_PLACE, EACH, MPI_INT, MPI_SUM));
    REFUSED(MPI_Reduce_local(other, other, EACH, MPI_INT, MPI_SUM));
    CHECK(MPI_Reduce_local(buffer, other, EACH, MPI_INT, MPI_SUM) == MPI_SUCCESS);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < size; i++) {
        counts[i] = EACH, places[i] = EACH * i, bytes[i] = EACH * i * (int)sizeof(int), types[i] = MPI_INT;
    }
    for (int round = 0; round < 6; round++) {
        everywhere();
        if (rank == round % size)
            at_root();
        allowed();
    }
    local();
    MPI_Comm_free(&comm);
    MPI_Finalize();
    report("alias", rank, size);
    return 0;
}
