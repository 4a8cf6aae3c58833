/* The memory of a window is unmapped while the window is there. Whoever accesses it through the
   kernel's copies gets an error of its class, and the window can be freed. */
#include "check.h"
#include <sys/mman.h>

enum { BYTES = 1 << 16 };

int main(int argc, char **argv) {
    int rank, size, number = 5, was;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size > 1);
    void *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED);
    MPI_Win_create(memory, BYTES, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    int next = (rank + 1) % size;
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    CHECK(MPI_Put(&number, 1, MPI_INT, next, 1, 1, MPI_INT, win) == MPI_SUCCESS);
    MPI_Win_unlock(next, win);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(munmap(memory, BYTES) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
    CHECK_CLASS(MPI_Put(&number, 1, MPI_INT, next, 1, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
    CHECK_CLASS(MPI_Get(&was, 1, MPI_INT, next, 1, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
    CHECK_CLASS(MPI_Accumulate(&number, 1, MPI_INT, next, 1, 1, MPI_INT, MPI_SUM, win), MPI_ERR_RMA_RANGE);
    CHECK_CLASS(MPI_Fetch_and_op(&number, &was, MPI_INT, next, 1, MPI_SUM, win), MPI_ERR_RMA_RANGE);
    CHECK(MPI_Win_unlock(next, win) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
    report("window_gone", rank, size);
    MPI_Finalize();
    return 0;
}
