/* polls [both | WAY]: rank 0 polls for a message that does not come, and rank 1 waits for it; with
 * "both" both ranks do. WAY is the call by which it polls for tag 7, and rank 1 sends tag 8. */
#include <mpi.h>
#include <string.h>

int main(int argc, char **argv) {
    int rank, flag = 0, value = 0;
    const char *way = argc > 1 ? argv[1] : "MPI_Iprobe";
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1 && rank == 1 && strcmp(way, "both"))
        MPI_Send(&value, 1, MPI_INT, 0, 8, MPI_COMM_WORLD);
    if (rank == 0 || !strcmp(way, "both")) {
        if (!strcmp(way, "MPI_Test") || !strcmp(way, "MPI_Testany"))
            MPI_Irecv(&value, 1, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD, &request);
        while (!flag) {
            if (!strcmp(way, "MPI_Test"))
                MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            else if (!strcmp(way, "MPI_Testany"))
                MPI_Testany(1, &request, &value, &flag, MPI_STATUS_IGNORE);
            else
                MPI_Iprobe(1 - rank, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
