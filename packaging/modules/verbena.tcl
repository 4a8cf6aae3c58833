#%Module1.0
# Verbena for Environment Modules: module use PREFIX/share/modulefiles, then module load verbena.
# The prefix is found from this file's own place, so an installation may be moved.
set prefix [file normalize [file join [file dirname $ModulesCurrentModulefile] .. .. ..]]
set lib [file join $prefix lib]
if {![file exists [file join $lib libmpi_abi.so.1]]} { set lib [file join $prefix lib64] }

proc ModulesHelp {} {
    puts stderr "Verbena: an MPI library with the standard ABI of MPI-5.0 (mpicc, mpifort, mpiexec, verbena)."
    puts stderr "Programs that were built for MPICH or Intel MPI find libmpi.so.12 in LD_LIBRARY_PATH."
}
module-whatis "Verbena: MPI with the standard ABI of MPI-5.0"
conflict mpi openmpi mpich impi intel-mpi mvapich mvapich2

prepend-path PATH [file join $prefix bin]
prepend-path LD_LIBRARY_PATH $lib
prepend-path PKG_CONFIG_PATH [file join $lib pkgconfig]
setenv MPI_HOME $prefix
setenv MPICC [file join $prefix bin mpicc]
setenv MPICXX [file join $prefix bin mpicxx]
setenv MPIFC [file join $prefix bin mpifort]
