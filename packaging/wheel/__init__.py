"""Verbena: an MPI library with the standard ABI of MPI-5.0.

The commands mpiexec, mpicc and verbena are programs of their own beside the interpreter; the
libraries (libmpi_abi.so.1, and libmpi.so.12 with MPICH's ABI) and mpi.h lie in the same
environment. Other names of the commands are made here: a wheel holds no links.
"""

import os
import sys

__version__ = "@VERSION@"
__all__ = ["get_include", "get_library", "prefix"]


def prefix():
    """The folder above bin, lib and include."""
    return os.path.dirname(os.path.dirname(get_library()))


def get_include():
    """The folder of mpi.h, mpif.h and the Fortran modules."""
    return os.path.join(prefix(), "include")


def get_library():
    """The path of libmpi_abi.so.1."""
    from importlib.metadata import files

    name = "libmpi_abi.so.1"
    for file in files("verbena-mpi") or ():
        if file.name == name:
            return os.path.realpath(file.locate())
    raise FileNotFoundError(name + " is not among the files of the package verbena-mpi: install it again")


def _become():
    """Becomes the command that goes by this name too. The name tells mpicc the language."""
    folder, name = os.path.split(os.path.abspath(sys.argv[0]))
    command = os.path.join(folder, "mpiexec" if name == "mpirun" else "mpicc")
    os.execv(command, [name] + sys.argv[1:])
