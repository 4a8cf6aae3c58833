"""Every process greets, in Python with mpi4py, and rank 0 gathers what the others know."""

from mpi4py import MPI

comm = MPI.COMM_WORLD
known = comm.gather({"rank": comm.rank, "host": MPI.Get_processor_name()}, root=0)
if comm.rank == 0:
    for one in known:
        print(f"Hello from rank {one['rank']} of {comm.size} on {one['host']} in Python")
