! The last rank is killed, and the others go on (ULFM): with mpif.h, the module mpi (STYLE_MPI) or
! mpi_f08 (STYLE_F08).
#ifdef STYLE_F08
#define COMM type(MPI_Comm)
#define GROUP type(MPI_Group)
#define REQUEST type(MPI_Request)
#else
#define COMM integer
#define GROUP integer
#define REQUEST integer
#endif
program survive
#ifdef STYLE_F08
  use mpi_f08
  implicit none
#elif defined(STYLE_MPI)
  use mpi
  implicit none
#else
  implicit none
  include 'mpif.h'
#endif
  COMM :: world, left, again
  GROUP :: failed
  REQUEST :: request
  integer :: rank, members, code, class, got, flags, number, total
  logical :: revoked

  call MPI_Init(code)
  call MPI_Comm_dup(MPI_COMM_WORLD, world, code)
  call MPI_Comm_rank(world, rank, code)
  call MPI_Comm_size(world, members, code)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, code)
  call MPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN, code)
  call MPI_Barrier(world, code)
  if (rank == members - 1) call kill(getpid(), 9)
  call MPI_Recv(got, 1, MPI_INTEGER, members - 1, 0, world, MPI_STATUS_IGNORE, code)
  call MPI_Error_class(code, class, number)
  call check(class == MPIX_ERR_PROC_FAILED, 'the receive')
  call MPIX_Comm_get_failed(world, failed, code)
  call MPI_Group_size(failed, number, code)
  call check(number == 1, 'the failed')
  call MPI_Group_free(failed, code)
  call MPIX_Comm_ack_failed(world, members, number, code)
  call check(code == MPI_SUCCESS .and. number == 1, 'the acknowledged')
  call MPIX_Comm_failure_ack(world, code)
  call MPIX_Comm_failure_get_acked(world, failed, code)
  call MPI_Group_size(failed, number, code)
  call check(number == 1, 'the acknowledged group')
  call MPI_Group_free(failed, code)
  flags = 6
  if (rank == 0) flags = 3
  call MPIX_Comm_agree(world, flags, code)
  call check(code == MPI_SUCCESS .and. flags == 2, 'the agreement')
  flags = 7
  call MPIX_Comm_iagree(world, flags, request, code)
  call MPI_Wait(request, MPI_STATUS_IGNORE, code)
  call check(code == MPI_SUCCESS .and. flags == 7, 'the second agreement')
  call MPIX_Comm_revoke(world, code)
  call MPIX_Comm_is_revoked(world, revoked, code)
  call check(revoked, 'the revocation')
  call MPIX_Comm_shrink(world, left, code)
  call MPIX_Comm_ishrink(left, again, request, code)
  call MPI_Wait(request, MPI_STATUS_IGNORE, code)
  call MPI_Allreduce(1, total, 1, MPI_INTEGER, MPI_SUM, again, code)
  call check(code == MPI_SUCCESS .and. total == members - 1, 'the sum')
  call MPI_Comm_free(again, code)
  call MPI_Comm_free(left, code)
  call MPI_Comm_free(world, code)
  if (rank == 0) print '(a,i0,a)', 'survive: ok with ', total, ' ranks left'
  call MPI_Finalize(code)

contains

  subroutine check(is_true, what)
    logical, intent(in) :: is_true
    character(*), intent(in) :: what
    integer :: ignored
    if (is_true) return
    print *, 'survive: rank', rank, ': wrong: ', what
    call MPI_Abort(MPI_COMM_WORLD, 3, ignored)
  end subroutine
end program
