/* The name under which Open MPI has its extensions. Their functions that are here are in mpi.h:
   those about lost processes (MPIX_Comm_revoke and its like), and MPIX_Query_cuda_support and its
   like. */
#ifndef VERBENA_MPI_EXT_H
#define VERBENA_MPI_EXT_H
#include "mpi.h"
/* No buffer may lie in the memory of a GPU. */
#define MPIX_CUDA_AWARE_SUPPORT 0
#define MPIX_ROCM_AWARE_SUPPORT 0
#endif
