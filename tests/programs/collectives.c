/* A barrier and every reduction's shape, on any number of ranks; argument: rounds. */
#include "check.h"

int main(int argc, char **argv) {
    int rank, size, rounds = argc > 1 ? atoi(argv[1]) : 10;
    static const int lengths[] = {1, 2, 17, 1000, 40000};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < rounds; round++) {
        int length = lengths[round % 5], root = round % size;
        double *in = malloc(length * sizeof *in), *out = malloc(length * sizeof *out);
        int *all = malloc(size * sizeof *all), *turned = malloc(size * sizeof *turned);
        for (int i = 0; i < length; i++)
            in[i] = rank + i + round;
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Allreduce(in, out, length, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < length; i++)
            CHECK(out[i] == (double)size * (size - 1) / 2 + (double)size * (i + round));
        MPI_Reduce(in, out, length, MPI_DOUBLE, MPI_MAX, root, MPI_COMM_WORLD);
        if (rank == root)
            for (int i = 0; i < length; i++)
                CHECK(out[i] == size - 1 + i + round);
        if (rank != root)
            memset(in, 0, length * sizeof *in);
        MPI_Bcast(in, length, MPI_DOUBLE, root, MPI_COMM_WORLD);
        for (int i = 0; i < length; i++)
            CHECK(in[i] == root + i + round);
        MPI_Allgather(&rank, 1, MPI_INT, all, 1, MPI_INT, MPI_COMM_WORLD);
        for (int i = 0; i < size; i++)
            CHECK(all[i] == i);
        for (int i = 0; i < size; i++)
            all[i] = rank * 1000 + i;
        MPI_Alltoall(all, 1, MPI_INT, turned, 1, MPI_INT, MPI_COMM_WORLD);
        for (int i = 0; i < size; i++)
            CHECK(turned[i] == i * 1000 + rank);
        free(in);
        free(out);
        free(all);
        free(turned);
    }
    MPI_Finalize();
    report("collectives", rank, size);
    return 0;
}
