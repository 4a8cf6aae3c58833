/* Sends that nobody has received when all ranks are in MPI_Finalize, which ends all the same; a
   message that a receive has matched still arrives. The argument says which. */
#include "check.h"
#include <unistd.h>

enum { SHORT = 8, MIDDLE = 20000, LONG = 4000000, TAG = 3 };

static int rank, size;
static char data[LONG];

static void start(int bytes, int to, MPI_Comm comm, int synchronous) {
    MPI_Request request;
    if (synchronous)
        CHECK(MPI_Issend(data, bytes, MPI_CHAR, to, TAG, comm, &request) == MPI_SUCCESS);
    else
        CHECK(MPI_Isend(data, bytes, MPI_CHAR, to, TAG, comm, &request) == MPI_SUCCESS);
    if (bytes != MIDDLE) /* with and without a request that somebody could ask for */
        MPI_Request_free(&request);
}

/* All sorts: to another rank and to oneself, by all protocols. */
static void unreceived(MPI_Comm comm) {
    if (rank != 0)
        return;
    start(MIDDLE, size - 1, comm, 0);
    start(LONG, size - 1, comm, 0);
    start(SHORT, size - 1, comm, 1);
    start(LONG, 0, comm, 0);
}

/* Its receive is posted, but comes late, or nobody waits for it. */
static void matched(int late) {
    MPI_Request request;
    if (rank == 0) {
        memset(data, 'x', LONG);
        start(LONG, 1, MPI_COMM_WORLD, 1);
        return;
    }
    if (rank != 1)
        return;
    if (late)
        usleep(300000);
    CHECK(MPI_Irecv(data, LONG, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    if (late)
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    else
        CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    int is_late = strcmp(what, "late") == 0, is_received = is_late || strcmp(what, "matched") == 0;
    MPI_Comm comm;
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(what, "unreceived") == 0) {
        unreceived(MPI_COMM_WORLD);
    } else if (strcmp(what, "named") == 0) {
        MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
        MPI_Comm_set_name(comm, "mine");
        if (rank == 0)
            start(LONG, 0, comm, 0); /* this rank is the last one there */
    } else if (strcmp(what, "freed") == 0) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (rank == 0)
            start(LONG, 1, comm, 0);
        MPI_Comm_free(&comm);
    } else if (is_received) {
        matched(is_late);
    } else {
        return 2;
    }
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    for (int i = 0; rank == 1 && is_received && i < LONG; i++)
        if (data[i] != 'x')
            return 3;
    if (rank == 0)
        printf("left_sends: ok with %d ranks\n", size);
    return 0;
}
