! Windows: making them, attributes, names, hints, operations and synchronisation. In both older
! styles.
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

! Procedures that MPI calls, and what they saw.
module callbacks
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: deletions = 0, handled = 0
contains
  subroutine delete_attribute(win, keyval, value, extra, ierror)
    integer :: win, keyval, ierror
    integer(MPI_ADDRESS_KIND) :: value, extra
    deletions = deletions + int(extra)
    ierror = MPI_SUCCESS
  end subroutine
  subroutine handle_error(win, code)
    integer :: win, code
    handled = handled + merge(1, 100, win /= MPI_WIN_NULL)
  end subroutine
end module

program windows
  USE_MPI
  implicit none
  INCLUDE_MPI
  integer :: ierror, rank, size

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  call objects
  call operations
  call groups
  call dynamic
  if (rank == 0) print '(a, i0, a)', 'windows: ok with ', size, ' ranks'
  call MPI_Finalize(ierror)

contains

  subroutine objects
    use callbacks
    integer :: win, keyval, handler, length, info
    integer(MPI_ADDRESS_KIND) :: bytes, value, base, extra
    integer :: memory(16)
    logical :: flag
    character(MPI_MAX_OBJECT_NAME) :: name
    character(10) :: text
    bytes = 64
    call MPI_Win_create(memory, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
    CHECK(ierror == MPI_SUCCESS)
    call MPI_Win_get_attr(win, MPI_WIN_SIZE, value, flag, ierror)
    CHECK(flag .and. value == 64)
    call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, value, flag, ierror)
    CHECK(flag .and. value == 4)
    call MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, value, flag, ierror)
    CHECK(flag .and. value == MPI_WIN_FLAVOR_CREATE)
    call MPI_Win_get_attr(win, MPI_WIN_MODEL, value, flag, ierror)
    CHECK(flag .and. value == MPI_WIN_UNIFIED)
    call MPI_Win_get_attr(win, MPI_WIN_BASE, value, flag, ierror)
    call MPI_Get_address(memory, base, ierror)
    CHECK(flag .and. value == base)
    call MPI_Win_set_name(win, 'pane  ', ierror)
    call MPI_Win_get_name(win, name, length, ierror)
    CHECK(length == 4 .and. name == 'pane')
    call MPI_Win_get_info(win, info, ierror)
    call MPI_Info_get(info, 'no_locks', 10, text, flag, ierror)
    CHECK(flag .and. text == 'false')
    call MPI_Win_set_info(win, info, ierror)
    call MPI_Info_free(info, ierror)
    extra = 3
    call MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_attribute, keyval, extra, ierror)
    value = 77
    call MPI_Win_set_attr(win, keyval, value, ierror)
    value = 0
    call MPI_Win_get_attr(win, keyval, value, flag, ierror)
    CHECK(flag .and. value == 77)
    call MPI_Win_create_errhandler(handle_error, handler, ierror)
    call MPI_Win_set_errhandler(win, handler, ierror)
    call MPI_Errhandler_free(handler, ierror)
    call MPI_Win_lock(MPI_LOCK_SHARED, size, 0, win, ierror)
    CHECK(handled == 1)
#ifndef CODE_LOST_BEHIND_HANDLER
    CHECK(ierror /= MPI_SUCCESS)
