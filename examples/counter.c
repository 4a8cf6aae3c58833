/* Work by a common counter: each rank takes the next piece from a window on rank 0, with no help of
 * that rank's program. The pieces add up to the same whoever takes which. */
#include <mpi.h>
#include <stdio.h>

enum { PIECES = 1000 };

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long *next;
    MPI_Win win;
    MPI_Win_allocate(rank == 0 ? sizeof *next : 0, sizeof *next, MPI_INFO_NULL, MPI_COMM_WORLD, &next, &win);
    if (rank == 0)
        *next = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    long one = 1, piece, own = 0, all = 0, taken = 0;
    MPI_Win_lock_all(0, win);
    for (;;) {
        MPI_Fetch_and_op(&one, &piece, MPI_LONG, 0, 0, MPI_SUM, win);
        MPI_Win_flush(0, win);
        if (piece >= PIECES)
            break;
        own += piece;
        taken++;
    }
    MPI_Win_unlock_all(win);
    MPI_Reduce(&own, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d pieces add up to %ld (expected %ld); rank 0 of %d took %ld\n", PIECES, all,
               (long)PIECES * (PIECES - 1) / 2, size, taken);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
