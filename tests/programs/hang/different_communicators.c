/* Two ranks are in barriers of different communicators. */
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
    MPI_Comm first, second;
    MPI_Comm_dup(MPI_COMM_WORLD, &first);
    MPI_Comm_dup(MPI_COMM_WORLD, &second);
    MPI_Comm_set_name(first, "first");
    MPI_Comm_set_name(second, "second");
    MPI_Barrier(rank == 0 ? first : second);
    MPI_Barrier(rank == 0 ? second : first);
    MPI_Finalize();
    return 0;
}