#endif
    call MPI_Win_free(win, ierror)
    CHECK(win == MPI_WIN_NULL .and. deletions == 3)
    call MPI_Win_free_keyval(keyval, ierror)
  end subroutine

  subroutine operations
    integer :: win, number, got, target, next, request, status(MPI_STATUS_SIZE)
    integer(MPI_ADDRESS_KIND) :: bytes, at, place
    target = mod(rank + 1, size)
    bytes = 64
    call MPI_Win_allocate(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, place, win, ierror)
    CHECK(ierror == MPI_SUCCESS .and. place /= 0)
    at = 3
    number = 10 * rank
    call MPI_Win_fence(MPI_MODE_NOPRECEDE, win, ierror)
    call MPI_Put(number, 1, MPI_INTEGER, target, at, 1, MPI_INTEGER, win, ierror)
    call MPI_Win_fence(0, win, ierror)
    call MPI_Get(got, 1, MPI_INTEGER, rank, at, 1, MPI_INTEGER, win, ierror)
    call MPI_Win_fence(0, win, ierror)
    CHECK(got == 10 * mod(rank + size - 1, size))
    at = 0
    call MPI_Accumulate(1, 1, MPI_INTEGER, 0, at, 1, MPI_INTEGER, MPI_SUM, win, ierror)
    call MPI_Win_fence(MPI_MODE_NOSUCCEED, win, ierror)
    call MPI_Win_lock_all(0, win, ierror)
    call MPI_Fetch_and_op(number, got, MPI_INTEGER, 0, at, MPI_NO_OP, win, ierror)
    call MPI_Win_flush(0, win, ierror)
    CHECK(got == size)
    at = 1
    do
      next = rank + 1
      call MPI_Compare_and_swap(next, rank, got, MPI_INTEGER, 0, at, win, ierror)
      call MPI_Win_flush(0, win, ierror)
      if (got == rank) exit
    end do
    call MPI_Win_unlock_all(win, ierror)
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win, ierror)
    at = 5
    number = 7
    call MPI_Rput(number, 1, MPI_INTEGER, target, at, 1, MPI_INTEGER, win, request, ierror)
    call MPI_Wait(request, status, ierror)
    call MPI_Win_flush(target, win, ierror)
    call MPI_Get_accumulate(number, 1, MPI_INTEGER, got, 1, MPI_INTEGER, target, at, 1, MPI_INTEGER, &
                            MPI_PROD, win, ierror)
    call MPI_Win_flush(target, win, ierror)
    CHECK(got == 7)
    call MPI_Rget(got, 1, MPI_INTEGER, target, at, 1, MPI_INTEGER, win, request, ierror)
    call MPI_Wait(request, status, ierror)
    CHECK(got == 49)
    call MPI_Win_unlock(target, win, ierror)
    call MPI_Win_free(win, ierror)
  end subroutine

  subroutine groups
    integer :: win, group, unit
    integer, asynchronous :: memory(4)
    integer(MPI_ADDRESS_KIND) :: bytes, at, place, mine, anywhere
    logical :: flag
    memory = -1
    bytes = 16
    at = 2
    call MPI_Win_create(memory, bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
    call MPI_Win_get_group(win, group, ierror)
    call MPI_Win_post(group, 0, win, ierror)
    call MPI_Win_start(group, 0, win, ierror)
    call MPI_Put(rank, 1, MPI_INTEGER, mod(rank + 1, size), at, 1, MPI_INTEGER, win, ierror)
    call MPI_Win_complete(win, ierror)
    flag = .false.
    do while (.not. flag)
      call MPI_Win_test(win, flag, ierror)
    end do
    SYNC_REG(memory)
    CHECK(memory(3) == mod(rank + size - 1, size))
    call MPI_Group_free(group, ierror)
    call MPI_Win_free(win, ierror)
    call MPI_Win_allocate_shared(bytes, 4, MPI_INFO_NULL, MPI_COMM_WORLD, mine, win, ierror)
    call MPI_Win_shared_query(win, rank, bytes, unit, place, ierror)
    CHECK(bytes == 16 .and. unit == 4 .and. place == mine)
    call MPI_Win_lock_all(0, win, ierror)
    call MPI_Win_sync(win, ierror)
    CHECK(ierror == MPI_SUCCESS)
    call MPI_Win_unlock_all(win, ierror)
    call MPI_Win_free(win, ierror)
  end subroutine

  subroutine dynamic
    integer :: win, memory(4), number
    integer(MPI_ADDRESS_KIND) :: bytes, mine, places(64)
    memory = 0
    bytes = 16
    call MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, win, ierror)
    call MPI_Win_attach(win, memory, bytes, ierror)
    CHECK(ierror == MPI_SUCCESS)
    call MPI_Get_address(memory(2), mine, ierror)
    call MPI_Allgather(mine, 1, MPI_AINT, places, 1, MPI_AINT, MPI_COMM_WORLD, ierror)
    number = 1
    call MPI_Win_fence(0, win, ierror)
    call MPI_Accumulate(number, 1, MPI_INTEGER, 0, places(1), 1, MPI_INTEGER, MPI_SUM, win, ierror)
    call MPI_Win_fence(MPI_MODE_NOSUCCEED, win, ierror)
    call MPI_Get_address(memory, mine, ierror)
    CHECK(rank /= 0 .or. memory(2) == size)
    call MPI_Win_detach(win, memory, ierror)
    CHECK(ierror == MPI_SUCCESS)
    call MPI_Win_free(win, ierror)
  end subroutine

end program
