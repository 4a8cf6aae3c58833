/* A library that takes notice of deaths, for a program that names none of the functions. With
   PYTHON it is like a module for Python, which names all functions whatever a script calls. */
#include <mpi.h>

#ifdef PYTHON
void *PyModule_Create2(void *definition, int version);
void *PyInit_library(void);
void *PyInit_library(void) {
    return PyModule_Create2(0, 1013);
}
#endif

void take_notice(MPI_Comm comm);
void take_notice(MPI_Comm comm) {
    MPIX_Comm_failure_ack(comm);
}
