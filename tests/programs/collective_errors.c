/* A rank that makes a mistake in a collective, in pairs: its partner, which does not depend on
 * it, goes on, and the next collectives of both fit together again. */
#include "check.h"

/* The next collectives: each gives what it should, so nothing of an earlier one was taken for
   it. */
static void in_step(MPI_Comm pair, int rank, int round) {
    int value = rank ? -1 : round, sum = -1, mine = rank + round;
    MPI_Request request;
    CHECK(MPI_Bcast(&value, 1, MPI_INT, 0, pair) == MPI_SUCCESS);
    CHECK(value == round);
    CHECK(MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, pair, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(sum == 2 * round + 1);
    CHECK(MPI_Barrier(pair) == MPI_SUCCESS);
}

/* Rank 0 sends what rank 1 asks for wrongly. */
static void wrong_receivers(MPI_Comm pair, int rank) {
    int value = 77, round = 0;
    MPI_Request request;
    if (rank == 0)
        CHECK(MPI_Bcast(&value, 1, MPI_INT, 0, pair) == MPI_SUCCESS);
    else
        CHECK_CLASS(MPI_Bcast(&value, -1, MPI_INT, 0, pair), MPI_ERR_COUNT);
    in_step(pair, rank, ++round);
    if (rank == 0)
        CHECK(MPI_Scatter(&round, 0, MPI_INT, MPI_IN_PLACE, 0, MPI_INT, 0, pair) == MPI_SUCCESS);
    else
        CHECK_CLASS(MPI_Scatter(NULL, 0, MPI_INT, NULL, 1, MPI_DATATYPE_NULL, 0, pair), MPI_ERR_TYPE);
    in_step(pair, rank, ++round);
    if (rank == 0) {
        CHECK(MPI_Ibcast(&value, 1, MPI_INT, 0, pair, &request) == MPI_SUCCESS);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    } else {
        CHECK_CLASS(MPI_Ibcast(&value, 1, MPI_INT, 2, pair, &request), MPI_ERR_ROOT);
    }
    in_step(pair, rank, ++round);
}

/* Rank 1 gives what rank 0 takes wrongly. */
static void wrong_roots(MPI_Comm pair, int rank) {
    int value = 78, got[2], round = 10;
    MPI_Request request;
    if (rank == 1)
        CHECK(MPI_Gather(&value, 1, MPI_INT, NULL, 0, MPI_INT, 0, pair) == MPI_SUCCESS);
    else
        CHECK_CLASS(MPI_Gather(&value, 1, MPI_INT, NULL, 1, MPI_INT, 0, pair), MPI_ERR_BUFFER);
    in_step(pair, rank, ++round);
    if (rank == 1)
        CHECK(MPI_Reduce(&value, NULL, 1, MPI_INT, MPI_SUM, 0, pair) == MPI_SUCCESS);
    else
        CHECK_CLASS(MPI_Reduce(&value, got, 1, MPI_INT, MPI_OP_NULL, 0, pair), MPI_ERR_OP);
    in_step(pair, rank, ++round);
    if (rank == 1) {
        CHECK(MPI_Gather_init(&value, 1, MPI_INT, NULL, 0, MPI_INT, 0, pair, MPI_INFO_NULL, &request) == MPI_SUCCESS);
        CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
    } else {
        CHECK_CLASS(MPI_Gather_init(&value, 1, MPI_INT, got, 1, MPI_INT, 0, pair, (MPI_Info)0x7777, &request),
                    MPI_ERR_INFO);
    }
    in_step(pair, rank, ++round);
}

int main(int argc, char **argv) {
    int rank, size, in_pair;
    MPI_Comm pair;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size % 2 == 0);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pair);
    MPI_Comm_set_errhandler(pair, MPI_ERRORS_RETURN);
    MPI_Comm_rank(pair, &in_pair);
    wrong_receivers(pair, in_pair);
    wrong_roots(pair, in_pair);
    MPI_Comm_free(&pair);
    MPI_Finalize();
    report("collective_errors", rank, size);
    return 0;
}
