! Objects: communicators, groups, attributes, error handlers, infos, topologies, generalized
! requests, strings, files. In both older styles.
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
  integer :: copies = 0, deletions = 0, handled = 0, freed = 0, last_code = 0
contains
  subroutine copy_attribute(comm, keyval, extra, value_in, value_out, flag, ierror)
    integer :: comm, keyval, ierror
    integer(MPI_ADDRESS_KIND) :: extra, value_in, value_out
    logical :: flag
    copies = copies + 1
    value_out = value_in + extra
    flag = value_in > 0
    ierror = MPI_SUCCESS
  end subroutine
  subroutine delete_attribute(comm, keyval, value, extra, ierror)
    integer :: comm, keyval, ierror
    integer(MPI_ADDRESS_KIND) :: value, extra
    deletions = deletions + 1
    ierror = MPI_SUCCESS
    if (extra /= 1000) ierror = MPI_ERR_OTHER
  end subroutine
  subroutine handle_error(comm, code)
    integer :: comm, code
    handled = handled + merge(1, 100, comm /= MPI_COMM_NULL)
    last_code = code
  end subroutine
  subroutine query(extra, status, ierror)
    integer(MPI_ADDRESS_KIND) :: extra
    integer :: status(MPI_STATUS_SIZE), ierror
    call MPI_Status_set_elements(status, MPI_INTEGER, int(extra), ierror)
    call MPI_Status_set_cancelled(status, .false., ierror)
    status(MPI_SOURCE) = 5
    status(MPI_TAG) = 6
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

