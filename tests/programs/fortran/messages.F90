! Messages: point to point, statuses, requests, datatypes, addresses. In both older styles.
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

program messages
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: rank, ranks, right, left, ierror
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  right = mod(rank + 1, ranks)
  left = mod(rank + ranks - 1, ranks)
  call statuses
  call requests
  call persistent
  call nobody
  call datatypes
  call bottom
  call packing
  call buffered
  call MPI_Finalize(ierror)
  if (rank == 0) print '(a, i0, a)', 'messages: ok with ', ranks, ' ranks'
contains
  subroutine statuses
    integer :: status(MPI_STATUS_SIZE), count, values(10), got(10), i, request
    logical :: flag
    values = [(100 * rank + i, i = 1, 10)]
    got = -1
    call MPI_Sendrecv(values, 7, MPI_INTEGER, right, 11, got, 10, MPI_INTEGER, left, MPI_ANY_TAG, &
        MPI_COMM_WORLD, status, ierror)
    CHECK(ierror == MPI_SUCCESS)
    CHECK(status(MPI_SOURCE) == left .and. status(MPI_TAG) == 11)
    CHECK(all(got(1:7) == [(100 * left + i, i = 1, 7)]) .and. all(got(8:10) == -1))
    call MPI_Get_count(status, MPI_INTEGER, count, ierror)
    CHECK(count == 7)
    call MPI_Get_count(status, MPI_DOUBLE_PRECISION, count, ierror)
    CHECK(count == MPI_UNDEFINED)
    call MPI_Get_elements(status, MPI_BYTE, count, ierror)
    CHECK(count == 28)
    call MPI_Test_cancelled(status, flag, ierror)
    CHECK(.not. flag)
    call MPI_Isend(values, 3, MPI_INTEGER, right, 12, MPI_COMM_WORLD, request, ierror)
    call MPI_Probe(left, 12, MPI_COMM_WORLD, status, ierror)
    call MPI_Get_count(status, MPI_INTEGER, count, ierror)
    CHECK(count == 3)
    call MPI_Iprobe(MPI_ANY_SOURCE, 12, MPI_COMM_WORLD, flag, MPI_STATUS_IGNORE, ierror)
    CHECK(flag)
    call MPI_Recv(got, 10, MPI_INTEGER, left, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    CHECK(request == MPI_REQUEST_NULL)
    CHECK(got(3) == 100 * left + 3)
  end subroutine

  ! Indices count from 1.
  subroutine requests
    integer :: request(4), statuses(MPI_STATUS_SIZE, 4), status(MPI_STATUS_SIZE), index, done, indices(4), got(4), i
    logical :: flag, seen(4)
    do i = 1, 4
      call MPI_Irecv(got(i), 1, MPI_INTEGER, left, 20 + i, MPI_COMM_WORLD, request(i), ierror)
    end do
    call MPI_Testany(4, request, index, flag, status, ierror)
    CHECK(.not. flag .and. index == MPI_UNDEFINED)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_Send(rank, 1, MPI_INTEGER, right, 23, MPI_COMM_WORLD, ierror)
    call MPI_Waitany(4, request, index, status, ierror)
    CHECK(index == 3 .and. status(MPI_TAG) == 23 .and. got(3) == left)
    CHECK(request(3) == MPI_REQUEST_NULL .and. request(1) /= MPI_REQUEST_NULL)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    do i = 1, 4
      if (i /= 3) call MPI_Send(rank + i, 1, MPI_INTEGER, right, 20 + i, MPI_COMM_WORLD, ierror)
    end do
    seen = .false.
    do while (.not. all(seen([1, 2, 4])))
      call MPI_Waitsome(4, request, done, indices, statuses, ierror)
      CHECK(done >= 1 .and. done <= 3)
      do i = 1, done
        seen(indices(i)) = .true.
        CHECK(statuses(MPI_TAG, i) == 20 + indices(i) .and. got(indices(i)) == left + indices(i))
      end do
    end do
    call MPI_Waitsome(4, request, done, indices, MPI_STATUSES_IGNORE, ierror)
    CHECK(done == MPI_UNDEFINED)
    do i = 1, 2
      call MPI_Irecv(got(i), 1, MPI_INTEGER, left, i, MPI_COMM_WORLD, request(i), ierror)
      call MPI_Isend(rank, 1, MPI_INTEGER, right, i, MPI_COMM_WORLD, request(i + 2), ierror)
    end do
    call MPI_Waitall(4, request, statuses, ierror)
    CHECK(all(request == MPI_REQUEST_NULL))
    CHECK(all(statuses(MPI_SOURCE, 1:2) == left) .and. statuses(MPI_TAG, 2) == 2)
    flag = .false.
    call MPI_Testall(4, request, flag, MPI_STATUSES_IGNORE, ierror)
    CHECK(flag)
    call MPI_Irecv(got, 1, MPI_INTEGER, left, 99, MPI_COMM_WORLD, request(1), ierror)
    call MPI_Cancel(request(1), ierror)
    call MPI_Wait(request(1), status, ierror)
    call MPI_Test_cancelled(status, flag, ierror)
    CHECK(flag)
  end subroutine

  subroutine persistent
    integer :: request(2), round, got, value
    integer(MPI_ADDRESS_KIND) :: anywhere
    call MPI_Send_init(value, 1, MPI_INTEGER, right, 31, MPI_COMM_WORLD, request(1), ierror)
    call MPI_Recv_init(got, 1, MPI_INTEGER, left, 31, MPI_COMM_WORLD, request(2), ierror)
    do round = 1, 3
      value = round * 1000 + rank
      ! Without this the compiler may keep the value in a register: Startall does not name it
      ! (MPI-5.0, 19.1.17).
      SYNC_REG(value)
      call MPI_Startall(2, request, ierror)
      call MPI_Waitall(2, request, MPI_STATUSES_IGNORE, ierror)
      SYNC_REG(got)
      CHECK(got == round * 1000 + left)
      CHECK(request(1) /= MPI_REQUEST_NULL)
    end do
    call MPI_Request_free(request(1), ierror)
    call MPI_Request_free(request(2), ierror)
    CHECK(all(request == MPI_REQUEST_NULL))
  end subroutine

  subroutine nobody
    integer :: status(MPI_STATUS_SIZE), value, count
    value = 5
    call MPI_Sendrecv_replace(value, 1, MPI_INTEGER, MPI_PROC_NULL, 1, MPI_PROC_NULL, 1, MPI_COMM_WORLD, status, ierror)
    call MPI_Get_count(status, MPI_INTEGER, count, ierror)
    CHECK(value == 5 .and. count == 0 .and. status(MPI_SOURCE) == MPI_PROC_NULL .and. status(MPI_TAG) == MPI_ANY_TAG)
  end subroutine

  subroutine datatypes
    type particle
      sequence
      double precision :: place(3)
      integer :: sort, padding
    end type
    type(particle) :: mine, theirs
    integer :: types(2), lengths(2), pair, row, matrix(4, 3), other(4, 3), i, j, n, sizes(2), part(2), start(2), block
    integer :: integers(10), datatypes_of(4), addresses_n, datatypes_n, combiner
    integer(MPI_ADDRESS_KIND) :: places(2), base, lower, extent, addresses(4)
#ifdef AINT_UNDECLARED
    integer(MPI_ADDRESS_KIND), external :: MPI_Aint_add, MPI_Aint_diff
#endif
    call MPI_Get_address(mine, base, ierror)
    call MPI_Get_address(mine%place, places(1), ierror)
    call MPI_Get_address(mine%sort, places(2), ierror)
    places = [MPI_Aint_diff(places(1), base), MPI_Aint_diff(places(2), base)]
    CHECK(places(1) == 0 .and. places(2) == 24 .and. MPI_Aint_add(base, places(2)) == base + 24)
    types = [MPI_DOUBLE_PRECISION, MPI_INTEGER]
    lengths = [3, 1]
    call MPI_Type_create_struct(2, lengths, places, types, pair, ierror)
    call MPI_Type_commit(pair, ierror)
    mine = particle([rank + 0.5d0, 2d0, 3d0], rank, 0)
    call MPI_Sendrecv(mine, 1, pair, right, 1, theirs, 1, pair, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    CHECK(theirs%place(1) == left + 0.5d0 .and. theirs%sort == left)
    call MPI_Type_get_envelope(pair, n, addresses_n, datatypes_n, combiner, ierror)
    CHECK(n == 3 .and. addresses_n == 2 .and. datatypes_n == 2 .and. combiner == MPI_COMBINER_STRUCT)
    call MPI_Type_get_contents(pair, 10, 4, 4, integers, addresses, datatypes_of, ierror)
    CHECK(integers(1) == 2 .and. addresses(2) == 24 .and. datatypes_of(1) == MPI_DOUBLE_PRECISION)
    call MPI_Type_free(pair, ierror)
    CHECK(pair == MPI_DATATYPE_NULL)
    ! A row of a matrix, whose columns lie one after another.
    call MPI_Type_vector(3, 1, 4, MPI_INTEGER, row, ierror)
    call MPI_Type_commit(row, ierror)
    matrix = reshape([((100 * rank + 10 * i + j, i = 1, 4), j = 1, 3)], [4, 3])
    other = 0
    call MPI_Sendrecv(matrix(2, 1), 1, row, right, 2, other(3, 1), 1, row, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    CHECK(all(other(3, :) == [(100 * left + 20 + j, j = 1, 3)]) .and. all(other([1, 2, 4], :) == 0))
    call MPI_Type_size(row, n, ierror)
    call MPI_Type_get_extent(row, lower, extent, ierror)
    CHECK(n == 12 .and. lower == 0 .and. extent == 36)
    call MPI_Type_free(row, ierror)
    sizes = [4, 3]
    part = [2, 2]
    start = [1, 1]
    call MPI_Type_create_subarray(2, sizes, part, start, MPI_ORDER_FORTRAN, MPI_INTEGER, block, ierror)
    call MPI_Type_commit(block, ierror)
    other = 0
    call MPI_Sendrecv(matrix, 1, block, right, 3, other, 1, block, left, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    CHECK(all(other(2:3, 2:3) == matrix(2:3, 2:3) + 100 * (left - rank)) .and. sum(other) == sum(other(2:3, 2:3)))
    call MPI_Type_free(block, ierror)
  end subroutine

  subroutine bottom
    integer :: value, datatype, got, lengths(1)
    integer(MPI_ADDRESS_KIND) :: places(1)
    value = rank + 7
    got = -1
    call MPI_Get_address(value, places(1), ierror)
    lengths = 1
    call MPI_Type_create_hindexed(1, lengths, places, MPI_INTEGER, datatype, ierror)
    call MPI_Type_commit(datatype, ierror)
    call MPI_Sendrecv(MPI_BOTTOM, 1, datatype, right, 4, got, 1, MPI_INTEGER, left, 4, MPI_COMM_WORLD, &
        MPI_STATUS_IGNORE, ierror)
    CHECK(got == left + 7)
    call MPI_Type_free(datatype, ierror)
  end subroutine

  subroutine packing
    character(len=100) :: room
    integer :: position, n, needed
    double precision :: d
    integer(MPI_ADDRESS_KIND) :: place, size
    position = 0
    call MPI_Pack_size(1, MPI_INTEGER, MPI_COMM_WORLD, needed, ierror)
    call MPI_Pack(rank, 1, MPI_INTEGER, room, 100, position, MPI_COMM_WORLD, ierror)
    CHECK(position <= needed .and. position >= 4)
    call MPI_Pack(2.25d0, 1, MPI_DOUBLE_PRECISION, room, 100, position, MPI_COMM_WORLD, ierror)
    call MPI_Sendrecv_replace(room, position, MPI_PACKED, right, 5, left, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    position = 0
    call MPI_Unpack(room, 100, position, n, 1, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    call MPI_Unpack(room, 100, position, d, 1, MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, ierror)
    CHECK(n == left .and. d == 2.25d0)
    call MPI_Pack_external_size('external32', 1, MPI_INTEGER, size, ierror)
    CHECK(size == 4)
    place = 0
    size = 100
    call MPI_Pack_external('external32  ', 258, 1, MPI_INTEGER, room, size, place, ierror)
    CHECK(place == 4 .and. room(1:4) == char(0) // char(0) // char(1) // char(2))
  end subroutine

  subroutine buffered
    integer :: room(1000), value, got, bytes
    call MPI_Buffer_attach(room, 4000, ierror)
    value = rank
    call MPI_Bsend(value, 1, MPI_INTEGER, right, 6, MPI_COMM_WORLD, ierror)
    call MPI_Recv(got, 1, MPI_INTEGER, left, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    CHECK(got == left)
    call MPI_Buffer_detach(room, bytes, ierror)
    CHECK(bytes == 4000)
  end subroutine
end program
