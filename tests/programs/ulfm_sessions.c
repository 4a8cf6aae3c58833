/* A program with a session alone, whose last rank dies; the others go on. */
#include "check.h"
#include <signal.h>
#include <unistd.h>

static int is(int code, int class) {
    return class_of(code) == class;
}

int main(void) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm, shrunk;
    MPI_Request request;
    int rank, size, got, count = 0, sum, ones = 1, code;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "survivors", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, comm, &request);
    MPI_Barrier(comm);
    if (rank == size - 1)
        kill(getpid(), SIGKILL);
    CHECK(is(MPI_Wait(&request, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED_PENDING));
    CHECK(is(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 2, comm, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED));
    /* None revokes it before all are here. */
    CHECK(is(MPIX_Comm_agree(comm, &count), MPIX_ERR_PROC_FAILED));
    /* Some may leave it early, and the others hear of the revocation. */
    do {
        code = MPI_Allreduce(&ones, &sum, 1, MPI_INT, MPI_SUM, comm);
        CHECK(is(code, MPIX_ERR_PROC_FAILED) || is(code, MPIX_ERR_REVOKED));
        if (rank == 0)
            CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
    } while (!is(code, MPIX_ERR_REVOKED));
    CHECK(is(MPI_Wait(&request, MPI_STATUS_IGNORE), MPIX_ERR_REVOKED));
    CHECK(MPIX_Comm_ack_failed(comm, size, &count) == MPI_SUCCESS && count == 1);
    CHECK(MPIX_Comm_shrink(comm, &shrunk) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(&ones, &sum, 1, MPI_INT, MPI_SUM, shrunk) == MPI_SUCCESS && sum == size - 1);
    report("ulfm_sessions", rank, size);
    MPI_Comm_free(&shrunk);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
    return 0;
}
