/* window_memory BYTES [WHO]: asks for a window of so many bytes a rank, more than a limit allows
   (the rank WHO alone, if it is a number). Every rank hears of it, and short windows can still be
   made. If WHO is "alloc", the same holds of MPI_Alloc_mem, which may take memory that no limit
   counts before it is used; if it is "fatal", the first failure ends the job, and says why. */
#include "check.h"

static int rank, size;

/* A short window works. */
static void check_short(void) {
    int *memory, next = (rank + 1) % size;
    MPI_Win win;
    CHECK(MPI_Win_allocate(4096, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win) == MPI_SUCCESS);
    memory[0] = -1;
    MPI_Win_fence(0, win);
    MPI_Put(&rank, 1, MPI_INT, next, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    CHECK(memory[0] == (rank + size - 1) % size);
    MPI_Win_free(&win);
}

int main(int argc, char **argv) {
    char *memory;
    MPI_Win win = MPI_WIN_NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc > 1);
    const char *who = argc > 2 ? argv[2] : "all";
    MPI_Aint asked = (MPI_Aint)atoll(argv[1]);
    int is_fatal = strcmp(who, "fatal") == 0, is_number = '0' <= *who && *who <= '9';
    MPI_Aint bytes = !is_number || atoi(who) == rank ? asked : 64;
    if (!is_fatal)
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int times = 0; times < 3; times++) {
        CHECK_CLASS(MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win), MPI_ERR_NO_MEM);
        CHECK(win == MPI_WIN_NULL);
        check_short();
    }
    if (strcmp(who, "alloc") == 0) {
        CHECK_CLASS(MPI_Alloc_mem(bytes, MPI_INFO_NULL, &memory), MPI_ERR_NO_MEM);
        check_short();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    report("window_memory", rank, size);
    MPI_Finalize();
    return 0;
}
