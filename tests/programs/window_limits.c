/* An accumulate of a process that may map no more memory happens, or fails and says so. */
#include "check.h"
#include <sys/mman.h>

#define PAGES 70000

int main(int argc, char **argv) {
    int rank, size, seven = 7, code = MPI_SUCCESS, swapped = MPI_SUCCESS;
    volatile int *memory;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    memory[0] = memory[1] = 0;
    MPI_Win_fence(0, win);
    if (rank == 1) {
        size_t page = 4096;
        int zero = 0, former = 1;
        char *pages = mmap(0, PAGES * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        CHECK(pages != MAP_FAILED);
        for (size_t i = 0; i < PAGES; i += 2)
            if (mprotect(pages + page * i, page, PROT_READ) != 0)
                break;
        code = MPI_Accumulate(&seven, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
        swapped = MPI_Compare_and_swap(&seven, &zero, &former, MPI_INT, 0, 1, win);
        munmap(pages, PAGES * page);
    }
    MPI_Win_fence(0, win);
    MPI_Bcast(&code, 1, MPI_INT, 1, MPI_COMM_WORLD);
    MPI_Bcast(&swapped, 1, MPI_INT, 1, MPI_COMM_WORLD);
    if (rank == 0) {
        CHECK(memory[0] == 7 || (class_of(code) == MPI_ERR_NO_MEM && memory[0] == 0));
        CHECK(memory[1] == 7 || (class_of(swapped) == MPI_ERR_NO_MEM && memory[1] == 0));
    }
    MPI_Win_free(&win);
    MPI_Finalize();
    report("window_limits", rank, size);
    return 0;
}
