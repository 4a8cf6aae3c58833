/* One wait with two silences, and bytes that come between them: rank 1 comes to the collective
 * late, and rank 2 later. */
#include <mpi.h>
#include <unistd.h>

static char own[1 << 20], all[3 << 20];

int main(int argc, char **argv)
{
    int rank, counts[3] = {1 << 20, 1 << 20, 1 << 20}, places[3] = {0, 1 << 20, 2 << 20};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    sleep(3 * rank);
    MPI_Gatherv(own, sizeof own, MPI_CHAR, all, counts, places, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
