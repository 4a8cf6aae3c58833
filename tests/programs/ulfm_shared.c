/* Windows and files in a job that loses a process (ULFM). The argument says what is tried; the last
   rank dies. */
#include "deaths.h"

static MPI_Win window(int **memory) {
    MPI_Win win;
    CHECK(MPI_Win_allocate(4096, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, memory, &win) == MPI_SUCCESS);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    return win;
}

/* Waits until the death is known, so that what follows meets a process that is known to be dead. */
static void hear(void) {
    int count = 0;
    while (count == 0)
        CHECK(MPIX_Comm_ack_failed(MPI_COMM_WORLD, size, &count) == MPI_SUCCESS);
}

static void fence(void) {
    int *memory, value = 1;
    MPI_Win win = window(&memory);
    CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
    CHECK(MPI_Put(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, win) == MPI_SUCCESS);
    let_die();
    CHECK(is(MPI_Win_fence(0, win), MPIX_ERR_PROC_FAILED));
    hear();
    /* No epoch is open any more. */
    CHECK(MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win) == MPI_SUCCESS && MPI_Win_unlock(rank, win) == MPI_SUCCESS);
    /* Again, now that it is known, and freeing is collective as well. */
    CHECK(is(MPI_Win_fence(0, win), MPIX_ERR_PROC_FAILED));
    CHECK(is(MPI_Win_free(&win), MPIX_ERR_PROC_FAILED));
}

enum { ACCESS, WAIT, TEST };

static void pscw(int way) {
    int *memory, ends[1] = {victim};
    MPI_Win win = window(&memory);
    MPI_Group world, dead;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, ends, &dead);
    let_die();
    int code;
    if (way == ACCESS) {
        code = MPI_Win_start(dead, 0, win);
        if (code == MPI_SUCCESS)
            code = MPI_Win_complete(win);
    } else {
        int is_over = 0;
        code = MPI_Win_post(dead, 0, win);
        if (code == MPI_SUCCESS && way == WAIT)
            code = MPI_Win_wait(win);
        while (code == MPI_SUCCESS && !is_over)
            code = MPI_Win_test(win, &is_over);
    }
    CHECK(is(code, MPIX_ERR_PROC_FAILED));
    /* The exposure has ended with that, and those that come have no end. */
    if (way != ACCESS)
        CHECK(is(MPI_Win_wait(win), MPI_ERR_RMA_SYNC));
    hear();
    if (way != ACCESS) {
        CHECK(is(MPI_Win_post(dead, 0, win), MPIX_ERR_PROC_FAILED));
        CHECK(is(MPI_Win_free(&win), MPIX_ERR_PROC_FAILED));
    }
    MPI_Group_free(&world);
    MPI_Group_free(&dead);
}

/* Tells another rank to go on, or waits until it does. */
static void tell(int other) {
    CHECK(MPI_Send(NULL, 0, MPI_INT, other, 7, MPI_COMM_WORLD) == MPI_SUCCESS);
}

static void await(int other) {
    CHECK(MPI_Recv(NULL, 0, MPI_INT, other, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

/* The dead one and rank 1 have access to the memory of rank 0. If the dead one has completed it,
   its death is none of the exposure's; if not, the exposure ends with an error. Rank 1 has access
   all the same until it completes, and when it has there may be another one. */
static void access_of_two(int completes) {
    int *memory, value = 1, is_over = 0, code = MPI_SUCCESS, both[2] = {1, victim}, first[1] = {0}, other[1] = {1};
    MPI_Win win = window(&memory);
    MPI_Group world, origins, target, living;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 2, both, &origins);
    MPI_Group_incl(world, 1, first, &target);
    MPI_Group_incl(world, 1, other, &living);
    if (rank == 0)
        CHECK(MPI_Win_post(origins, 0, win) == MPI_SUCCESS);
    if (rank == 1 || rank == victim) {
        CHECK(MPI_Win_start(target, 0, win) == MPI_SUCCESS);
        CHECK(MPI_Put(&value, 1, MPI_INT, 0, rank, 1, MPI_INT, win) == MPI_SUCCESS);
        if (rank == victim && completes)
            CHECK(MPI_Win_complete(win) == MPI_SUCCESS);
    }
    let_die();
    hear();
    if (rank == 0) {
        for (int turn = 0; turn < 1000 && completes; turn++)
            CHECK(MPI_Win_test(win, &is_over) == MPI_SUCCESS && !is_over);
        while (code == MPI_SUCCESS && !is_over && !completes)
            code = MPI_Win_test(win, &is_over);
        CHECK(completes || is(code, MPIX_ERR_PROC_FAILED));
        /* Rank 1 has access: nobody may lock the memory, or have it by another exposure. */
        CHECK(completes || is(MPI_Win_post(living, 0, win), MPIX_ERR_PROC_FAILED));
        tell(2);
        await(2);
        tell(1);
        if (completes)
            CHECK(MPI_Win_wait(win) == MPI_SUCCESS && memory[1] == 1 && memory[victim] == 1);
        await(1);
        CHECK(MPI_Win_post(living, 0, win) == MPI_SUCCESS && MPI_Win_wait(win) == MPI_SUCCESS && memory[1] == 2);
        CHECK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win) == MPI_SUCCESS && MPI_Win_unlock(0, win) == MPI_SUCCESS);
    } else if (rank == 1) {
        await(0);
        CHECK(MPI_Win_complete(win) == MPI_SUCCESS);
        tell(0);
        value = 2;
        CHECK(MPI_Win_start(target, 0, win) == MPI_SUCCESS);
        CHECK(MPI_Put(&value, 1, MPI_INT, 0, 1, 1, MPI_INT, win) == MPI_SUCCESS);
        CHECK(MPI_Win_complete(win) == MPI_SUCCESS);
    } else if (rank == 2) {
        await(0);
        CHECK(is(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPI_ERR_RMA_SYNC));
        tell(0);
    }
    MPI_Group_free(&world);
    MPI_Group_free(&origins);
    MPI_Group_free(&target);
    MPI_Group_free(&living);
}

