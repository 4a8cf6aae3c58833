import time
from mpi4py import MPI


def nap():
    time.sleep(1000)


if MPI.COMM_WORLD.rank == 1:
    nap()
MPI.COMM_WORLD.Barrier()
