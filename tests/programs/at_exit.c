/* MPI_Finalize as a function that runs at the program's exit: when C++ destroys its static objects,
   say, and the thread's own storage is gone already. With the argument `thread`, a second thread
   calls MPI while its own storage is destroyed. */
#include "check.h"
#include <pthread.h>

static void finalize(void) {
    int rank, size, sum = 0, one = 1;
    MPI_Comm again;
    MPI_Request request;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &again);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, again, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(sum == size);
    MPI_Barrier(again);
    MPI_Comm_free(&again);
    report("at_exit", rank, size);
    MPI_Finalize();
}

static void ended(void *unused) {
    (void)unused;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void *thread(void *key) {
    MPI_Barrier(MPI_COMM_WORLD);
    pthread_setspecific(*(pthread_key_t *)key, key);
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (argc > 1 && !strcmp(argv[1], "thread")) {
        static pthread_key_t key;
        pthread_t other;
        pthread_key_create(&key, ended);
        pthread_create(&other, NULL, thread, &key);
        pthread_join(other, NULL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    atexit(finalize);
    return 0;
}
