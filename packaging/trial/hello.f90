! Counts the ranks, by the module mpi_f08.
program hello
  use mpi_f08
  implicit none
  integer :: rank, ranks, total
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call MPI_Allreduce(1, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (total /= ranks) call MPI_Abort(MPI_COMM_WORLD, 3)
  if (rank == 0) print '(a, i0, a)', 'hello: ', ranks, ' ranks'
  call MPI_Finalize()
end program
