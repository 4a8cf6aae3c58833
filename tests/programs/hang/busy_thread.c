/* Each rank waits for the other, and a thread beside computes what it will send: slow, no hang. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static int rank;

static void *compute(void *unused)
{
    (void)unused;
    time_t begin = time(NULL);
    while (time(NULL) < begin + 5)
        ;
    MPI_Send(&rank, 1, MPI_INT, 1 - rank, 4, MPI_COMM_WORLD);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, word = -1;
    pthread_t worker;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pthread_create(&worker, NULL, compute, NULL);
    MPI_Recv(&word, 1, MPI_INT, 1 - rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    pthread_join(worker, NULL);
    if (rank == 0 && word == 1)
        puts("busy_thread: done");
    MPI_Finalize();
    return 0;
}
