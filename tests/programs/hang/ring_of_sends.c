/* Each rank sends to the next one first. */
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
    char *out = calloc(1 << 20, 1), *in = calloc(1 << 20, 1);
    MPI_Ssend(out, 1 << 20, MPI_CHAR, (rank + 1) % size, 5, MPI_COMM_WORLD);
    MPI_Recv(in, 1 << 20, MPI_CHAR, (rank + size - 1) % size, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
