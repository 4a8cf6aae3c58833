/* A rank sends a long message to itself. */
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
    char *out = calloc(1 << 24, 1);
    MPI_Ssend(out, 1 << 24, MPI_CHAR, rank, 5, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
