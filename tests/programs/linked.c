/* A program that knows of lost processes only by a library that it was linked with. Its last rank
   is killed. */
#include "check.h"
#include <signal.h>
#include <unistd.h>

void take_notice(MPI_Comm comm);

int main(int argc, char **argv) {
    int rank, size, got;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1)
        kill(getpid(), SIGKILL);
    CHECK_CLASS(MPI_Recv(&got, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
    take_notice(MPI_COMM_WORLD);
    report("linked", rank, size);
    MPI_Finalize();
    return 0;
}
