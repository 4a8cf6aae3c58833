from mpi4py import MPI


def spin():
    while True:
        pass


if MPI.COMM_WORLD.rank == 1:
    spin()
MPI.COMM_WORLD.Barrier()