program objects
  USE_MPI
  use callbacks, only: copies, deletions, handled, freed, last_code, copy_attribute, delete_attribute, &
      handle_error, query, release, cancel
  implicit none
  INCLUDE_MPI
  integer :: rank, ranks, ierror, provided, i
  call MPI_Init_thread(MPI_THREAD_FUNNELED, provided, ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  CHECK(provided >= MPI_THREAD_FUNNELED)
  call communicators
  call attributes
  call error_handlers
  call infos
  call strings
  call grids
  call graphs
  call generalized
  call files
  call MPI_Finalize(ierror)
  if (rank == 0) print '(a, i0, a)', 'objects: ok with ', ranks, ' ranks'
contains
  subroutine communicators
    integer :: half, n, group, part, ranges(3, 1), result, members(1), theirs(1), request, twin, merged
    logical :: flag
    call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), -rank, half, ierror)
    call MPI_Comm_size(half, n, ierror)
    CHECK(n == (ranks + 1 - mod(rank, 2)) / 2)
    call MPI_Comm_compare(half, MPI_COMM_WORLD, result, ierror)
    CHECK(ranks == 1 .or. result == MPI_UNEQUAL)
    call MPI_Comm_group(MPI_COMM_WORLD, group, ierror)
    ranges(:, 1) = [0, ranks - 1, 2]
    call MPI_Group_range_incl(group, 1, ranges, part, ierror)
    call MPI_Group_size(part, n, ierror)
    CHECK(n == (ranks + 1) / 2)
    members = 0
    call MPI_Group_translate_ranks(part, 1, members, group, theirs, ierror)
    CHECK(theirs(1) == 0)
    call MPI_Group_rank(part, n, ierror)
    CHECK(merge(n == rank / 2, n == MPI_UNDEFINED, mod(rank, 2) == 0))
    call MPI_Group_free(part, ierror)
    call MPI_Group_free(group, ierror)
    CHECK(group == MPI_GROUP_NULL)
    call MPI_Comm_idup(MPI_COMM_WORLD, twin, request, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call MPI_Comm_test_inter(twin, flag, ierror)
    CHECK(.not. flag)
    if (ranks > 1) then
      call MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, other_leader(), 7, merged, ierror)
      call MPI_Comm_test_inter(merged, flag, ierror)
      CHECK(flag)
      call MPI_Comm_free(merged, ierror)
    end if
    call MPI_Comm_free(twin, ierror)
    call MPI_Comm_free(half, ierror)
    CHECK(half == MPI_COMM_NULL)
  end subroutine

  ! The lowest key leads: the highest rank of the other half.
  integer function other_leader()
    other_leader = ranks - 1
    if (mod(ranks - 1, 2) == mod(rank, 2)) other_leader = ranks - 2
  end function

  subroutine attributes
    integer :: key, twin, datatype
    integer(MPI_ADDRESS_KIND) :: value
    logical :: flag
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, value, flag, ierror)
    CHECK(flag .and. value >= 32767)
    call MPI_Comm_create_keyval(copy_attribute, delete_attribute, key, 1000_MPI_ADDRESS_KIND, ierror)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, key, 2_MPI_ADDRESS_KIND ** 40, ierror)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, key, value, flag, ierror)
    CHECK(flag .and. value == 2_MPI_ADDRESS_KIND ** 40)
    call MPI_Comm_dup(MPI_COMM_WORLD, twin, ierror)
    call MPI_Comm_get_attr(twin, key, value, flag, ierror)
    CHECK(copies == 1 .and. flag .and. value == 2_MPI_ADDRESS_KIND ** 40 + 1000)
    call MPI_Comm_free(twin, ierror)
    CHECK(deletions == 1)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, key, -1_MPI_ADDRESS_KIND, ierror)
    CHECK(deletions == 2)
    call MPI_Comm_dup(MPI_COMM_WORLD, twin, ierror)
    call MPI_Comm_get_attr(twin, key, value, flag, ierror)
    CHECK(copies == 2 .and. .not. flag)
    call MPI_Comm_free(twin, ierror)
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, key, ierror)
    CHECK(deletions == 3)
    call MPI_Comm_free_keyval(key, ierror)
    CHECK(key == MPI_KEYVAL_INVALID)
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND, ierror)
    call MPI_Comm_set_attr(MPI_COMM_WORLD, key, 77_MPI_ADDRESS_KIND, ierror)
    call MPI_Comm_dup(MPI_COMM_WORLD, twin, ierror)
    call MPI_Comm_delete_attr(MPI_COMM_WORLD, key, ierror)
    call MPI_Comm_get_attr(twin, key, value, flag, ierror)
    CHECK(flag .and. value == 77)
    call MPI_Comm_free(twin, ierror)
    call MPI_Comm_free_keyval(key, ierror)
    call MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, key, 0_MPI_ADDRESS_KIND, ierror)
    call MPI_Type_dup(MPI_INTEGER, datatype, ierror)
    call MPI_Type_set_attr(datatype, key, 5_MPI_ADDRESS_KIND, ierror)
    call MPI_Type_get_attr(datatype, key, value, flag, ierror)
    CHECK(flag .and. value == 5)
    call MPI_Type_free(datatype, ierror)
    call MPI_Type_free_keyval(key, ierror)
  end subroutine

  subroutine error_handlers
    integer :: handler, now, code, class, length
    character(len=MPI_MAX_ERROR_STRING) :: text
    call MPI_Comm_create_errhandler(handle_error, handler, ierror)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler, ierror)
    call MPI_Send(rank, 1, MPI_INTEGER, ranks + 5, 0, MPI_COMM_WORLD, code)
    CHECK(handled == 1 .and. last_code /= MPI_SUCCESS)
#ifdef CODE_LOST_BEHIND_HANDLER
    code = last_code
#else
    CHECK(code == last_code)
