/* What programs of Open MPI ask of mpi-ext.h, and those of MPICH of mpi.h, before they pass a
   buffer in the memory of a GPU: the answer is no, before MPI_Init too. */
#include "check.h"
#include <mpi-ext.h>

#if !defined(MPIX_CUDA_AWARE_SUPPORT) || MPIX_CUDA_AWARE_SUPPORT
#error "the preprocessor is told that no buffer may lie in a GPU"
#endif
#if !defined(MPIX_ROCM_AWARE_SUPPORT) || MPIX_ROCM_AWARE_SUPPORT
#error "the preprocessor is told that no buffer may lie in a GPU"
#endif

int main(int argc, char **argv) {
    int rank, size;
    CHECK(MPIX_Query_cuda_support() == 0);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(MPIX_Query_cuda_support() == 0 && PMPIX_Query_cuda_support() == 0);
    CHECK(MPIX_Query_rocm_support() == 0 && MPIX_Query_hip_support() == 0);
    CHECK(MPIX_Query_ze_support() == 0);
    MPI_Finalize();
    report("gpu_ext", rank, size);
    return 0;
}
