/* Rank 0 flushes what rank 1 does not carry out: it has stopped itself before. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

/* Waits until a process is stopped. */
static void wait_for_stop(int process) {
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", process);
    while (state != 'T') {
        FILE *file = fopen(path, "r");
        if (!file || fscanf(file, "%*d %*s %c", &state) != 1)
            MPI_Abort(MPI_COMM_WORLD, 2);
        fclose(file);
        usleep(1000);
    }
}

int main(int argc, char **argv) {
    MPI_Win win;
    int rank, *memory, one = 1, process = getpid();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_set_name(win, "table");
    MPI_Win_lock_all(0, win);
    if (rank == 0)
        MPI_Accumulate(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_flush_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Bcast(&process, 1, MPI_INT, 1, MPI_COMM_WORLD);
    if (rank == 1)
        raise(SIGSTOP);
    wait_for_stop(process);
    MPI_Accumulate(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_flush(1, win);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
