/* Latency and bandwidth between two ranks, as BENCHMARKS.md has them for networks without verbs:
 * medians of seven series after one for warming up. A line each: what, bytes, microseconds one
 * way or GB/s. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { SERIES = 7, WINDOW = 16, BYTES_MAX = 4 << 20 };
static char buffer[BYTES_MAX];

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void there_and_back(int rank, int bytes) {
    for (int turn = 0; turn < 2; turn++) {
        if (turn == rank)
            MPI_Send(buffer, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(buffer, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void stream(int rank, int bytes) {
    MPI_Request requests[WINDOW];
    for (int i = 0; i < WINDOW; i++) {
        if (rank == 0)
            MPI_Isend(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Irecv(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
    if (rank == 0)
        MPI_Recv(buffer, 1, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(buffer, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
}

/* Seconds that `times` calls take: the median. */
static double seconds(void (*call)(int, int), int rank, int bytes, int times) {
    double took[SERIES];
    for (int i = -1; i < SERIES; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        for (int j = 0; j < times; j++)
            call(rank, bytes);
        if (i >= 0)
            took[i] = MPI_Wtime() - begin;
    }
    qsort(took, SERIES, sizeof *took, by_value);
    return took[SERIES / 2];
}

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int bytes = 8; bytes <= 1 << 20; bytes *= bytes < 1024 ? 128 : 4) {
        int times = bytes < 65536 ? 300 : 50;
        double took = seconds(there_and_back, rank, bytes, times);
        if (rank == 0)
            printf("latency %d %.1f\n", bytes, took / times / 2 * 1e6);
    }
    for (int bytes = 65536; bytes <= BYTES_MAX; bytes *= 8) {
        double took = seconds(stream, rank, bytes, 1);
        if (rank == 0)
            printf("bandwidth %d %.2f\n", bytes, (double)bytes * WINDOW / took / 1e9);
    }
    MPI_Finalize();
    return 0;
}
