/* threads_without_permission: two threads call MPI at once though MPI_THREAD_SINGLE is all
 * that was asked for. Only a library that does not notice lets it end well. */
#include "check.h"
#include <pthread.h>
#include <time.h>

static time_t end;

static void *look(void *unused) {
    int flag;
    while (time(NULL) < end)
        for (int i = 0; i < 10000; i++)
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    return unused;
}

int main(int argc, char **argv) {
    pthread_t thread;
    MPI_Init(&argc, &argv);
    end = time(NULL) + 60;
    CHECK(pthread_create(&thread, NULL, look, NULL) == 0);
    look(NULL);
    pthread_join(thread, NULL);
    MPI_Finalize();
    return 0;
}
