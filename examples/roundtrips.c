/* Round trips between two ranks, one by one: roundtrips COUNT BYTES. It tells the mean and the
 * median, one way, and how long the slow ones took: on a wire that loses packets the mean hangs
 * on these few, which medians of short series do not show. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { WARM = 200, SLOW_US = 250 };

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    int rank, count = argc > 1 ? atoi(argv[1]) : 20000, bytes = argc > 2 ? atoi(argv[2]) : 8;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (count < 1 || bytes < 0) {
        fprintf(stderr, "roundtrips COUNT BYTES: at least one round trip, and no less than nothing\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    char *buffer = calloc((size_t)bytes + 1, 1);
    double *took = malloc(sizeof *took * (size_t)count);
    for (int i = -WARM; i < count; i++) {
        double begin = MPI_Wtime();
        for (int turn = 0; rank < 2 && turn < 2; turn++) {
            if (turn == rank)
                MPI_Send(buffer, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
            else
                MPI_Recv(buffer, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        if (i >= 0)
            took[i] = (MPI_Wtime() - begin) * 1e6;
    }
    if (rank == 0) {
        double sum = 0;
        int slow = 0;
        for (int i = 0; i < count; i++) {
            sum += took[i];
            slow += took[i] > SLOW_US;
        }
        qsort(took, (size_t)count, sizeof *took, by_value);
        printf("%d bytes one way: mean %.1f us, median %.1f; %.2f%% of the round trips over %d us", bytes,
               sum / count / 2, took[count / 2] / 2, 100.0 * slow / count, SLOW_US);
        if (slow > 0)
            printf(": a quarter of these under %.0f us, half under %.0f, three quarters under %.0f, the longest %.0f",
                   took[count - slow + slow / 4], took[count - slow + slow / 2], took[count - slow + slow * 3 / 4],
                   took[count - 1]);
        printf("\n");
    }
    MPI_Finalize();
    return 0;
}
