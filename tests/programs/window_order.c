/* Accumulates of one origin keep their order (MPI-5.0, 12.7.2), though the first went by a message
   and the target's table of attached memory, once it has room again, lets the second go directly. */
#include "check.h"

#define PIECES 65

static int memory[32 * PIECES];

static void spin(double seconds) {
    double start = MPI_Wtime();
    while (MPI_Wtime() < start + seconds)
        continue;
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Win win;
    MPI_Aint address;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    if (rank == 0)
        for (int i = 0; i < PIECES; i++)
            MPI_Win_attach(win, memory + 32 * i, 4);
    MPI_Get_address(memory, &address);
    MPI_Bcast(&address, 1, MPI_AINT, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        spin(0.3);
        MPI_Win_detach(win, memory + 32 * (PIECES - 1));
        spin(0.5);
    }
    if (rank == 1) {
        int first = 1, second = 2;
        spin(0.1);
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Accumulate(&first, 1, MPI_INT, 0, address, 1, MPI_INT, MPI_REPLACE, win);
        spin(0.4);
        MPI_Accumulate(&second, 1, MPI_INT, 0, address, 1, MPI_INT, MPI_REPLACE, win);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(rank != 0 || memory[0] == 2);
    MPI_Win_free(&win);
    MPI_Finalize();
    report("window_order", rank, size);
    return 0;
}
