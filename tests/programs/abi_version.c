/* The version of the standard ABI: that of mpi.h on the standard face, and -1 on another one. */
#include "check.h"

int main(int argc, char **argv) {
    int major = 7, minor = 7;
    /* It may be asked before MPI is there (MPI-5.0, 20.2). */
    CHECK(MPI_Abi_get_version(&major, &minor) == MPI_SUCCESS);
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
#ifdef MPICH_VERSION
    CHECK(major == -1 && minor == -1);
#else
    CHECK(major == MPI_ABI_VERSION && minor == MPI_ABI_SUBVERSION);
#endif
    MPI_Finalize();
    report("abi_version", rank, size);
    return 0;
}