/* An operation on the dead one may end well, where its memory can be reached; the flush after it
   does not. */
static void ends(int code, MPI_Win win) {
    if (code == MPI_SUCCESS)
        code = MPI_Win_flush(victim, win);
    CHECK(is(code, MPIX_ERR_PROC_FAILED));
}

/* All kinds of operations on the dead one, within an epoch. */
static void operate_on_dead(MPI_Win win) {
    int value = 1, got = -1;
    ends(MPI_Get(&got, 1, MPI_INT, victim, 0, 1, MPI_INT, win), win);
    ends(MPI_Put(&got, 1, MPI_INT, victim, 0, 1, MPI_INT, win), win);
    ends(MPI_Accumulate(&value, 1, MPI_INT, victim, 1, 1, MPI_INT, MPI_SUM, win), win);
    ends(MPI_Fetch_and_op(&value, &got, MPI_INT, victim, 1, MPI_SUM, win), win);
}

/* Operations on one that lives end well, and so do the calls that finish them. */
static void operate_on_living(MPI_Win win) {
    int value = 7 + rank, got = -1, next = (rank + 1) % victim;
    CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win) == MPI_SUCCESS);
    CHECK(MPI_Put(&value, 1, MPI_INT, next, 0, 1, MPI_INT, win) == MPI_SUCCESS);
    CHECK(MPI_Win_flush(next, win) == MPI_SUCCESS);
    CHECK(MPI_Get(&got, 1, MPI_INT, next, 0, 1, MPI_INT, win) == MPI_SUCCESS);
    CHECK(MPI_Win_flush_all(win) == MPI_SUCCESS && got == value);
    CHECK(MPI_Win_unlock(next, win) == MPI_SUCCESS);
    CHECK(MPI_Win_lock_all(0, win) == MPI_SUCCESS);
    CHECK(MPI_Put(&value, 1, MPI_INT, next, 0, 1, MPI_INT, win) == MPI_SUCCESS);
    CHECK(MPI_Win_flush_all(win) == MPI_SUCCESS && MPI_Win_unlock_all(win) == MPI_SUCCESS);
}

static void operate(MPI_Win win) {
    operate_on_living(win);
    for (int type = 0; type < 2; type++)
        CHECK(is(MPI_Win_lock(type ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, victim, 0, win), MPIX_ERR_PROC_FAILED));
    CHECK(is(MPI_Win_lock(MPI_LOCK_SHARED, victim, MPI_MODE_NOCHECK, win), MPIX_ERR_PROC_FAILED));
    CHECK(MPI_Win_lock_all(0, win) == MPI_SUCCESS);
    operate_on_dead(win);
    int code = MPI_Win_unlock_all(win);
    CHECK(code == MPI_SUCCESS || is(code, MPIX_ERR_PROC_FAILED));
    operate_on_living(win);
}

enum { WINDOWS = 3 };

/* In memory that ranks of a node share, and in memory of the program. */
static void windows(MPI_Win *wins) {
    static int own[2][16];
    int *memory;
    wins[0] = window(&memory);
    for (int i = 0; i < 2; i++) {
        MPI_Win_create(own[i], sizeof own[i], sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &wins[i + 1]);
        MPI_Win_set_errhandler(wins[i + 1], MPI_ERRORS_RETURN);
    }
}

/* The dead one's memory was accessed before in one of the windows. */
static void operations(void) {
    int value = 1;
    MPI_Win wins[WINDOWS];
    windows(wins);
    CHECK(MPI_Win_fence(0, wins[1]) == MPI_SUCCESS);
    CHECK(MPI_Put(&value, 1, MPI_INT, victim, 2 + rank, 1, MPI_INT, wins[1]) == MPI_SUCCESS);
    CHECK(MPI_Win_fence(MPI_MODE_NOSUCCEED, wins[1]) == MPI_SUCCESS);
    let_die();
    hear();
    for (int i = 0; i < WINDOWS; i++)
        operate(wins[i]);
}

