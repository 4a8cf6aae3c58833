/* The name under which Open MPI has its extensions. Those that are here are in mpi.h: the functions
   about lost processes (MPIX_Comm_revoke and its like). */
#ifndef VERBENA_MPI_EXT_H
#define VERBENA_MPI_EXT_H
#include "mpi.h"
#endif
