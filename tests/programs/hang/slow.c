/* Ranks compute in turns while the others wait: slow, but no hang. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int turn = 0; turn < 2 * size; turn++) {
        if (turn % size == rank) {
            double begin = MPI_Wtime();
            while (MPI_Wtime() < begin + 1.5)
                ;
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0)
        puts("slow: done");
    MPI_Finalize();
    return 0;
}
