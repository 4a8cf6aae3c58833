! Spawning, ports and names with the module mpi_f08: strings and lists of strings cross the border.
#define CHECK(condition) call check(condition, __LINE__)

program spawning_modern
  use mpi_f08
  implicit none
  integer :: rank, size, ierror
  type(MPI_Comm) :: parent

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  call MPI_Comm_get_parent(parent, ierror)
  if (parent == MPI_COMM_NULL) then
    call one
    call several
    if (size > 1) call meet
    if (rank == 0) print '(a, i0, a)', 'spawning_modern: ok with ', size, ' ranks'
  else
    call child
  end if
  call MPI_Finalize(ierror)

contains

  subroutine check(condition, line)
    logical, intent(in) :: condition
    integer, intent(in) :: line
    if (condition) return
    print *, 'failed: line', line
    call MPI_Abort(MPI_COMM_WORLD, 3)
  end subroutine

  subroutine child
    character(len=64) :: word
    integer(MPI_ADDRESS_KIND) :: appnum
    logical :: flag
    integer :: length
    call get_command_argument(1, word, length)
    CHECK(length == 5 .and. word == 'first' .or. length == 2 .and. word == 'b2')
    if (word == 'b2') then
      call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, appnum, flag, ierror)
      CHECK(flag .and. appnum == 1 .and. command_argument_count() == 1)
    else
      call get_command_argument(2, word, length)
      CHECK(length == 7 .and. word == 'two too')
    end if
    call MPI_Barrier(parent, ierror)
    call MPI_Comm_disconnect(parent, ierror)
    CHECK(parent == MPI_COMM_NULL)
  end subroutine

  subroutine finish(inter, expected)
    type(MPI_Comm), intent(inout) :: inter
    integer, intent(in) :: expected
    integer :: number
    call MPI_Comm_remote_size(inter, number, ierror)
    CHECK(number == expected)
    call MPI_Barrier(inter, ierror)
    call MPI_Comm_disconnect(inter, ierror)
    CHECK(inter == MPI_COMM_NULL)
  end subroutine

  subroutine one
    character(len=256) :: self
    character(len=12) :: words(3)
    integer :: codes(2)
    type(MPI_Comm) :: inter
    call get_command_argument(0, self)
    words = [character(len=12) :: 'first', 'two too', '']
    codes = -1
    call MPI_Comm_spawn(self, words, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, inter, codes, ierror)
    CHECK(ierror == MPI_SUCCESS .and. all(codes == MPI_SUCCESS))
    call finish(inter, 2)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
    call MPI_Comm_spawn('/no/such/program', MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, inter, &
                        MPI_ERRCODES_IGNORE, ierror)
    CHECK(ierror /= MPI_SUCCESS)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, ierror)
  end subroutine

  subroutine several
    character(len=256) :: commands(2)
    character(len=8) :: lists(2, 3)
    integer :: codes(3)
    type(MPI_Comm) :: inter
    call get_command_argument(0, commands(1))
    commands(2) = commands(1)
    lists(1, :) = [character(len=8) :: 'first', 'two too', '']
    lists(2, :) = [character(len=8) :: 'b2', '', '']
    codes = -1
    call MPI_Comm_spawn_multiple(2, commands, lists, [1, 2], [MPI_INFO_NULL, MPI_INFO_NULL], 0, &
                                 MPI_COMM_WORLD, inter, codes, ierror)
    CHECK(ierror == MPI_SUCCESS .and. all(codes == MPI_SUCCESS))
    call finish(inter, 3)
  end subroutine

  ! The first two ranks meet by a port that one of them publishes.
  subroutine meet
    character(len=MPI_MAX_PORT_NAME) :: port
    character(len=32) :: service
    type(MPI_Comm) :: inter
    integer :: clock
    call system_clock(clock)
    write (service, '(a, i0)') 'fortran service ', clock
    call MPI_Bcast(service, 32, MPI_CHARACTER, 0, MPI_COMM_WORLD, ierror)
    if (rank == 0) then
      call MPI_Open_port(MPI_INFO_NULL, port, ierror)
      call MPI_Publish_name(service, MPI_INFO_NULL, port, ierror)
    end if
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    if (rank == 0) then
      call MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, inter, ierror)
      call finish(inter, 1)
      call MPI_Unpublish_name(service, MPI_INFO_NULL, port, ierror)
      CHECK(ierror == MPI_SUCCESS)
      call MPI_Close_port(port, ierror)
      CHECK(ierror == MPI_SUCCESS)
    else if (rank == 1) then
      call MPI_Lookup_name(service, MPI_INFO_NULL, port, ierror)
      call MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, inter, ierror)
      call finish(inter, 1)
    end if
  end subroutine
end program
