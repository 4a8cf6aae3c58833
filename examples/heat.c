/* Heat in a rod: each rank has a piece of it, and exchanges the ends with its neighbors in each
 * step. heat [CELLS [STEPS]]; it tells the warmth of the whole rod, which stays the same. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int rank, size, cells = argc > 1 ? atoi(argv[1]) : 1000, steps = argc > 2 ? atoi(argv[2]) : 1000;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (cells < 1 || steps < 0) {
        if (rank == 0)
            fprintf(stderr, "heat [CELLS [STEPS]]: at least one cell for each rank\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    /* A cell more at each end for what the neighbors have there; the rod's ends have none. */
    double *now = calloc(cells + 2, sizeof *now), *next = calloc(cells + 2, sizeof *next);
    int left = rank > 0 ? rank - 1 : MPI_PROC_NULL, right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
    if (rank == 0)
        now[1] = 100.0 * cells;
    double start = MPI_Wtime();
    for (int step = 0; step < steps; step++) {
        now[0] = now[1];
        now[cells + 1] = now[cells];
        MPI_Sendrecv(&now[1], 1, MPI_DOUBLE, left, 0, &now[cells + 1], 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Sendrecv(&now[cells], 1, MPI_DOUBLE, right, 0, &now[0], 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        for (int i = 1; i <= cells; i++)
            next[i] = now[i] + 0.25 * (now[i - 1] - 2 * now[i] + now[i + 1]);
        double *swap = now;
        now = next;
        next = swap;
    }
    double own = 0, all = 0;
    for (int i = 1; i <= cells; i++)
        own += now[i];
    MPI_Reduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d cells on %d ranks, %d steps: warmth %.3f (%.3f at first), %.3f s\n", cells * size, size, steps, all,
               100.0 * cells, MPI_Wtime() - start);
    free(now);
    free(next);
    MPI_Finalize();
    return 0;
}
