/* MPI_THREAD_MULTIPLE: threads that do different things at once, each on a communicator of its
 * own: collectives and their nonblocking forms, windows of messages taken in any order,
 * cancelled and freed requests, probes, persistent requests. */
#include "check.h"
#include <pthread.h>

enum { ROLES = 5, ROUNDS = 150, WINDOW = 8 };
static int rank, size;
static MPI_Comm comms[ROLES];

static void collectives(MPI_Comm comm, int round) {
    int value = rank == round % size ? round : -1, sum = 0, done = 0, index;
    int each[64], all = 0;
    MPI_Request requests[2];
    MPI_Bcast(&value, 1, MPI_INT, round % size, comm);
    CHECK(value == round);
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[0]);
    MPI_Iallgather(&round, 1, MPI_INT, each, 1, MPI_INT, comm, &requests[1]);
    while (done < 2) {
        int flag = 0;
        MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE);
        done += flag && index != MPI_UNDEFINED;
    }
    for (int i = 0; i < size; i++)
        all += each[i];
    CHECK(sum == size * (size - 1) / 2 && all == size * round);
    MPI_Ibarrier(comm, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
}

/* Every message of the window is told apart by its tag; which completes first is nobody's
   business. */
static void windows(MPI_Comm comm, int round) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    int out[WINDOW], in[WINDOW], indices[2 * WINDOW], done = 0;
    MPI_Request requests[2 * WINDOW];
    for (int i = 0; i < WINDOW; i++) {
        out[i] = rank * 100000 + round * 100 + i;
        MPI_Irecv(&in[i], 1, MPI_INT, left, i, comm, &requests[i]);
    }
    for (int i = WINDOW - 1; i >= 0; i--)
        (i % 2 ? MPI_Isend : MPI_Issend)(&out[i], 1, MPI_INT, right, i, comm, &requests[WINDOW + i]);
    while (done < 2 * WINDOW) {
        int some = 0;
        (round % 2 ? MPI_Testsome : MPI_Waitsome)(2 * WINDOW, requests, &some, indices, MPI_STATUSES_IGNORE);
        done += some;
    }
    for (int i = 0; i < WINDOW; i++)
        CHECK(in[i] == left * 100000 + round * 100 + i);
}

static void cancelled(MPI_Comm comm, int round) {
    /* What is sent must last: the request is freed, so nobody learns here when the buffer may
       go. */
    static int kept[ROUNDS];
    int right = (rank + 1) % size, left = (rank + size - 1) % size, never, was, in = -1;
    MPI_Request request, freed;
    MPI_Status status;
    MPI_Irecv(&never, 1, MPI_INT, left, 1000, comm, &request);
    kept[round] = round;
    MPI_Isend(&kept[round], 1, MPI_INT, right, 7, comm, &freed);
    MPI_Request_free(&freed);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &was);
    CHECK(was);
    MPI_Recv(&in, 1, MPI_INT, left, 7, comm, &status);
    CHECK(in == round && status.MPI_SOURCE == left);
}

static void probed(MPI_Comm comm, int round) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size, flag = 0, count;
    int length = 1 + round * 37 % 9000, *out = malloc(length * sizeof *out), *in = malloc(length * sizeof *in);
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    for (int i = 0; i < length; i++)
        out[i] = rank + i + round;
    MPI_Isend(out, length, MPI_INT, right, round % 5, comm, &request);
    if (round % 2)
        MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &message, &status);
    else
        while (!flag)
            MPI_Improbe(left, MPI_ANY_TAG, comm, &flag, &message, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(count == length && status.MPI_TAG == round % 5);
    MPI_Mrecv(in, count, MPI_INT, &message, MPI_STATUS_IGNORE);
    for (int i = 0; i < length; i++)
        CHECK(in[i] == left + i + round);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    free(in);
    free(out);
}

static void persistent(MPI_Comm comm, int round) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size, out = rank + round, in = -1, flag = 0;
    MPI_Request requests[2];
    MPI_Comm twin;
    MPI_Recv_init(&in, 1, MPI_INT, left, 3, comm, &requests[0]);
    MPI_Send_init(&out, 1, MPI_INT, right, 3, comm, &requests[1]);
    for (int i = 0; i < 3; i++, flag = 0, out++) {
        MPI_Startall(2, requests);
        while (!flag)
            MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
        CHECK(in == left + round + i);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    if (round % 30 == 0) {
        MPI_Comm_dup(comm, &twin);
        MPI_Comm_free(&twin);
    }
}

static void (*const roles[ROLES])(MPI_Comm, int) = {collectives, windows, cancelled, probed, persistent};

static void *play(void *argument) {
    long role = (long)argument;
    for (int round = 0; round < ROUNDS; round++)
        roles[role](comms[role], round);
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    pthread_t threads[ROLES];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size <= 64);
    for (int i = 0; i < ROLES; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (long i = 0; i < ROLES; i++)
        pthread_create(&threads[i], NULL, play, (void *)i);
    for (int i = 0; i < ROLES; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < ROLES; i++)
        MPI_Comm_free(&comms[i]);
    MPI_Finalize();
    report("stress", rank, size);
    return 0;
}
