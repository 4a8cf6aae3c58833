/* A number goes round all ranks, and each adds one. Rank 0 says what came back. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int rank, ranks, number = 0, last = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;
    if (rank > 0) {
        MPI_Recv(&number, 1, MPI_INT, previous, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        number++;
    }
    MPI_Sendrecv(&number, 1, MPI_INT, next, 7, &last, 1, MPI_INT, rank == 0 ? previous : MPI_PROC_NULL, 7,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0) {
        printf("ring: %d ranks, %d came back\n", ranks, last);
    }
    MPI_Finalize();
    return rank == 0 && last != ranks - 1;
}
