/* Rank 1 receives less than rank 0 sends, on a communicator with a name; the message must name
   all of it. */
#include "check.h"

int main(int argc, char **argv) {
    int rank, values[100] = {0};
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_name(comm, "a name of its own");
    MPI_Comm_rank(comm, &rank);
    if (rank == 0)
        MPI_Send(values, 100, MPI_INT, 1, 5, comm);
    else
        MPI_Recv(values, 50, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
