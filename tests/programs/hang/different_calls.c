/* One rank reduces over one communicator, the other broadcasts over another. */
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
    int word = rank, sum = 0;
    MPI_Comm mine;
    MPI_Comm_dup(MPI_COMM_WORLD, &mine);
    MPI_Comm_set_name(mine, "mine");
    if (rank == 0)
        MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(&word, 1, MPI_INT, 0, mine);
    if (rank != 0)
        MPI_Allreduce(&word, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
