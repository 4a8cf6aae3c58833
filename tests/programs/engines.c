/* MPI_THREAD_MULTIPLE: threads that each have a communicator of their own, whose messages go by an
 * engine of its own. First every kind of point-to-point call on each communicator, and calls that
 * wait for requests of several; then all threads at once. */
#include "check.h"
#include "tool.h"
#include <pthread.h>

enum { COMMS = 6, THREADS = 4, ROUNDS = 200, LONG = 300000, PENDING = 263000 };
static int rank, size;
static MPI_Comm comms[COMMS];

static int expected(int from, int comm, int round, int at) {
    return from * 10000019 + comm * 100003 + round * 101 + at;
}

static void fill(int *out, int length, int comm, int round) {
    for (int i = 0; i < length; i++)
        out[i] = expected(rank, comm, round, i);
}

static void check(const int *in, int length, int from, int comm, int round) {
    for (int i = 0; i < length; i++)
        CHECK(in[i] == expected(from, comm, round, i));
}

/* Every kind of send and receive, round a ring. */
static void every_call(int which) {
    MPI_Comm comm = comms[which];
    int right = (rank + 1) % size, left = (rank + size - 1) % size, flag, bytes, count;
    static const int lengths[] = {0, 1, 7, 500, 6000, 60000, LONG};
    for (int l = 0; l < (int)(sizeof lengths / sizeof *lengths); l++) {
        int length = lengths[l];
        int *out = malloc((length + 1) * sizeof *out), *in = calloc(length + 1, sizeof *in);
        MPI_Request requests[2];
        MPI_Status status;
        MPI_Message message;
        void *attached;
        fill(out, length, which, l);
        /* Blocking, any source and tag. */
        MPI_Isend(out, length, MPI_INT, right, l, comm, &requests[0]);
        MPI_Recv(in, length, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
        CHECK(status.MPI_SOURCE == left && status.MPI_TAG == l);
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK(count == length);
        check(in, length, left, which, l);
        MPI_Wait(&requests[0], &status);
        /* Both at once. */
        MPI_Sendrecv(out, length, MPI_INT, right, 5, in, length, MPI_INT, left, 5, comm, &status);
        check(in, length, left, which, l);
        memcpy(in, out, length * sizeof *in);
        MPI_Sendrecv_replace(in, length, MPI_INT, right, 6, left, 6, comm, &status);
        check(in, length, left, which, l);
        /* Synchronous, found by a probe. */
        MPI_Issend(out, length, MPI_INT, right, 7, comm, &requests[0]);
        MPI_Probe(MPI_ANY_SOURCE, 7, comm, &status);
        CHECK(status.MPI_SOURCE == left);
        MPI_Recv(in, length, MPI_INT, left, 7, comm, &status);
        check(in, length, left, which, l);
        do
            MPI_Request_get_status(requests[0], &flag, &status);
        while (!flag);
        MPI_Wait(&requests[0], &status);
        /* A matched probe, and both ways to receive what it found. */
        MPI_Isend(out, length, MPI_INT, right, 8, comm, &requests[0]);
        MPI_Isend(out, length, MPI_INT, right, 8, comm, &requests[1]);
        MPI_Mprobe(left, 8, comm, &message, &status);
        MPI_Mrecv(in, length, MPI_INT, &message, &status);
        check(in, length, left, which, l);
        do
            MPI_Improbe(left, 8, comm, &flag, &message, &status);
        while (!flag);
        MPI_Request received;
        MPI_Imrecv(in, length, MPI_INT, &message, &received);
        MPI_Wait(&received, &status);
        check(in, length, left, which, l);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        /* Buffered. */
        bytes = length * (int)sizeof(int) + MPI_BSEND_OVERHEAD;
        MPI_Buffer_attach(malloc(bytes), bytes);
        MPI_Bsend(out, length, MPI_INT, right, 9, comm);
        do
            MPI_Iprobe(left, 9, comm, &flag, &status);
        while (!flag);
        MPI_Recv(in, length, MPI_INT, left, 9, comm, &status);
        check(in, length, left, which, l);
        MPI_Buffer_detach(&attached, &bytes);
        free(attached);
        /* Persistent, twice. */
        MPI_Send_init(out, length, MPI_INT, right, 10, comm, &requests[0]);
        MPI_Recv_init(in, length, MPI_INT, left, 10, comm, &requests[1]);
        for (int i = 0; i < 2; i++) {
            MPI_Startall(2, requests);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            check(in, length, left, which, l);
        }
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
        /* A receive that is cancelled, and one that is freed. */
        MPI_Irecv(in, length, MPI_INT, left, 11, comm, &requests[0]);
        MPI_Cancel(&requests[0]);
        MPI_Wait(&requests[0], &status);
        MPI_Test_cancelled(&status, &flag);
        CHECK(flag);
        MPI_Isend(out, length, MPI_INT, right, 12, comm, &requests[0]);
        MPI_Request_free(&requests[0]);
        MPI_Recv(in, length, MPI_INT, left, 12, comm, &status);
        check(in, length, left, which, l);
        /* To oneself. */
        MPI_Irecv(in, length, MPI_INT, rank, 13, comm, &requests[0]);
        MPI_Send(out, length, MPI_INT, rank, 13, comm);
        MPI_Wait(&requests[0], &status);
        check(in, length, rank, which, l);
        MPI_Barrier(comm);
        free(in);
        free(out);
    }
}

/* Calls that complete requests of all communicators. */
static void several_at_once(void) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size, out[COMMS], in[COMMS], done, index;
    MPI_Request requests[2 * COMMS];
    MPI_Status statuses[2 * COMMS];
    int indices[2 * COMMS];
    for (int way = 0; way < 5; way++) {
        for (int i = 0; i < COMMS; i++) {
            out[i] = expected(rank, i, way, 0);
            in[i] = -1;
            MPI_Irecv(&in[i], 1, MPI_INT, left, way, comms[i], &requests[i]);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < COMMS; i++)
            MPI_Isend(&out[i], 1, MPI_INT, right, way, comms[i], &requests[COMMS + i]);
        switch (way) {
        case 0:
            MPI_Waitall(2 * COMMS, requests, statuses);
            break;
        case 1:
            for (int i = 0; i < 2 * COMMS; i++) {
                MPI_Waitany(2 * COMMS, requests, &index, statuses);
                CHECK(index != MPI_UNDEFINED);
            }
            break;
        case 2:
            for (int left_over = 2 * COMMS; left_over > 0; left_over -= done) {
                MPI_Waitsome(2 * COMMS, requests, &done, indices, statuses);
                CHECK(done != MPI_UNDEFINED);
            }
            break;
        case 3:
            do
                MPI_Testall(2 * COMMS, requests, &done, statuses);
            while (!done);
            break;
        case 4:
            for (int left_over = 2 * COMMS; left_over > 0;) {
                MPI_Testany(2 * COMMS, requests, &index, &done, statuses);
                left_over -= done && index != MPI_UNDEFINED;
            }
            break;
        }
        for (int i = 0; i < COMMS; i++)
            CHECK(in[i] == expected(left, i, way, 0));
    }
}

