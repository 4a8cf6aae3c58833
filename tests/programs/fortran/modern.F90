! The module mpi_f08: types, sections of arrays, IERROR left out, procedures with interfaces, large
! counts.
#define CHECK(condition) call check(condition, __LINE__)

module helpers
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: copies = 0, handled = 0, freed = 0
contains
  subroutine check(condition, line)
    logical, intent(in) :: condition
    integer, intent(in) :: line
    if (condition) return
    print *, 'failed: line', line
    call MPI_Abort(MPI_COMM_WORLD, 3)
  end subroutine
  subroutine longer(input, inout, length, datatype)
    type(c_ptr), value :: input, inout
    integer :: length
    type(MPI_Datatype) :: datatype
    integer, pointer :: a(:), b(:)
    if (datatype /= MPI_INTEGER) return
    call c_f_pointer(input, a, [length])
    call c_f_pointer(inout, b, [length])
    where (abs(a) > abs(b)) b = a
  end subroutine
  subroutine longer_c(input, inout, length, datatype)
    type(c_ptr), value :: input, inout
    integer(MPI_COUNT_KIND) :: length
    type(MPI_Datatype) :: datatype
    call longer(input, inout, int(length), datatype)
  end subroutine
  subroutine copy_attribute(comm, keyval, extra, value_in, value_out, flag, ierror)
    type(MPI_Comm) :: comm
    integer :: keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra, value_in, value_out
    logical :: flag
    copies = copies + 1
    value_out = value_in + extra
    flag = .true.
    ierror = MPI_SUCCESS
  end subroutine
  subroutine handle_error(comm, code)
    type(MPI_Comm) :: comm
    integer :: code
    if (comm /= MPI_COMM_NULL) handled = handled + 1
  end subroutine
  subroutine query(extra, status, ierror)
    integer(MPI_ADDRESS_KIND) :: extra
    type(MPI_Status) :: status
    integer :: ierror
    call MPI_Status_set_elements(status, MPI_INTEGER, int(extra))
    call MPI_Status_set_cancelled(status, .false.)
    status%MPI_SOURCE = 5
    ierror = MPI_SUCCESS
  end subroutine
  subroutine release(extra, ierror)
    integer(MPI_ADDRESS_KIND) :: extra
    integer :: ierror
    freed = freed + int(extra)
    ierror = MPI_SUCCESS
  end subroutine
  subroutine cancel(extra, complete, ierror)
    integer(MPI_ADDRESS_KIND) :: extra
    logical :: complete
    integer :: ierror
    ierror = MPI_SUCCESS
  end subroutine
end module

program modern
  use helpers
  implicit none
  integer :: rank, ranks, right, left, i, j
  type(MPI_Comm) :: world
  call MPI_Init()
  world = MPI_COMM_WORLD
  call MPI_Comm_rank(world, rank)
  call MPI_Comm_size(world, ranks)
  right = mod(rank + 1, ranks)
  left = mod(rank + ranks - 1, ranks)
  call messages
  call sections
  call sections_of_collectives
  call sections_until_complete
  call sections_of_persistent_collectives
  call sections_refused
  call large_counts
  call procedures
  call memory
  call strings
  call profiling
  call MPI_Finalize()
  if (rank == 0) print '(a, i0, a)', 'modern: ok with ', ranks, ' ranks'
