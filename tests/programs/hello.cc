// The same in C++: the header must be good C++, and its functions have C linkage.
#include <cstdio>
#include <mpi.h>
#include <vector>

int main(int argc, char **argv) {
    int rank = -1, size = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::vector<int> ranks(size, -1);
    MPI_Allgather(&rank, 1, MPI_INT, ranks.data(), 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        if (ranks[i] != i)
            MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Finalize();
    if (rank == 0)
        std::printf("hello: ok with %d ranks\n", size);
    return 0;
}
