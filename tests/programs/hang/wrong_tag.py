"""The tags of a send and its receive differ."""
from mpi4py import MPI

WORLD = MPI.COMM_WORLD


def exchange():
    """Rank 0 waits for another tag than rank 1 sends."""
    if WORLD.rank == 0:
        WORLD.recv(source=1, tag=7)
    else:
        WORLD.send("hello", dest=0, tag=8)


exchange()
WORLD.Barrier()
