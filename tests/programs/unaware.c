/* A program that knows nothing of lost processes, though errors do not end it: its last rank is
   killed, and the others wait for it. The argument says how. */
#include "deaths.h"

int main(int argc, char **argv) {
    int got, flag = 0;
    MPI_Request request;
    begin(&argc, &argv);
    let_die();
    if (argc > 1 && !strcmp(argv[1], "polls")) {
        MPI_Irecv(&got, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, &request);
        while (!flag)
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    } else if (argc > 1 && !strcmp(argv[1], "ends")) {
        MPI_Finalize();
        return 0;
    }
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
