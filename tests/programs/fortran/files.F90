! Files: shared pointers, the order of ranks, split collectives, and procedures that convert the
! elements. In both older styles.
#include "style.h"

subroutine check(condition, line)
  USE_MPI
  implicit none
  INCLUDE_MPI
  logical, intent(in) :: condition
  integer, intent(in) :: line
  integer :: ierror
  if (condition) return
  print *, 'failed: line', line
  call MPI_Abort(MPI_COMM_WORLD, 3, ierror)
end subroutine

! A representation in which every integer is followed by its complement.
module conversions
  USE_MPI
  implicit none
  INCLUDE_MPI
contains
  subroutine twice(datatype, extent, extra, ierror)
    integer :: datatype, ierror
    integer(MPI_ADDRESS_KIND) :: extent, extra
    extent = 8
    ierror = merge(MPI_SUCCESS, MPI_ERR_ARG, extra == 77)
  end subroutine
  subroutine add_complement(user, datatype, count, file, position, extra, ierror)
    integer :: user(*), file(*), datatype, count, ierror, i
    integer(MPI_OFFSET_KIND) :: position
    integer(MPI_ADDRESS_KIND) :: extra
    do i = 1, count
      file(2 * i - 1) = user(i)
      file(2 * i) = not(user(i))
    end do
    ierror = merge(MPI_SUCCESS, MPI_ERR_ARG, extra == 77 .and. position == 0 .and. datatype == MPI_INTEGER)
  end subroutine
  subroutine check_complement(user, datatype, count, file, position, extra, ierror)
    integer :: user(*), file(*), datatype, count, ierror, i
    integer(MPI_OFFSET_KIND) :: position
    integer(MPI_ADDRESS_KIND) :: extra
    ierror = merge(MPI_SUCCESS, MPI_ERR_ARG, extra == 77 .and. position == 0 .and. datatype == MPI_INTEGER)
    do i = 1, count
      user(i) = file(2 * i - 1)
      if (file(2 * i) /= not(user(i))) ierror = MPI_ERR_CONVERSION
    end do
  end subroutine
end module

program files
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: ierror, rank, size

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  call shared
  call converted
  if (rank == 0) print '(a, i0, a)', 'files: ok with ', size, ' ranks'
  call MPI_Finalize(ierror)

contains

  subroutine open_file(name, file)
    character(*), intent(in) :: name
    integer, intent(out) :: file
    character(500) :: folder
    call get_environment_variable('FORTRAN_TEST_DIR', folder)
    call MPI_File_open(MPI_COMM_WORLD, trim(folder) // '/' // name, &
        ior(MPI_MODE_RDWR, ior(MPI_MODE_CREATE, MPI_MODE_DELETE_ON_CLOSE)), MPI_INFO_NULL, file, ierror)
    CHECK(ierror == MPI_SUCCESS)
  end subroutine

  subroutine shared
    integer :: file, got(2), status(MPI_STATUS_SIZE), n
    integer(MPI_OFFSET_KIND) :: place
    call open_file('fortran-shared', file)
    call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'native', MPI_INFO_NULL, ierror)
    call MPI_File_write_ordered(file, [rank, 10 * rank], 2, MPI_INTEGER, status, ierror)
    call MPI_Get_count(status, MPI_INTEGER, n, ierror)
    CHECK(n == 2)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_File_get_position_shared(file, place, ierror)
    CHECK(place == 2 * size)
    call MPI_File_seek_shared(file, 0_MPI_OFFSET_KIND, MPI_SEEK_SET, ierror)
    call MPI_File_read_ordered_begin(file, got, 2, MPI_INTEGER, ierror)
    call MPI_File_read_ordered_end(file, got, status, ierror)
    CHECK(all(got == [rank, 10 * rank]))
    place = 2 * mod(rank + 1, size)
    call MPI_File_read_at_all_begin(file, place, got, 2, MPI_INTEGER, ierror)
    call MPI_File_read_at_all_end(file, got, status, ierror)
    CHECK(got(2) == 10 * mod(rank + 1, size))
    call MPI_File_write_shared(file, [-1], 1, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
    call MPI_File_close(file, ierror)
    CHECK(ierror == MPI_SUCCESS)
  end subroutine

  subroutine converted
    use conversions
    integer :: file, got(3)
    integer(MPI_ADDRESS_KIND) :: extent
    integer(MPI_OFFSET_KIND) :: bytes, place
    extent = 77
    call MPI_Register_datarep('doubled', check_complement, add_complement, twice, extent, ierror)
    CHECK(ierror == MPI_SUCCESS)
    call MPI_Register_datarep('plain', MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, twice, extent, ierror)
    CHECK(ierror == MPI_SUCCESS)
    call open_file('fortran-converted', file)
    call MPI_File_set_view(file, 0_MPI_OFFSET_KIND, MPI_INTEGER, MPI_INTEGER, 'doubled', MPI_INFO_NULL, ierror)
    CHECK(ierror == MPI_SUCCESS)
    call MPI_File_get_type_extent(file, MPI_INTEGER, extent, ierror)
    CHECK(extent == 8)
    place = 3 * rank
    call MPI_File_write_at_all(file, place, [rank, 5, -7], 3, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
    CHECK(ierror == MPI_SUCCESS)
    call MPI_File_read_at(file, place, got, 3, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
    CHECK(ierror == MPI_SUCCESS .and. all(got == [rank, 5, -7]))
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_File_get_size(file, bytes, ierror)
    CHECK(bytes == 24 * size)
    call MPI_File_close(file, ierror)
  end subroutine
end program
