! The two older styles differ in this only: STYLE_MPI is the module, else the include file.
#ifdef STYLE_MPI
#define USE_MPI use mpi
#define INCLUDE_MPI
#else
#define USE_MPI
#define INCLUDE_MPI include 'mpif.h'
#endif
#define CHECK(condition) call check(condition, __LINE__)
! Tells the compiler that MPI writes the variable. Intel MPI's library has no MPI_F_sync_reg for
! these styles; any call that names the variable will do.
#ifdef SYNC_REG_MISSING
#define SYNC_REG(variable) call MPI_Get_address(variable, anywhere, ierror)
#else
#define SYNC_REG(variable) call MPI_F_sync_reg(variable)
#endif
