! Hands handles and statuses to C (integers.c).
program integers_of_handles
  use mpi
  implicit none
  integer, external :: integers, ignored
  integer :: rank, ranks, other, datatype, request, status(MPI_STATUS_SIZE), ierror, line, room(3)
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  other = mod(rank + 1, ranks)
  call MPI_Type_contiguous(3, MPI_INTEGER, datatype, ierror)
  call MPI_Type_commit(datatype, ierror)
  request = MPI_REQUEST_NULL
  room = 7
  call MPI_Sendrecv_replace(room, 1, datatype, other, 11, MPI_ANY_SOURCE, 11, MPI_COMM_WORLD, status, ierror)
  line = integers(MPI_COMM_WORLD, datatype, request, status)
  if (line /= 0) then
    print '(a, i0)', 'integers.c: failed in line ', line
    call MPI_Abort(MPI_COMM_WORLD, 1, ierror)
  end if
  if (status(MPI_TAG) /= 12) call MPI_Abort(MPI_COMM_WORLD, 2, ierror)
  if (ignored(MPI_STATUS_IGNORE) /= 1 .or. ignored(status) /= 0) call MPI_Abort(MPI_COMM_WORLD, 3, ierror)
  if (ignored(MPI_STATUSES_IGNORE) /= 2) call MPI_Abort(MPI_COMM_WORLD, 4, ierror)
  call MPI_Type_free(datatype, ierror)
  call MPI_Finalize(ierror)
  if (rank == 0) print '(a, i0, a)', 'integers: ok with ', ranks, ' ranks'
end program
