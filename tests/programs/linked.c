/* A program that knows of lost processes only by a library that it was linked with. Its last rank
   is killed. */
#include "deaths.h"

void take_notice(MPI_Comm comm);

int main(int argc, char **argv) {
    int got;
    begin(&argc, &argv);
    let_die();
    CHECK_CLASS(MPI_Recv(&got, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED);
    take_notice(MPI_COMM_WORLD);
    report("linked", rank, size);
    MPI_Finalize();
    return 0;
}
