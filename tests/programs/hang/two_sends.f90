! Two ranks send to each other before they receive.
program two_sends
  use mpi_f08
  implicit none
  integer :: rank
  real(8), allocatable :: out(:), in(:)
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  allocate(out(200000), in(200000))
  out = rank
  call MPI_Send(out, size(out), MPI_DOUBLE_PRECISION, 1 - rank, 5, MPI_COMM_WORLD)
  call MPI_Recv(in, size(in), MPI_DOUBLE_PRECISION, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  call MPI_Finalize()
end program two_sends
