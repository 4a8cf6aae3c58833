/* Messages of which it is known which call receives them: `tests/tests/timeline.rs` looks for each
   in the timeline of the job, by its tag. */
#include "check.h"

#define LONG (1 << 20)

static char buffer[LONG], other[LONG];

/* Rank 0 sends while rank 1 waits, or before it asks, as the tag says. */
static void send_all(int peer) {
    MPI_Request requests[3];
    MPI_Send(buffer, 8, MPI_CHAR, peer, 10, MPI_COMM_WORLD);
    MPI_Ssend(buffer, 8, MPI_CHAR, peer, 11, MPI_COMM_WORLD);
    MPI_Send(buffer, LONG, MPI_CHAR, peer, 12, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD); /* the receives of 13 and 14 are posted */
    MPI_Send(buffer, 8, MPI_CHAR, peer, 13, MPI_COMM_WORLD);
    MPI_Send(buffer, LONG, MPI_CHAR, peer, 14, MPI_COMM_WORLD);
    MPI_Send(buffer, 8, MPI_CHAR, peer, 15, MPI_COMM_WORLD);
    MPI_Send(buffer, 8, MPI_CHAR, peer, 16, MPI_COMM_WORLD);
    MPI_Isend(buffer, 8, MPI_CHAR, peer, 17, MPI_COMM_WORLD, &requests[0]);
    MPI_Issend(buffer, 8, MPI_CHAR, peer, 18, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(buffer, LONG, MPI_CHAR, peer, 19, MPI_COMM_WORLD, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    MPI_Sendrecv(buffer, 8, MPI_CHAR, peer, 20, other, 8, MPI_CHAR, peer, 21, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void receive_all(int peer) {
    MPI_Request requests[2], more[3];
    MPI_Message message;
    MPI_Status status;
    MPI_Recv(buffer, 8, MPI_CHAR, peer, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(buffer, 8, MPI_CHAR, peer, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(buffer, LONG, MPI_CHAR, peer, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Irecv(buffer, 8, MPI_CHAR, peer, 13, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(other, LONG, MPI_CHAR, peer, 14, MPI_COMM_WORLD, &requests[1]);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);    /* the later one first */
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); /* the other is null by now */
    /* What was sent after 15 comes while this waits, and is unexpected. */
    MPI_Recv(buffer, 8, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    CHECK(status.MPI_TAG == 15);
    MPI_Mprobe(peer, 16, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(buffer, 8, MPI_CHAR, &message, MPI_STATUS_IGNORE);
    MPI_Irecv(buffer, 8, MPI_CHAR, peer, 17, MPI_COMM_WORLD, &more[0]);
    MPI_Irecv(buffer + 8, 8, MPI_CHAR, peer, 18, MPI_COMM_WORLD, &more[1]);
    MPI_Irecv(other, LONG, MPI_CHAR, peer, 19, MPI_COMM_WORLD, &more[2]);
    MPI_Waitall(3, more, MPI_STATUSES_IGNORE);
    MPI_Sendrecv(buffer, 8, MPI_CHAR, peer, 21, other, 8, MPI_CHAR, peer, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    int rank, size;
    double sum;
    MPI_Comm pairs;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size % 2 == 0);
    if (rank % 2 == 0)
        send_all(rank + 1);
    else
        receive_all(rank - 1);
    MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pairs);
    MPI_Comm_set_name(pairs, "pairs");
    double one = 1;
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, pairs);
    CHECK(sum == 2);
    MPI_Comm_free(&pairs);
    MPI_Finalize();
    return 0;
}