#endif
    call MPI_Error_class(code, class, ierror)
    CHECK(class == MPI_ERR_RANK)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, ierror)
    call MPI_Send(rank, 1, MPI_INTEGER, 0, -5, MPI_COMM_WORLD, code)
    call MPI_Error_class(code, class, ierror)
    CHECK(handled == 1 .and. class == MPI_ERR_TAG)
    text = repeat('x', MPI_MAX_ERROR_STRING)
    call MPI_Error_string(code, text, length, ierror)
    CHECK(length > 3 .and. len_trim(text) == length)
    call MPI_Comm_get_errhandler(MPI_COMM_WORLD, now, ierror)
    CHECK(now == MPI_ERRORS_RETURN)
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL, ierror)
    call MPI_Errhandler_free(handler, ierror)
    CHECK(handler == MPI_ERRHANDLER_NULL)
    call MPI_Add_error_class(class, ierror)
    call MPI_Add_error_code(class, code, ierror)
    call MPI_Add_error_string(code, 'ours   ', ierror)
    call MPI_Error_string(code, text, length, ierror)
    CHECK(length == 4 .and. text == 'ours')
  end subroutine

  subroutine infos
    integer :: info, n, length
    character(len=20) :: value
    character(len=4) :: short
    character(len=MPI_MAX_INFO_KEY) :: key
    logical :: flag
    call MPI_Info_create(info, ierror)
    call MPI_Info_set(info, '  first  ', '  one two  ', ierror)
    call MPI_Info_get_nkeys(info, n, ierror)
    call MPI_Info_get_nthkey(info, 0, key, ierror)
    CHECK(n == 1 .and. key == 'first')
    call MPI_Info_get(info, 'first', 20, value, flag, ierror)
    CHECK(flag .and. value == 'one two')
    call MPI_Info_get_valuelen(info, 'first', length, flag, ierror)
    CHECK(flag .and. length == 7)
    value = 'as before'
    call MPI_Info_get(info, 'second', 20, value, flag, ierror)
    CHECK(.not. flag .and. value == 'as before')
    length = 0
    call MPI_Info_get_string(info, 'first', length, value, flag, ierror)
    CHECK(flag .and. length == 7 .and. value == 'as before')
    length = 20
    call MPI_Info_get_string(info, 'first', length, value, flag, ierror)
    CHECK(flag .and. length == 7 .and. value == 'one two')
    length = 4
    call MPI_Info_get_string(info, 'first', length, short, flag, ierror)
    CHECK(flag .and. length == 7 .and. short == 'one ')
    call MPI_Info_delete(info, 'first', ierror)
    call MPI_Info_free(info, ierror)
    CHECK(info == MPI_INFO_NULL)
  end subroutine

  subroutine strings
    character(len=MPI_MAX_OBJECT_NAME) :: name
    character(len=6) :: short
    character(len=MPI_MAX_LIBRARY_VERSION_STRING) :: version
    integer :: length, major, minor
    call MPI_Comm_set_name(MPI_COMM_WORLD, 'everybody   ', ierror)
    call MPI_Comm_get_name(MPI_COMM_WORLD, name, length, ierror)
    CHECK(length == 9 .and. name == 'everybody')
    call MPI_Comm_get_name(MPI_COMM_WORLD, short, length, ierror)
    CHECK(short == 'everyb')
    call MPI_Type_get_name(MPI_INTEGER, name, length, ierror)
    CHECK(name == 'MPI_INTEGER' .and. length == 11)
    call MPI_Get_library_version(version, length, ierror)
    CHECK(length == len_trim(version))
    call MPI_Get_version(major, minor, ierror)
    CHECK(major >= 4 .and. major <= 5)
    CHECK(MPI_Wtime() > 0 .and. MPI_Wtick() > 0)
  end subroutine

  subroutine grids
    integer :: grid, dims(2), coords(2), rank_of, from, to, line, n, status
    logical :: periods(2), kept(2)
    dims = 0
    call MPI_Dims_create(ranks, 2, dims, ierror)
    periods = [.true., .false.]
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, .false., grid, ierror)
    call MPI_Topo_test(grid, status, ierror)
    CHECK(status == MPI_CART)
    kept = .false.
    call MPI_Cart_get(grid, 2, dims, kept, coords, ierror)
    CHECK(kept(1) .and. .not. kept(2) .and. product(dims) == ranks)
    call MPI_Cart_rank(grid, coords, rank_of, ierror)
    CHECK(rank_of == rank)
    call MPI_Cart_shift(grid, 1, 1, from, to, ierror)
    CHECK((coords(2) == dims(2) - 1) .eqv. (to == MPI_PROC_NULL))
    call MPI_Cart_sub(grid, [.true., .false.], line, ierror)
    call MPI_Comm_size(line, n, ierror)
    CHECK(n == dims(1))
    call MPI_Comm_free(line, ierror)
    call MPI_Comm_free(grid, ierror)
  end subroutine

  subroutine graphs
    integer :: ring, in_of, out_of, sources(1), destinations(1), weights(1), got(1)
    logical :: weighted
    sources = mod(rank + ranks - 1, ranks)
    destinations = mod(rank + 1, ranks)
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, MPI_UNWEIGHTED, 1, destinations, &
        MPI_UNWEIGHTED, MPI_INFO_NULL, .false., ring, ierror)
    call MPI_Dist_graph_neighbors_count(ring, in_of, out_of, weighted, ierror)
    CHECK(in_of == 1 .and. out_of == 1 .and. .not. weighted)
    sources = -1
    call MPI_Dist_graph_neighbors(ring, 1, sources, MPI_UNWEIGHTED, 1, destinations, MPI_UNWEIGHTED, ierror)
    CHECK(sources(1) == mod(rank + ranks - 1, ranks))
    call MPI_Neighbor_allgather(rank, 1, MPI_INTEGER, got, 1, MPI_INTEGER, ring, ierror)
    CHECK(got(1) == sources(1))
    call MPI_Comm_free(ring, ierror)
    weights = 3
    call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, sources, weights, 1, destinations, weights, &
        MPI_INFO_NULL, .false., ring, ierror)
    call MPI_Dist_graph_neighbors_count(ring, in_of, out_of, weighted, ierror)
    CHECK(weighted)
    call MPI_Comm_free(ring, ierror)
  end subroutine

  subroutine generalized
    integer :: request, status(MPI_STATUS_SIZE), n
    logical :: flag
    call MPI_Grequest_start(query, release, cancel, 42_MPI_ADDRESS_KIND, request, ierror)
    call MPI_Test(request, flag, status, ierror)
    CHECK(.not. flag)
    call MPI_Grequest_complete(request, ierror)
    call MPI_Wait(request, status, ierror)
    call MPI_Get_elements(status, MPI_INTEGER, n, ierror)
    CHECK(status(MPI_SOURCE) == 5 .and. status(MPI_TAG) == 6 .and. n == 42 .and. freed == 42)
    CHECK(request == MPI_REQUEST_NULL)
  end subroutine

  subroutine files
    integer :: file, status(MPI_STATUS_SIZE), n, got(3), amode
    integer(MPI_OFFSET_KIND) :: place, size
    call MPI_File_open(MPI_COMM_SELF, file_name(), ior(MPI_MODE_RDWR, ior(MPI_MODE_CREATE, MPI_MODE_DELETE_ON_CLOSE)), &
        MPI_INFO_NULL, file, ierror)
    CHECK(ierror == MPI_SUCCESS)
    place = 4
    call MPI_File_write_at(file, place, [rank, 2, 3], 3, MPI_INTEGER, status, ierror)
    call MPI_Get_count(status, MPI_INTEGER, n, ierror)
    CHECK(n == 3)
    call MPI_File_read_at(file, place, got, 3, MPI_INTEGER, MPI_STATUS_IGNORE, ierror)
    CHECK(all(got == [rank, 2, 3]))
    call MPI_File_get_size(file, size, ierror)
    call MPI_File_get_amode(file, amode, ierror)
    CHECK(size == 16 .and. iand(amode, MPI_MODE_RDWR) /= 0)
    call MPI_File_close(file, ierror)
    CHECK(file == MPI_FILE_NULL)
  end subroutine

  character(len=200) function file_name()
    character(len=160) :: folder
    call get_environment_variable('FORTRAN_TEST_DIR', folder)
    write (file_name, '(a, a, i0)') trim(folder), '/fortran-file.', rank
  end function
end program
