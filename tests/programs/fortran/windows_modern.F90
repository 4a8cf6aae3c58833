! Windows with the module mpi_f08: types, pointers of C, large counts, sections of arrays.
#define CHECK(condition) call check(condition, __LINE__)

program windows_modern
  use mpi_f08
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: rank, size

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  call allocated
  call shared
  call created
  if (rank == 0) print '(a, i0, a)', 'windows_modern: ok with ', size, ' ranks'
  call MPI_Finalize()

contains

  subroutine check(condition, line)
    logical, intent(in) :: condition
    integer, intent(in) :: line
    if (condition) return
    print *, 'failed: line', line
    call MPI_Abort(MPI_COMM_WORLD, 3)
  end subroutine

  subroutine allocated
    type(MPI_Win) :: win
    type(MPI_Request) :: request
    type(c_ptr) :: place
    integer, pointer :: memory(:)
    integer :: got
    call MPI_Win_allocate(32_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, place, win)
    call c_f_pointer(place, memory, [8])
    memory = rank
    call MPI_Barrier(MPI_COMM_WORLD)
    call MPI_Win_lock_all(0, win)
    call MPI_Rget(got, 1, MPI_INTEGER, mod(rank + 1, size), 2_MPI_ADDRESS_KIND, 1, MPI_INTEGER, win, request)
    call MPI_Wait(request, MPI_STATUS_IGNORE)
    CHECK(got == mod(rank + 1, size))
    call MPI_Win_unlock_all(win)
    call MPI_Win_free(win)
    CHECK(win == MPI_WIN_NULL)
  end subroutine

  subroutine shared
    type(MPI_Win) :: win
    type(c_ptr) :: place
    integer(MPI_ADDRESS_KIND) :: bytes
    integer :: unit
    integer, pointer :: mine, other
    call MPI_Win_allocate_shared(4_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, place, win)
    call c_f_pointer(place, mine)
    call MPI_Win_fence(0, win)
    mine = 5 * rank
    call MPI_Win_fence(0, win)
    call MPI_Win_shared_query(win, mod(rank + 1, size), bytes, unit, place)
    CHECK(bytes == 4 .and. unit == 4)
    call c_f_pointer(place, other)
    CHECK(other == 5 * mod(rank + 1, size))
    call MPI_Win_fence(MPI_MODE_NOSUCCEED, win)
    call MPI_Win_free(win)
  end subroutine

  subroutine created
    type(MPI_Win) :: win
    integer, asynchronous :: memory(10), back(20)
    memory = -1
    back = -1
    call MPI_Win_create(memory, 40_MPI_ADDRESS_KIND, 4, MPI_INFO_NULL, MPI_COMM_WORLD, win)
    call MPI_Win_fence(0, win)
    call MPI_Put([rank, rank + 1], 2_MPI_COUNT_KIND, MPI_INTEGER, mod(rank + 1, size), 4_MPI_ADDRESS_KIND, &
                 2_MPI_COUNT_KIND, MPI_INTEGER, win)
    call MPI_Win_fence(0, win)
    CHECK(memory(5) == mod(rank + size - 1, size) .and. memory(6) == memory(5) + 1)
    call MPI_Get(back, 10, MPI_INTEGER, rank, 0_MPI_ADDRESS_KIND, 10, MPI_INTEGER, win)
    call MPI_Win_fence(MPI_MODE_NOSUCCEED, win)
    CHECK(all(back(1:10) == memory) .and. all(back(11:) == -1))
    call MPI_Win_free(win)
  end subroutine

end program
