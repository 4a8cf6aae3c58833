/* Rank 1 waits for a message instead of coming to the fence of the window. */
#include <mpi.h>

int main(int argc, char **argv) {
    int rank, got, memory[10];
    MPI_Win window;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_set_name(window, "halo");
    if (rank == 0) MPI_Win_fence(0, window);
    if (rank == 1) MPI_Recv(&got, 1, MPI_INT, 0, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