enum { LOCK, LOCK_UNCHECKED, LOCK_ALL, LOCK_ALL_UNCHECKED };

/* The dead one dies in an epoch of the others, who have accessed it. */
static void dies_in_epoch(int way) {
    int value = 1, unchecked = way == LOCK_UNCHECKED || way == LOCK_ALL_UNCHECKED ? MPI_MODE_NOCHECK : 0;
    int of_one = way == LOCK || way == LOCK_UNCHECKED;
    MPI_Win wins[WINDOWS];
    windows(wins);
    for (int i = 0; i < WINDOWS && rank != victim; i++) {
        int code = of_one ? MPI_Win_lock(MPI_LOCK_SHARED, victim, unchecked, wins[i])
                          : MPI_Win_lock_all(unchecked, wins[i]);
        CHECK(code == MPI_SUCCESS);
        CHECK(MPI_Put(&value, 1, MPI_INT, victim, rank, 1, MPI_INT, wins[i]) == MPI_SUCCESS);
        CHECK(MPI_Win_flush(victim, wins[i]) == MPI_SUCCESS && MPI_Win_flush_all(wins[i]) == MPI_SUCCESS);
    }
    let_die();
    hear();
    for (int i = 0; i < WINDOWS; i++) {
        operate_on_dead(wins[i]);
        CHECK(is(MPI_Win_flush(victim, wins[i]), MPIX_ERR_PROC_FAILED));
        CHECK(is(MPI_Win_flush_all(wins[i]), MPIX_ERR_PROC_FAILED));
        int code = of_one ? MPI_Win_unlock(victim, wins[i]) : MPI_Win_unlock_all(wins[i]);
        CHECK(is(code, MPIX_ERR_PROC_FAILED));
        /* The epoch has ended with that. */
        operate(wins[i]);
    }
}

/* The dead one has exposed its memory, and dies before the others complete their access. */
static void dies_exposed(void) {
    int value = 1, ends[1] = {victim};
    MPI_Win wins[WINDOWS];
    MPI_Group world, dead, living;
    windows(wins);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, ends, &dead);
    MPI_Group_excl(world, 1, ends, &living);
    for (int i = 0; i < WINDOWS; i++) {
        if (rank == victim)
            CHECK(MPI_Win_post(living, 0, wins[i]) == MPI_SUCCESS);
        else {
            CHECK(MPI_Win_start(dead, 0, wins[i]) == MPI_SUCCESS);
            CHECK(MPI_Put(&value, 1, MPI_INT, victim, rank, 1, MPI_INT, wins[i]) == MPI_SUCCESS);
        }
    }
    let_die();
    hear();
    for (int i = 0; i < WINDOWS; i++) {
        CHECK(is(MPI_Win_complete(wins[i]), MPIX_ERR_PROC_FAILED));
        operate(wins[i]);
    }
    MPI_Group_free(&world);
    MPI_Group_free(&dead);
    MPI_Group_free(&living);
}

/* Collective calls on a file end with the class; those of one process go on. */
static void file(const char *path) {
    MPI_File file;
    int value = rank, got = -1;
    MPI_Offset at = (MPI_Offset)rank * (MPI_Offset)sizeof value;
    CHECK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                        &file) == MPI_SUCCESS);
    CHECK(MPI_File_write_at_all(file, at, &value, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    let_die();
    CHECK(is(MPI_File_write_at_all(file, at, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED));
    hear();
    CHECK(is(MPI_File_read_at_all(file, at, &got, 1, MPI_INT, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED));
    CHECK(is(MPI_File_set_size(file, 100), MPIX_ERR_PROC_FAILED));
    CHECK(MPI_File_read_at(file, at, &got, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS && got == rank);
    CHECK(is(MPI_File_close(&file), MPIX_ERR_PROC_FAILED));
}

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "";
    begin(&argc, &argv);
    if (!strcmp(way, "fence"))
        fence();
    else if (!strcmp(way, "start"))
        pscw(ACCESS);
    else if (!strcmp(way, "post"))
        pscw(WAIT);
    else if (!strcmp(way, "test"))
        pscw(TEST);
    else if (!strcmp(way, "completed"))
        access_of_two(1);
    else if (!strcmp(way, "torn"))
        access_of_two(0);
    else if (!strcmp(way, "operations"))
        operations();
    else if (!strcmp(way, "lock"))
        dies_in_epoch(LOCK);
    else if (!strcmp(way, "lock_unchecked"))
        dies_in_epoch(LOCK_UNCHECKED);
    else if (!strcmp(way, "lock_all"))
        dies_in_epoch(LOCK_ALL);
    else if (!strcmp(way, "lock_all_unchecked"))
        dies_in_epoch(LOCK_ALL_UNCHECKED);
    else if (!strcmp(way, "exposed"))
        dies_exposed();
    else if (!strcmp(way, "file"))
        file(argv[2]);
    else
        CHECK(!"a way that is known");
    report("ulfm_shared", rank, size);
    MPI_Finalize();
    return 0;
}
