! Files with the module mpi_f08: large counts, sections of arrays, and procedures that convert the
! elements.
#define CHECK(condition) call check(condition, __LINE__)

! A representation in which every integer is followed by its complement.
module conversions
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
contains
  subroutine twice(datatype, extent, extra_state, ierror)
    type(MPI_Datatype) :: datatype
    integer(MPI_ADDRESS_KIND) :: extent, extra_state
    integer :: ierror
    extent = 8
    ierror = merge(MPI_SUCCESS, MPI_ERR_ARG, extra_state == 77)
  end subroutine
  subroutine add_complement(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    type(c_ptr), value :: userbuf, filebuf
    type(MPI_Datatype) :: datatype
    integer(MPI_COUNT_KIND) :: count
    integer(MPI_OFFSET_KIND) :: position
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    integer, pointer :: user(:), file(:)
    call c_f_pointer(userbuf, user, [count])
    call c_f_pointer(filebuf, file, [2 * count])
    file(1::2) = user
    file(2::2) = not(user)
    ierror = merge(MPI_SUCCESS, MPI_ERR_ARG, extra_state == 77 .and. position == 0 .and. datatype == MPI_INTEGER)
  end subroutine
  subroutine check_complement(userbuf, datatype, count, filebuf, position, extra_state, ierror)
    type(c_ptr), value :: userbuf, filebuf
    type(MPI_Datatype) :: datatype
    integer(MPI_COUNT_KIND) :: count
    integer(MPI_OFFSET_KIND) :: position
    integer(MPI_ADDRESS_KIND) :: extra_state
    integer :: ierror
    integer, pointer :: user(:), file(:)
    call c_f_pointer(userbuf, user, [count])
    call c_f_pointer(filebuf, file, [2 * count])
    user = file(1::2)
    ierror = merge(MPI_SUCCESS, MPI_ERR_CONVERSION, all(file(2::2) == not(user)))
    if (position /= 0 .or. datatype /= MPI_INTEGER .or. extra_state /= 77) ierror = MPI_ERR_ARG
  end subroutine
end module

program files_modern
  use mpi_f08
  implicit none
  integer :: rank, size

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  call shared
  call converted
  if (rank == 0) print '(a, i0, a)', 'files_modern: ok with ', size, ' ranks'
  call MPI_Finalize()

contains

  subroutine check(condition, line)
    logical, intent(in) :: condition
    integer, intent(in) :: line
    if (condition) return
    print *, 'failed: line', line
    call MPI_Abort(MPI_COMM_WORLD, 3)
  end subroutine

  subroutine open_file(name, file)
    character(*), intent(in) :: name
    type(MPI_File), intent(out) :: file
    character(500) :: folder
    call get_environment_variable('FORTRAN_TEST_DIR', folder)
    call MPI_File_open(MPI_COMM_WORLD, trim(folder) // '/' // name, &
        ior(MPI_MODE_RDWR, ior(MPI_MODE_CREATE, MPI_MODE_DELETE_ON_CLOSE)), MPI_INFO_NULL, file)
  end subroutine

  subroutine shared
    type(MPI_File) :: file
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    integer :: rows(2, 4), got(4)
    integer(MPI_COUNT_KIND) :: four, n
    integer(MPI_OFFSET_KIND) :: place
    four = 4
    rows(1, :) = [rank, 1, 2, 3]
    rows(2, :) = -1
    call open_file('modern-shared', file)
    call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL)
    call MPI_File_write_ordered(file, rows(1, :), four, MPI_INTEGER, status)
    call MPI_Get_count(status, MPI_INTEGER, n)
    CHECK(n == 4)
    call MPI_Barrier(MPI_COMM_WORLD)
    place = 4 * mod(rank + 1, size)
    call MPI_File_iread_at_all(file, place, got, four, MPI_INTEGER, request)
    call MPI_Wait(request, status)
    CHECK(all(got == [mod(rank + 1, size), 1, 2, 3]))
    call MPI_File_seek_shared(file, 0_MPI_OFFSET_KIND, MPI_SEEK_SET)
    call MPI_File_iread_shared(file, got, 1, MPI_INTEGER, request)
    call MPI_Wait(request, status)
    CHECK(got(1) >= 0 .and. got(1) < 4)
    call MPI_File_close(file)
    CHECK(file == MPI_FILE_NULL)
  end subroutine

  subroutine converted
    use conversions
    type(MPI_File) :: file
    integer :: got(3), ierror
    integer(MPI_ADDRESS_KIND) :: extent
    integer(MPI_OFFSET_KIND) :: bytes, place
    extent = 77
    call MPI_Register_datarep_c('doubled', check_complement, add_complement, twice, extent)
    call MPI_Register_datarep_c('plain', MPI_CONVERSION_FN_NULL_C, MPI_CONVERSION_FN_NULL_C, twice, extent, ierror)
    CHECK(ierror == MPI_SUCCESS)
    call open_file('modern-converted', file)
    call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'doubled', MPI_INFO_NULL, ierror)
    CHECK(ierror == MPI_SUCCESS)
    place = 3 * rank
    call MPI_File_write_at_all(file, place, [rank, 5, -7], 3, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
    CHECK(ierror == MPI_SUCCESS)
    call MPI_File_read_at(file, place, got, 3, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
    CHECK(ierror == MPI_SUCCESS .and. all(got == [rank, 5, -7]))
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_File_get_size(file, bytes)
    CHECK(bytes == 24 * size)
    call MPI_File_close(file)
  end subroutine
end program
