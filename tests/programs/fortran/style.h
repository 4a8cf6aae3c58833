! The two older styles differ in this only: STYLE_MPI is the module, else the include file.
#ifdef STYLE_MPI
#define USE_MPI use mpi
#define INCLUDE_MPI
#else
#define USE_MPI
#define INCLUDE_MPI include 'mpif.h'
#endif
#define CHECK(condition) call check(condition, __LINE__)