contains
  subroutine messages
    type(MPI_Status) :: status, statuses(2)
    type(MPI_Request) :: requests(2)
    integer :: count, index, old(MPI_STATUS_SIZE), ierror
    integer, asynchronous :: got, value
    value = rank
    call MPI_Sendrecv(value, 1, MPI_INTEGER, right, 3, got, 1, MPI_INTEGER, left, MPI_ANY_TAG, world, status)
    CHECK(got == left .and. status%MPI_SOURCE == left .and. status%MPI_TAG == 3)
    call MPI_Get_count(status, MPI_INTEGER, count, ierror)
    CHECK(count == 1 .and. ierror == MPI_SUCCESS)
    call MPI_Status_f082f(status, old)
    CHECK(old(MPI_SOURCE) == left .and. old(MPI_TAG) == 3)
    old(MPI_TAG) = 9
    call MPI_Status_f2f08(old, status)
    CHECK(status%MPI_TAG == 9)
    call MPI_Irecv(got, 1, MPI_INTEGER, left, 4, world, requests(1))
    call MPI_Isend(value, 1, MPI_INTEGER, right, 4, world, requests(2))
    CHECK(requests(1) /= requests(2) .and. requests(1) /= MPI_REQUEST_NULL)
    call MPI_Waitall(2, requests, statuses)
    call MPI_F_sync_reg(got)
    CHECK(got == left .and. statuses(1)%MPI_TAG == 4 .and. all(requests%MPI_VAL == MPI_REQUEST_NULL%MPI_VAL))
    call MPI_Waitany(2, requests, index, MPI_STATUS_IGNORE)
    CHECK(index == MPI_UNDEFINED)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
  end subroutine

  ! MPI-5.0, 19.1.12.
  subroutine sections
    integer, asynchronous :: a(6, 5), b(6, 5)
    integer :: c(6, 5)
    type(MPI_Request) :: requests(2)
    type(MPI_Datatype) :: pair
    complex, asynchronous :: z(4), w(4)
    CHECK(MPI_SUBARRAYS_SUPPORTED)
    a = reshape([((100 * rank + 10 * i + j, i = 1, 6), j = 1, 5)], [6, 5])
    c = reshape([((100 * left + 10 * i + j, i = 1, 6), j = 1, 5)], [6, 5])
    b = 0
    call MPI_Sendrecv(a(2, :), 5, MPI_INTEGER, right, 1, b(4, :), 5, MPI_INTEGER, left, 1, world, MPI_STATUS_IGNORE)
    CHECK(all(b(4, :) == c(2, :)) .and. all(b([1, 2, 3, 5, 6], :) == 0))
    b = 0
    call MPI_Irecv(b(1:6:2, 2:4), 9, MPI_INTEGER, left, 2, world, requests(1))
    call MPI_Isend(a(6:1:-2, 5:1:-2), 9, MPI_INTEGER, right, 2, world, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call MPI_F_sync_reg(b)
    CHECK(all(b(1:6:2, 2:4) == c(6:1:-2, 5:1:-2)) .and. all(b(2:6:2, :) == 0) .and. all(b(:, [1, 5]) == 0))
    ! Less than the whole section.
    b = 0
    call MPI_Irecv(b(::3, ::2), 5, MPI_INTEGER, left, 3, world, requests(1))
    call MPI_Send(a(::3, ::2), 5, MPI_INTEGER, right, 3, world)
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    call MPI_F_sync_reg(b)
    CHECK(all(b([1, 4], [1, 3]) == c([1, 4], [1, 3])) .and. b(1, 5) == c(1, 5) .and. b(4, 5) == 0)
    ! The datatype is smaller than an element, and larger.
    z = cmplx([(i, i = 1, 4)], rank)
    w = 0
    call MPI_Irecv(w(1:4:3), 4, MPI_REAL, left, 4, world, requests(1))
    call MPI_Isend(z(2:4:2), 4, MPI_REAL, right, 4, world, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call MPI_F_sync_reg(w)
    CHECK(w(1) == cmplx(2, left) .and. w(4) == cmplx(4, left) .and. w(2) == 0 .and. w(3) == 0)
    call MPI_Type_contiguous(2, MPI_INTEGER, pair)
    call MPI_Type_commit(pair)
    b = 0
    call MPI_Irecv(b(5, 1:4), 2, pair, left, 5, world, requests(1))
    call MPI_Isend(a(3, 2:5), 2, pair, right, 5, world, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call MPI_F_sync_reg(b)
    CHECK(all(b(5, 1:4) == c(3, 2:5)) .and. sum(b) == sum(b(5, 1:4)))
    call MPI_Type_free(pair)
  end subroutine

  subroutine sections_of_collectives
    integer, asynchronous :: a(2, 8), all_of(2, ranks)
    type(MPI_Request) :: request
    integer :: counts(ranks), displs(ranks)
    a = -1
    if (rank == 0) a(2, :) = [(i, i = 1, 8)]
    call MPI_Bcast(a(2, :), 8, MPI_INTEGER, 0, world)
    CHECK(all(a(2, :) == [(i, i = 1, 8)]) .and. all(a(1, :) == -1))
    if (rank /= 0) a(2, :) = -1
    call MPI_Ibcast(a(2, 1:8:2), 4, MPI_INTEGER, 0, world, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    call MPI_F_sync_reg(a)
    CHECK(all(a(2, 1:8:2) == [1, 3, 5, 7]))
    a(1, :) = 1
    a(2, :) = 2
    call MPI_Allreduce(MPI_IN_PLACE, a(1, :), 8, MPI_INTEGER, MPI_SUM, world)
    CHECK(all(a(1, :) == ranks) .and. all(a(2, :) == 2))
    all_of = 0
    call MPI_Allgather(rank, 1, MPI_INTEGER, all_of(2, :), 1, MPI_INTEGER, world)
    CHECK(all(all_of(2, :) == [(i, i = 0, ranks - 1)]) .and. all(all_of(1, :) == 0))
    all_of(1, rank + 1) = rank + 7
    call MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all_of(1, :), 1, MPI_INTEGER, world)
    CHECK(all(all_of(1, :) == [(i + 7, i = 0, ranks - 1)]))
    counts = 1
    displs = [(ranks - i, i = 1, ranks)]
    call MPI_Gatherv(rank, 1, MPI_INTEGER, all_of(1, :), counts, displs, MPI_INTEGER, 0, world)
    if (rank == 0) CHECK(all(all_of(1, :) == [(ranks - i, i = 1, ranks)]))
  end subroutine

  ! Collectives that go on after the call: the section is theirs until the request is complete, in
  ! whatever way that is learnt.
  subroutine sections_until_complete
    integer, asynchronous :: a(2, ranks), b(3, ranks), total(2, 4)
    type(MPI_Request) :: requests(2)
    integer :: counts(ranks), displs(ranks), index, done, indices(2)
    logical :: flag
    total(1, :) = rank
    total(2, :) = -1
    call MPI_Iallreduce(MPI_IN_PLACE, total(1, :), 4, MPI_INTEGER, MPI_SUM, world, requests(1))
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
    call MPI_F_sync_reg(total)
    CHECK(all(total(1, :) == sum([(i, i = 0, ranks - 1)])) .and. all(total(2, :) == -1))
    a(1, :) = [(10 * rank + i, i = 0, ranks - 1)]
    a(2, :) = -1
    b = -2
    call MPI_Ialltoall(a(1, :), 1, MPI_INTEGER, b(2, :), 1, MPI_INTEGER, world, requests(1))
    ! The copy is what is sent, but that is no licence: the program may only read.
    CHECK(all(b(1, :) == -2) .and. all(b(3, :) == -2))
    counts = 1
    displs = [(ranks - i, i = 1, ranks)]
    call MPI_Iallgatherv(rank, 1, MPI_INTEGER, b(3, ranks:1:-1), counts, displs, MPI_INTEGER, world, requests(2))
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    call MPI_F_sync_reg(b)
    CHECK(all(b(1, :) == -2) .and. all(b(2, :) == [(10 * i + rank, i = 0, ranks - 1)]))
    CHECK(all(b(3, :) == [(i, i = 0, ranks - 1)]))
    CHECK(requests(1) == MPI_REQUEST_NULL .and. requests(2) == MPI_REQUEST_NULL)
    b = 0
    call MPI_Iallgather(rank, 1, MPI_INTEGER, b(1, :), 1, MPI_INTEGER, world, requests(1))
    flag = .false.
    do while (.not. flag)
      call MPI_Test(requests(1), flag, MPI_STATUS_IGNORE)
    end do
    call MPI_F_sync_reg(b)
    CHECK(all(b(1, :) == [(i, i = 0, ranks - 1)]) .and. all(b(2:, :) == 0))
    call MPI_Iallgather(rank + 1, 1, MPI_INTEGER, b(2, :), 1, MPI_INTEGER, world, requests(1))
    flag = .false.
    do while (.not. flag)
      call MPI_Request_get_status(requests(1), flag, MPI_STATUS_IGNORE)
    end do
    call MPI_F_sync_reg(b)
    CHECK(all(b(2, :) == [(i, i = 1, ranks)]))
    ! Complete for the program since then: what it writes now stays.
    b(2, :) = 5
    requests(2) = MPI_REQUEST_NULL
    call MPI_Waitany(2, requests, index, MPI_STATUS_IGNORE)
    CHECK(index == 1 .and. all(b(2, :) == 5))
    call MPI_Iscatter(a(1, :), 1, MPI_INTEGER, b(1, 1), 1, MPI_INTEGER, 0, world, requests(2))
    call MPI_Waitsome(2, requests, done, indices, MPI_STATUSES_IGNORE)
    call MPI_F_sync_reg(b)
    CHECK(done == 1 .and. indices(1) == 2 .and. b(1, 1) == rank)
  end subroutine

  subroutine sections_of_persistent_collectives
    integer, asynchronous :: a(2, 4), b(2, 4), all_of(2, ranks)
    type(MPI_Request) :: requests(2)
    integer :: round
    b = -1
    all_of = -1
    call MPI_Allreduce_init(a(1, :), b(2, :), 4, MPI_INTEGER, MPI_SUM, world, MPI_INFO_NULL, requests(1))
    call MPI_Allgather_init(a(1, 2), 1, MPI_INTEGER, all_of(2, :), 1, MPI_INTEGER, world, MPI_INFO_NULL, requests(2))
    do round = 1, 3
      a(1, :) = [(round * i, i = 1, 4)]
      a(2, :) = 0
      if (round < 3) then
        call MPI_Start(requests(1))
        call MPI_Start(requests(2))
        call MPI_Wait(requests(2), MPI_STATUS_IGNORE)
        call MPI_Wait(requests(1), MPI_STATUS_IGNORE)
      else
        call MPI_Startall(2, requests)
        call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
      end if
      call MPI_F_sync_reg(b)
      CHECK(all(b(2, :) == [(ranks * round * i, i = 1, 4)]) .and. all(b(1, :) == -1))
      CHECK(all(all_of(2, :) == 2 * round) .and. all(all_of(1, :) == -1))
      b(2, :) = 0
      all_of(2, :) = 0
    end do
    ! Inactive: nothing of it is written any more.
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
    CHECK(all(b(2, :) == 0) .and. all(all_of(2, :) == 0))
    call MPI_Request_free(requests(1))
    call MPI_Request_free(requests(2))
  end subroutine

  ! What keeps its buffer for good, or for every partition.
  subroutine sections_refused
    integer :: a(2, 4), code
    type(MPI_Request) :: request
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN)
    a = 1
    call MPI_Psend_init(a(1, :), 4, 1_MPI_COUNT_KIND, MPI_INTEGER, 0, 0, MPI_COMM_SELF, MPI_INFO_NULL, request, code)
    CHECK(code == MPI_ERR_BUFFER)
    call MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL)
  end subroutine

  subroutine large_counts
    integer(MPI_COUNT_KIND) :: n, count, lower, extent, displs(ranks), counts(ranks)
    integer :: a(3), b(3), all_of(ranks)
    type(MPI_Status) :: status
    type(MPI_Datatype) :: row
    n = 3
    a = [rank, 2, 3]
    call MPI_Sendrecv(a, n, MPI_INTEGER, right, 1, b, n, MPI_INTEGER, left, 1, world, status)
    call MPI_Get_count(status, MPI_INTEGER, count)
    CHECK(count == 3 .and. b(1) == left)
    call MPI_Type_vector(n, 1_MPI_COUNT_KIND, 2_MPI_COUNT_KIND, MPI_INTEGER, row)
    call MPI_Type_get_extent(row, lower, extent)
    call MPI_Type_size(row, count)
    CHECK(lower == 0 .and. extent == 20 .and. count == 12)
    call MPI_Type_free(row)
    counts = 1
    displs = [(int(i, MPI_COUNT_KIND), i = 0, ranks - 1)]
    call MPI_Allgatherv(rank, 1_MPI_COUNT_KIND, MPI_INTEGER, all_of, counts, displs, MPI_INTEGER, world)
    CHECK(all(all_of == [(i, i = 0, ranks - 1)]))
  end subroutine

  subroutine procedures
    type(MPI_Op) :: op
    type(MPI_Errhandler) :: handler
    type(MPI_Comm) :: twin
    type(MPI_Request) :: request
    type(MPI_Status) :: status
    integer :: key, code, n, value
    integer(MPI_ADDRESS_KIND) :: attribute
    logical :: flag
    call MPI_Op_create(longer, .true., op)
    call MPI_Allreduce(-rank - 1, value, 1, MPI_INTEGER, op, world)
    CHECK(value == -ranks)
    call MPI_Op_free(op)
    CHECK(op == MPI_OP_NULL)
#ifndef OP_CREATE_C_MISSING
    call MPI_Op_create_c(longer_c, .true., op)
    call MPI_Allreduce(rank - 10, value, 1_MPI_COUNT_KIND, MPI_INTEGER, op, world)
    CHECK(value == -10)
    call MPI_Op_free(op)
#endif
    call MPI_Comm_create_keyval(copy_attribute, MPI_COMM_NULL_DELETE_FN, key, 5_MPI_ADDRESS_KIND)
    call MPI_Comm_set_attr(world, key, 10_MPI_ADDRESS_KIND)
    call MPI_Comm_dup(world, twin)
    call MPI_Comm_get_attr(twin, key, attribute, flag)
    CHECK(flag .and. attribute == 15 .and. copies == 1)
    call MPI_Comm_free(twin)
    call MPI_Comm_free_keyval(key)
    call MPI_Comm_create_errhandler(handle_error, handler)
    call MPI_Comm_set_errhandler(world, handler)
    call MPI_Send(value, 1, MPI_INTEGER, ranks, 0, world, code)
    CHECK(handled == 1)
#ifndef CODE_LOST_BEHIND_HANDLER
    CHECK(code /= MPI_SUCCESS)
#endif
    call MPI_Comm_set_errhandler(world, MPI_ERRORS_ARE_FATAL)
    call MPI_Errhandler_free(handler)
    call MPI_Grequest_start(query, release, cancel, 6_MPI_ADDRESS_KIND, request)
    call MPI_Grequest_complete(request)
    call MPI_Wait(request, status)
    call MPI_Get_elements(status, MPI_INTEGER, n)
    CHECK(n == 6 .and. status%MPI_SOURCE == 5 .and. freed == 6)
  end subroutine

  subroutine memory
    type(c_ptr) :: place, attached
    integer, pointer :: values(:)
    integer, target :: room(500)
    integer :: bytes, got
    integer(MPI_ADDRESS_KIND) :: address
    double precision :: d
    call MPI_Alloc_mem(40_MPI_ADDRESS_KIND, MPI_INFO_NULL, place)
    call c_f_pointer(place, values, [10])
    values = 3
    CHECK(sum(values) == 30)
    call MPI_Free_mem(values)
    call MPI_Buffer_attach(room, 2000)
    call MPI_Bsend(rank, 1, MPI_INTEGER, right, 8, world)
    call MPI_Recv(got, 1, MPI_INTEGER, left, 8, world, MPI_STATUS_IGNORE)
    call MPI_Buffer_detach(attached, bytes)
    call MPI_Get_address(room, address)
    CHECK(got == left .and. bytes == 2000 .and. transfer(attached, address) == address)
    call MPI_Sizeof(d, bytes)
    CHECK(bytes == 8)
    call MPI_Sizeof(room, bytes)
    CHECK(bytes == 4)
  end subroutine

  subroutine strings
    character(len=MPI_MAX_OBJECT_NAME) :: name
    character(len=3) :: parts(4)
    character(len=20) :: packed
    integer :: length
    integer(MPI_ADDRESS_KIND) :: position
    type(MPI_Datatype) :: datatype
    call MPI_Type_dup(MPI_REAL, datatype)
    call MPI_Type_set_name(datatype, 'single   ')
    call MPI_Type_get_name(datatype, name, length)
    CHECK(name == 'single' .and. length == 6 .and. datatype /= MPI_REAL)
    call MPI_Type_free(datatype)
    CHECK(datatype == MPI_DATATYPE_NULL)
    parts = ['abc', 'def', 'ghi', 'jkl']
    call MPI_Bcast(parts(1:4:2), 6, MPI_CHARACTER, 0, world)
    position = 0
    call MPI_Pack_external('external32', parts(2:4:2), 6, MPI_CHARACTER, packed, 20_MPI_ADDRESS_KIND, position)
    CHECK(position == 6 .and. packed(1:6) == 'defjkl')
  end subroutine

  subroutine profiling
    integer :: total
    call PMPI_Allreduce(1, total, 1, MPI_INTEGER, MPI_SUM, world)
    CHECK(total == ranks .and. PMPI_Wtime() > 0)
  end subroutine
end program
