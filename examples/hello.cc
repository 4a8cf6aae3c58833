// Every process greets, in C++.
#include <iostream>
#include <mpi.h>
#include <sstream>

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    // One write for one line, so that the lines of ranks do not mix.
    std::ostringstream line;
    line << "Hello from rank " << rank << " of " << size << " in C++\n";
    std::cout << line.str() << std::flush;
    MPI_Finalize();
}