/* More receives at once than a handle of MPICH's ABI has room for beside the engine's number. */
static void many_pending(void) {
    MPI_Request *requests = malloc(PENDING * sizeof *requests);
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int i = 0; i < PENDING; i++)
        MPI_Irecv(NULL, 0, MPI_INT, left, 20, comms[0], &requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < PENDING; i++)
        MPI_Send(NULL, 0, MPI_INT, right, 20, comms[0]);
    MPI_Waitall(PENDING, requests, MPI_STATUSES_IGNORE);
    free(requests);
}

/* Messages in both directions by one thread on its own communicator. */
static void *talk(void *argument) {
    int me = (int)(long)argument, right = (rank + 1) % size, left = (rank + size - 1) % size;
    static const int lengths[] = {1, 100, 3000, 40000, LONG};
    MPI_Comm comm = comms[me];
    for (int round = 0; round < ROUNDS; round++) {
        int length = lengths[round % 5], flag = 0, sum = 0;
        int *out = malloc(length * sizeof *out), *in = calloc(length, sizeof *in);
        MPI_Request requests[2];
        fill(out, length, me, round);
        MPI_Irecv(in, length, MPI_INT, round % 2 ? left : MPI_ANY_SOURCE, 3, comm, &requests[0]);
        MPI_Isend(out, length, MPI_INT, right, 3, comm, &requests[1]);
        if (round % 3 == 0)
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        else if (round % 3 == 1) {
            MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        } else
            while (!flag)
                MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
        check(in, length, left, me, round);
        if (round % 20 == 0) {
            MPI_Comm dup;
            MPI_Comm_dup(comm, &dup);
            MPI_Sendrecv(out, 1, MPI_INT, right, 1, in, 1, MPI_INT, left, 1, dup, MPI_STATUS_IGNORE);
            CHECK(in[0] == expected(left, me, round, 0));
            MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, dup);
            CHECK(sum == size * (size - 1) / 2);
            if (round % 40 == 0)
                MPI_Comm_free(&dup);
            else
                MPI_Comm_disconnect(&dup);
        }
        free(in);
        free(out);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    pthread_t threads[THREADS];
    MPI_Request made;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < COMMS - 2; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comms[COMMS - 2]);
    MPI_Comm_idup(MPI_COMM_WORLD, &comms[COMMS - 1], &made);
    MPI_Wait(&made, MPI_STATUS_IGNORE);
    for (int i = 0; i < COMMS; i++)
        every_call(i);
    several_at_once();
    if (size == 2)
        many_pending();
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, talk, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    MPI_T_pvar_handle engines = pvar_handle("thread_engines", MPI_T_PVAR_CLASS_LEVEL);
    if (rank == 0)
        printf("further engines: %llu\n", read_pvar(engines));
    OK(MPI_T_finalize());
    for (int i = 0; i < COMMS; i++)
        MPI_Comm_free(&comms[i]);
    MPI_Finalize();
    report("engines", rank, size);
    return 0;
}
