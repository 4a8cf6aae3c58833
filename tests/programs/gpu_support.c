/* What programs of MPICH's ABI ask before they pass a buffer on a GPU: the answer is no. */
#include "check.h"

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(MPIX_Query_cuda_support() == 0);
    CHECK(MPIX_Query_ze_support() == 0);
    CHECK(MPIX_Query_hip_support() == 0);
    for (int sort = MPIX_GPU_SUPPORT_CUDA; sort <= MPIX_GPU_SUPPORT_HIP; sort++) {
        int is_supported = 7;
        CHECK(MPIX_GPU_query_support(sort, &is_supported) == MPI_SUCCESS && is_supported == 0);
    }
    int untouched = 7;
    CHECK_CLASS(MPIX_GPU_query_support(99, &untouched), MPI_ERR_ARG);
    CHECK(untouched == 7);
    MPI_Finalize();
    report("gpu_support", rank, size);
    return 0;
}
