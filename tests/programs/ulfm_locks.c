/* Locks of a window in a job that loses a process (ULFM). WAY: lives (one that lives holds the
   lock, and the dead one has nothing to do with it), held (the dead one holds the lock). */
#include "deaths.h"

/* The last rank but one has the lock, and its neighbour holds it. */
static int target, holder;

static MPI_Win window(int **memory) {
    MPI_Win win;
    CHECK(MPI_Win_allocate(4096, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, memory, &win) == MPI_SUCCESS);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    **memory = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    return win;
}

/* Waits until the death is known. */
static void hear(void) {
    int count = 0;
    while (count == 0)
        CHECK(MPIX_Comm_ack_failed(MPI_COMM_WORLD, size, &count) == MPI_SUCCESS);
}

/* Whoever wants the lock of one that lives gets it, however many have died. */
static void lives(void) {
    int *memory, value = 42, got = 0;
    MPI_Win win = window(&memory);
    if (rank == holder)
        CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win) == MPI_SUCCESS);
    let_die();
    hear();
    for (int turn = 0; turn < 3; turn++) {
        if (rank == holder) {
            if (turn > 0)
                CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win) == MPI_SUCCESS);
            usleep(300000);
            CHECK(MPI_Put(&value, 1, MPI_INT, target, 0, 1, MPI_INT, win) == MPI_SUCCESS);
        } else {
            int code = MPI_Win_lock(turn == 1 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, target, 0, win);
            CHECK(code == MPI_SUCCESS);
            if (code != MPI_SUCCESS)
                return;
            CHECK(MPI_Get(&got, 1, MPI_INT, target, 0, 1, MPI_INT, win) == MPI_SUCCESS);
            usleep(20000);
        }
        CHECK(MPI_Win_unlock(target, win) == MPI_SUCCESS);
        CHECK(rank == holder || turn > 0 || got == value);
    }
}

/* Nobody gets a lock that a dead one holds, and everybody hears of that; other locks are free. */
static void held(void) {
    int *memory;
    MPI_Win win = window(&memory);
    if (rank == victim)
        CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win) == MPI_SUCCESS);
    let_die();
    for (int turn = 0; turn < 2; turn++)
        CHECK(is(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win), MPIX_ERR_PROC_FAILED));
    for (int other = 0; other < target; other++) {
        CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, win) == MPI_SUCCESS);
        usleep(20000);
        CHECK(MPI_Win_unlock(other, win) == MPI_SUCCESS);
    }
    hear();
}

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "";
    begin(&argc, &argv);
    target = victim - 1;
    holder = target - 1;
    if (!strcmp(way, "lives"))
        lives();
    else if (!strcmp(way, "held"))
        held();
    else
        CHECK(!"a way that is known");
    report("ulfm_locks", rank, size);
    MPI_Finalize();
    return 0;
}
