! Collectives, reductions of Fortran's types, operations of the program. In both older styles.
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

! The longer of two intervals, as pairs: commutes, and is of no predefined operation.
subroutine longer(input, inout, length, datatype)
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: length, datatype, i
  double precision :: input(2, length), inout(2, length)
  integer :: pair_bytes, ierror
  call MPI_Type_size(datatype, pair_bytes, ierror)
  if (pair_bytes /= 16) return
  do i = 1, length
    if (input(2, i) - input(1, i) > inout(2, i) - inout(1, i)) inout(:, i) = input(:, i)
  end do
end subroutine

program collect
  USE_MPI
  implicit none
  INCLUDE_MPI
  external :: longer
  integer :: rank, ranks, ierror, i
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  call moves
  call in_place
  call types
  call pairs
  call own_operation
  call by_type
  call nonblocking
  call parametrised
  call MPI_Finalize(ierror)
  if (rank == 0) print '(a, i0, a)', 'collect: ok with ', ranks, ' ranks'
contains
  subroutine moves
    integer :: all_of(ranks), mine, counts(ranks), displs(ranks), many(ranks * (ranks + 1) / 2), own(rank + 1), out(ranks)
    double precision :: d(2)
    character(len=12) :: text
    d = merge([1.5d0, 2.5d0], [0d0, 0d0], rank == 0)
    call MPI_Bcast(d, 2, MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, ierror)
    CHECK(d(1) == 1.5d0 .and. d(2) == 2.5d0)
    text = merge('hello, world', '            ', rank == ranks - 1)
    call MPI_Bcast(text, 12, MPI_CHARACTER, ranks - 1, MPI_COMM_WORLD, ierror)
    CHECK(text == 'hello, world')
    all_of = -1
    call MPI_Gather(rank * 3, 1, MPI_INTEGER, all_of, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    if (rank == 0) CHECK(all(all_of == [(3 * i, i = 0, ranks - 1)]))
    call MPI_Scatter(all_of, 1, MPI_INTEGER, mine, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierror)
    CHECK(mine == 3 * rank)
    call MPI_Allgather(rank + 1, 1, MPI_INTEGER, all_of, 1, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    CHECK(all(all_of == [(i, i = 1, ranks)]))
    counts = [(i, i = 1, ranks)]
    displs = [(i * (i - 1) / 2, i = 1, ranks)]
    own = rank
    call MPI_Allgatherv(own, rank + 1, MPI_INTEGER, many, counts, displs, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    CHECK(all(many(displs + counts) == [(i, i = 0, ranks - 1)]))
    call MPI_Alltoall([(100 * rank + i, i = 1, ranks)], 1, MPI_INTEGER, out, 1, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    CHECK(all(out == [(100 * i + rank + 1, i = 0, ranks - 1)]))
    call MPI_Exscan(1, mine, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    if (rank > 0) CHECK(mine == rank)
    call MPI_Scan(2, mine, 1, MPI_INTEGER, MPI_PROD, MPI_COMM_WORLD, ierror)
    CHECK(mine == 2 ** (rank + 1))
    call MPI_Reduce_scatter_block([(i, i = 1, ranks)], mine, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    CHECK(mine == (rank + 1) * ranks)
  end subroutine

  subroutine in_place
    integer :: values(ranks), total(2)
    total = [rank, 1]
    call MPI_Allreduce(MPI_IN_PLACE, total, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
    CHECK(total(1) == ranks * (ranks - 1) / 2 .and. total(2) == ranks)
    values = 0
    values(rank + 1) = rank + 5
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, 1, MPI_INTEGER, MPI_COMM_WORLD, ierror)
    CHECK(all(values == [(i + 4, i = 1, ranks)]))
    total = rank
    if (rank == 0) then
      call MPI_Reduce(MPI_IN_PLACE, total, 2, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD, ierror)
      CHECK(all(total == ranks - 1))
    else
      call MPI_Reduce(total, MPI_BOTTOM, 2, MPI_INTEGER, MPI_MAX, 0, MPI_COMM_WORLD, ierror)
    end if
  end subroutine

  subroutine types
    logical :: yes, no, each, any_of
    complex :: c, c_sum
    complex(kind(1d0)) :: z, z_prod
    integer(1) :: i1
    integer(2) :: i2
    integer(8) :: i8
    real :: r
    yes = .true.
    no = rank == ranks
    call MPI_Allreduce(yes, each, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierror)
    call MPI_Allreduce(no, any_of, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, ierror)
    CHECK(each .and. .not. any_of)
    call MPI_Allreduce(rank == 0, each, 1, MPI_LOGICAL, MPI_LXOR, MPI_COMM_WORLD, ierror)
    CHECK(each)
    c = (1.0, 2.0)
    call MPI_Allreduce(c, c_sum, 1, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD, ierror)
    CHECK(c_sum == ranks * c)
    z = (0d0, 1d0)
    call MPI_Allreduce(z, z_prod, 1, MPI_DOUBLE_COMPLEX, MPI_PROD, MPI_COMM_WORLD, ierror)
    CHECK(z_prod == z ** ranks)
    i1 = 1
    call MPI_Allreduce(MPI_IN_PLACE, i1, 1, MPI_INTEGER1, MPI_SUM, MPI_COMM_WORLD, ierror)
    i2 = int(rank, 2)
    call MPI_Allreduce(MPI_IN_PLACE, i2, 1, MPI_INTEGER2, MPI_BOR, MPI_COMM_WORLD, ierror)
    i8 = 2_8 ** 40 + rank
    call MPI_Allreduce(MPI_IN_PLACE, i8, 1, MPI_INTEGER8, MPI_MIN, MPI_COMM_WORLD, ierror)
    CHECK(i1 == ranks .and. i8 == 2_8 ** 40)
    CHECK(i2 == merge(0, merge(1, 3, ranks == 2), ranks == 1))
    r = 0.5
    call MPI_Allreduce(MPI_IN_PLACE, r, 1, MPI_REAL, MPI_SUM, MPI_COMM_WORLD, ierror)
    CHECK(r == 0.5 * ranks)
    r = 1.0
    call MPI_Allreduce(MPI_IN_PLACE, r, 1, MPI_REAL4, MPI_MAX, MPI_COMM_WORLD, ierror)
    CHECK(r == 1.0)
  end subroutine

  subroutine pairs
    integer :: who(2), lowest(2)
    double precision :: at(2), highest(2)
    who = [mod(rank + 1, ranks), rank]
    call MPI_Allreduce(who, lowest, 1, MPI_2INTEGER, MPI_MINLOC, MPI_COMM_WORLD, ierror)
    CHECK(lowest(1) == 0 .and. lowest(2) == ranks - 1)
    at = [dble(rank) / 2, dble(rank)]
    call MPI_Allreduce(at, highest, 1, MPI_2DOUBLE_PRECISION, MPI_MAXLOC, MPI_COMM_WORLD, ierror)
    CHECK(highest(1) == (ranks - 1) / 2d0 .and. highest(2) == ranks - 1)
  end subroutine

  subroutine own_operation
    integer :: op, pair, round
    logical :: commutes
    double precision :: mine(2, 3), longest(2, 3)
    call MPI_Type_contiguous(2, MPI_DOUBLE_PRECISION, pair, ierror)
    call MPI_Type_commit(pair, ierror)
    ! The same procedure again and again takes one place only.
    do round = 1, 200
      call MPI_Op_create(longer, .true., op, ierror)
      if (round < 200) call MPI_Op_free(op, ierror)
    end do
    call MPI_Op_commutative(op, commutes, ierror)
    CHECK(commutes)
    mine = reshape([(1d0 * i, dble(i + rank), i = 1, 3)], [2, 3])
    call MPI_Allreduce(mine, longest, 3, pair, op, MPI_COMM_WORLD, ierror)
    CHECK(all(longest(2, :) - longest(1, :) == ranks - 1) .and. longest(1, 3) == 3d0)
    call MPI_Op_free(op, ierror)
    CHECK(op == MPI_OP_NULL)
    call MPI_Type_free(pair, ierror)
  end subroutine

  subroutine by_type
    integer :: counts(ranks), displs(ranks), types(ranks), out(ranks), mine(ranks)
    counts = 1
    displs = [(4 * (i - 1), i = 1, ranks)]
    types = MPI_INTEGER
    mine = [(10 * rank + i, i = 1, ranks)]
    call MPI_Alltoallw(mine, counts, displs, types, out, counts, displs, types, MPI_COMM_WORLD, ierror)
    CHECK(all(out == [(10 * i + rank + 1, i = 0, ranks - 1)]))
    call MPI_Alltoallw(MPI_IN_PLACE, counts, displs, types, mine, counts, displs, types, MPI_COMM_WORLD, ierror)
    CHECK(all(mine == out))
  end subroutine

  subroutine nonblocking
    integer :: request(3), total, value, counts(ranks), displs(ranks), types(ranks), out(ranks), mine(ranks)
    integer(MPI_ADDRESS_KIND) :: anywhere
    value = rank
    call MPI_Iallreduce(value, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request(1), ierror)
    call MPI_Ibarrier(MPI_COMM_WORLD, request(2), ierror)
    counts = 1
    displs = [(4 * (i - 1), i = 1, ranks)]
    types = MPI_INTEGER
    mine = [(10 * rank + i, i = 1, ranks)]
    call MPI_Ialltoallw(mine, counts, displs, types, out, counts, displs, types, MPI_COMM_WORLD, request(3), ierror)
    call MPI_Waitall(3, request, MPI_STATUSES_IGNORE, ierror)
    SYNC_REG(total)
    SYNC_REG(out)
    CHECK(total == ranks * (ranks - 1) / 2)
    CHECK(all(out == [(10 * i + rank + 1, i = 0, ranks - 1)]))
  end subroutine

  ! MPI-5.0, 19.1.9.
  subroutine parametrised
    integer, parameter :: wp = selected_real_kind(15, 307), wi = selected_int_kind(12)
    integer :: real_type, integer_type, complex_type, bytes, named
    real(wp) :: x
    integer(wi) :: n
    call MPI_Type_create_f90_real(15, 307, real_type, ierror)
    call MPI_Type_create_f90_integer(12, integer_type, ierror)
    call MPI_Type_create_f90_complex(15, 307, complex_type, ierror)
    x = 0.25_wp
    call MPI_Allreduce(MPI_IN_PLACE, x, 1, real_type, MPI_SUM, MPI_COMM_WORLD, ierror)
    n = 10_wi ** 11
    call MPI_Allreduce(MPI_IN_PLACE, n, 1, integer_type, MPI_SUM, MPI_COMM_WORLD, ierror)
    call MPI_Type_size(complex_type, bytes, ierror)
    CHECK(x == 0.25_wp * ranks .and. n == 10_wi ** 11 * ranks .and. bytes == 16)
    call MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, named, ierror)
    call MPI_Type_size(named, bytes, ierror)
    CHECK(bytes == 8)
  end subroutine
end program
