/* Short messages fill the room of their receiver, which waits for the one behind them. */
#include <mpi.h>

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    static int words[1000];
    int word = 0;
    if (rank == 0) {
        for (int i = 0; i < 3000; i++)
            MPI_Send(words, 1000, MPI_INT, 1, 4, MPI_COMM_WORLD);
        MPI_Send(&word, 1, MPI_INT, 1, 99, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&word, 1, MPI_INT, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < 3000; i++)
            MPI_Recv(words, 1000, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
