/* MPI_THREAD_MULTIPLE: threads of each rank talk to their partners at once, by every way of
 * waiting, while one thread makes and frees communicators. */
#include "check.h"
#include <pthread.h>
#include <time.h>

enum { THREADS = 4, ROUNDS = 300 };
static int rank, size;
static MPI_Comm comms[THREADS];

static void *talk(void *argument) {
    long me = (long)argument;
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    static const int lengths[] = {1, 100, 3000, 40000};
    for (int round = 0; round < ROUNDS; round++) {
        int length = lengths[round % 4], sum = 0, flag = 0;
        int *out = malloc(length * sizeof *out), *in = calloc(length, sizeof *in);
        MPI_Request requests[2];
        for (int i = 0; i < length; i++)
            out[i] = rank * 1000000 + (int)me * 10000 + round + i;
        MPI_Irecv(in, length, MPI_INT, left, (int)me, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(out, length, MPI_INT, right, (int)me, MPI_COMM_WORLD, &requests[1]);
        if (round % 3 == 0)
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        else if (round % 3 == 1)
            for (int left_over = 2; left_over > 0;) {
                int index;
                MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE);
                left_over -= index != MPI_UNDEFINED;
            }
        else
            while (!flag)
                MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
        for (int i = 0; i < length; i++)
            CHECK(in[i] == left * 1000000 + (int)me * 10000 + round + i);
        free(in);
        free(out);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comms[me]);
        CHECK(sum == size * (size - 1) / 2);
        if (me == 0 && round % 50 == 0) {
            MPI_Comm dup;
            MPI_Comm_dup(comms[me], &dup);
            MPI_Barrier(dup);
            MPI_Comm_free(&dup);
        }
    }
    return NULL;
}

/* One thread sends to another of the same rank, which sleeps until then. */
static void *receive_from_self(void *argument) {
    int value = 0;
    (void)argument;
    MPI_Recv(&value, 1, MPI_INT, 0, 77, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    CHECK(value == 4711);
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    pthread_t threads[THREADS], other;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, talk, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_create(&other, NULL, receive_from_self, NULL);
    struct timespec pause = {0, 300000000};
    nanosleep(&pause, NULL);
    MPI_Send(&(int){4711}, 1, MPI_INT, 0, 77, MPI_COMM_SELF);
    pthread_join(other, NULL);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&comms[i]);
    MPI_Finalize();
    report("threads", rank, size);
    return 0;
}
