/* Rank 1 comes to MPI_Finalize a second late. */
#include "check.h"
#include <unistd.h>

int main(int argc, char **argv) {
    int provided, rank;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1) sleep(1);
    MPI_Finalize();
    return 0;
}
