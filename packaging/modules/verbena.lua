-- Verbena for Lmod: module use PREFIX/share/modulefiles, then module load verbena.
-- The prefix is found from this file's own place, so an installation may be moved.
local prefix = myFileName():match("^(.*)/share/modulefiles/[^/]+/[^/]+$")
local lib = pathJoin(prefix, "lib")
if not isFile(pathJoin(lib, "libmpi_abi.so.1")) then
    lib = pathJoin(prefix, "lib64")
end

help([[
Verbena: an MPI library with the standard ABI of MPI-5.0 (mpicc, mpifort, mpiexec, verbena).
Programs that were built for MPICH or Intel MPI find libmpi.so.12 in LD_LIBRARY_PATH.
]])
whatis("Name: Verbena")
whatis("Description: MPI with the standard ABI of MPI-5.0")
family("mpi")

prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("LD_LIBRARY_PATH", lib)
prepend_path("PKG_CONFIG_PATH", pathJoin(lib, "pkgconfig"))
setenv("MPI_HOME", prefix)
setenv("MPICC", pathJoin(prefix, "bin/mpicc"))
setenv("MPICXX", pathJoin(prefix, "bin/mpicxx"))
setenv("MPIFC", pathJoin(prefix, "bin/mpifort"))
