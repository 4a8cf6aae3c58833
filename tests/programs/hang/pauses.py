import signal
import time
from mpi4py import MPI

# A wait for a signal, which another signal would end: rank 1 gets its own after four seconds.
if MPI.COMM_WORLD.rank == 1:
    signal.signal(signal.SIGALRM, lambda *_: None)
    began = time.monotonic()
    signal.alarm(4)
    signal.pause()
    print("as long as it should" if time.monotonic() - began > 3.5 else "cut short")
MPI.COMM_WORLD.Barrier()
