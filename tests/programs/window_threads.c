/* Threads that access one target at once: none may come before the lock, or before the post. */
#include "check.h"
#include <pthread.h>
#include <unistd.h>

static int rank, size;
static MPI_Win win;

static void *put(void *argument) {
    long i = (long)argument;
    int seven = 7;
    if (i)
        usleep(50000);
    MPI_Put(&seven, 1, MPI_INT, 0, i, 1, MPI_INT, win);
    return NULL;
}

static void put_by_threads(void) {
    pthread_t threads[2];
    for (long i = 0; i < 2; i++)
        CHECK(pthread_create(&threads[i], NULL, put, (void *)i) == 0);
    for (long i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

/* Nothing is stored into `memory` for some time. */
static void stays(volatile int *memory) {
    double start = MPI_Wtime();
    while (MPI_Wtime() < start + 0.3)
        CHECK(memory[0] == 0 && memory[1] == 0);
}

static void come_after_the_lock(volatile int *memory) {
    if (rank == 0)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        stays(memory);
        MPI_Win_unlock(0, win);
    }
    if (rank == 1) {
        MPI_Win_lock_all(0, win);
        put_by_threads();
        MPI_Win_unlock_all(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void come_after_the_post(volatile int *memory) {
    MPI_Group all, other;
    int which = !rank;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &which, &other);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        stays(memory);
        MPI_Win_post(other, 0, win);
        MPI_Win_wait(win);
    }
    if (rank == 1) {
        MPI_Win_start(other, 0, win);
        put_by_threads();
        MPI_Win_complete(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Group_free(&all);
    MPI_Group_free(&other);
}

int main(int argc, char **argv) {
    int *memory, given;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
    CHECK(given == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    for (int way = 0; way < 2; way++) {
        memset(memory, 0, 64);
        MPI_Barrier(MPI_COMM_WORLD);
        way == 0 ? come_after_the_lock(memory) : come_after_the_post(memory);
        CHECK(rank != 0 || (memory[0] == 7 && memory[1] == 7));
    }
    MPI_Win_free(&win);
    MPI_Finalize();
    report("window_threads", rank, size);
    return 0;
}
