/* aborts WHEN CODE: rank 1 calls MPI_Abort, the others wait for it. WHEN is before, between or
 * after MPI_Init and MPI_Finalize. */
#include "check.h"

int main(int argc, char **argv) {
    const char *when = argv[1], *rank = getenv("PMI_RANK");
    int code = atoi(argv[2]), is_one = !rank || !strcmp(rank, "1");
    if (!strcmp(when, "before") && is_one)
        MPI_Abort(MPI_COMM_WORLD, code);
    MPI_Init(&argc, &argv);
    if (!strcmp(when, "between") && is_one)
        MPI_Abort(MPI_COMM_SELF, code);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    if (!strcmp(when, "after") && is_one)
        MPI_Abort(MPI_COMM_WORLD, code);
    return 0;
}
