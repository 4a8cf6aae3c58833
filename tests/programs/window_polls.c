/* A process that polls its own window by calls of MPI makes progress with all else, too. WAY: lock,
   flush, local, request. */
#include "check.h"

#define LEN (4 << 20)

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "flush";
    int locks = strcmp(way, "lock") == 0, local = strcmp(way, "local") == 0;
    int requests = strcmp(way, "request") == 0;
    int rank, size, flag = 0, one = 1, *memory, *data = calloc(LEN, sizeof(int));
    MPI_Win win;
    MPI_Request send, get;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memory[0] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        double start = MPI_Wtime();
        MPI_Isend(data, LEN, MPI_INT, 1, 0, MPI_COMM_WORLD, &send);
        if (!locks)
            MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        while (!flag) {
            CHECK(MPI_Wtime() < start + 10);
            if (locks)
                MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
            if (requests) {
                MPI_Rget(&flag, 1, MPI_INT, 0, 0, 1, MPI_INT, win, &get);
                MPI_Wait(&get, MPI_STATUS_IGNORE);
                continue;
            }
            MPI_Get(&flag, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
            locks ? MPI_Win_unlock(0, win) : local ? MPI_Win_flush_local(0, win) : MPI_Win_flush(0, win);
        }
        if (!locks)
            MPI_Win_unlock(0, win);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
    }
    if (rank == 1) {
        MPI_Recv(data, LEN, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_REPLACE, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    MPI_Finalize();
    free(data);
    report("window_polls", rank, size);
    return 0;
}
