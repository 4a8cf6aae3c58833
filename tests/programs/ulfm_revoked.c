/* Windows and files over a communicator that rank 0 revokes, while all others wait or before they
   call. Nobody dies. The argument says in which call. */
#include "check.h"
#include <unistd.h>

static int rank, size;
static MPI_Comm comm;
static MPI_Win win;
static int *memory;

static int is(int code, int class) {
    return class_of(code) == class;
}

/* Rank 0 gives the others time to wait, or none, and revokes the communicator. */
static void revoke_comm(int late) {
    if (rank == 0) {
        if (late)
            usleep(50000);
        CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
    }
}

static void hear(void) {
    int is_revoked = 0;
    while (!is_revoked) {
        CHECK(MPIX_Comm_is_revoked(comm, &is_revoked) == MPI_SUCCESS);
        MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &(int){0}, MPI_STATUS_IGNORE);
    }
}

/* The communicator that is revoked is not the world, by which the ranks go on talking. */
static void set_up(void) {
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    CHECK(MPI_Win_allocate(4096, sizeof(int), MPI_INFO_NULL, comm, &memory, &win) == MPI_SUCCESS);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    memset(memory, 0, 4096);
    CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
}

/* The window of a communicator of the same members that was not revoked. */
static void another_window(void) {
    MPI_Win other;
    int value = 7;
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Win_allocate(64, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &other) == MPI_SUCCESS);
    CHECK(MPI_Win_fence(0, other) == MPI_SUCCESS);
    CHECK(MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, other) == MPI_SUCCESS);
    CHECK(MPI_Win_fence(0, other) == MPI_SUCCESS && memory[0] == 7);
    CHECK(MPI_Win_free(&other) == MPI_SUCCESS);
}

static MPI_Group group_of(int member) {
    MPI_Group all, group;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &member, &group);
    MPI_Group_free(&all);
    return group;
}

/* Rank 0 is missing. */
static void fence(void) {
    CHECK(MPI_Win_fence(0, win) == MPI_SUCCESS);
    revoke_comm(1);
    if (rank != 0)
        CHECK(is(MPI_Win_fence(0, win), MPIX_ERR_REVOKED));
    hear();
    CHECK(is(MPI_Win_fence(0, win), MPIX_ERR_REVOKED));
    CHECK(is(MPI_Win_free(&win), MPIX_ERR_REVOKED));
}

/* Rank 0 posts nothing and completes nothing. */
static void pscw(const char *way) {
    MPI_Group first = group_of(0);
    int code = MPI_SUCCESS, is_over = 0;
    revoke_comm(1);
    if (rank != 0 && strcmp(way, "start") == 0) {
        code = MPI_Win_start(first, 0, win);
        if (code == MPI_SUCCESS)
            code = MPI_Win_complete(win);
        CHECK(is(code, MPIX_ERR_REVOKED));
    } else if (rank != 0) {
        code = MPI_Win_post(first, 0, win);
        if (code == MPI_SUCCESS && strcmp(way, "wait") == 0)
            code = MPI_Win_wait(win);
        while (code == MPI_SUCCESS && !is_over)
            code = MPI_Win_test(win, &is_over);
        CHECK(is(code, MPIX_ERR_REVOKED));
    }
    hear();
    CHECK(is(MPI_Win_start(first, 0, win), MPIX_ERR_REVOKED));
    CHECK(is(MPI_Win_post(first, 0, win), MPIX_ERR_REVOKED));
    MPI_Group_free(&first);
}

/* Rank 0 has its own lock until the others have given up waiting for it. What it does meanwhile to
   the memory of rank 1, whose lock it has, too, is done. */
static void lock(void) {
    int value = 5;
    if (rank == 0) {
        CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win) == MPI_SUCCESS);
        CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win) == MPI_SUCCESS);
    }
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    revoke_comm(1);
    if (rank != 0)
        CHECK(is(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win), MPIX_ERR_REVOKED));
    hear();
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    if (rank == 0) {
        CHECK(MPI_Put(&value, 1, MPI_INT, 1, 0, 1, MPI_INT, win) == MPI_SUCCESS);
        CHECK(MPI_Win_flush(1, win) == MPI_SUCCESS);
        CHECK(MPI_Win_unlock(1, win) == MPI_SUCCESS && MPI_Win_unlock(0, win) == MPI_SUCCESS);
    }
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(rank != 1 || memory[0] == 5);
    CHECK(is(MPI_Win_lock(MPI_LOCK_SHARED, 2, 0, win), MPIX_ERR_REVOKED));
    int code = MPI_Win_lock_all(0, win);
    CHECK(is(code, MPIX_ERR_REVOKED));
}

/* Rank 0 is missing in a collective call. What a process does alone goes on. */
static void file(const char *path) {
    MPI_File fh;
    int value = rank + 1, got = 0;
    CHECK(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh) == MPI_SUCCESS);
    CHECK(MPI_File_write_at_all(fh, 4 * rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    revoke_comm(1);
    if (rank != 0)
        CHECK(is(MPI_File_set_size(fh, 4096), MPIX_ERR_REVOKED));
    hear();
    CHECK(is(MPI_File_write_at_all(fh, 4 * rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPIX_ERR_REVOKED));
    CHECK(is(MPI_File_set_size(fh, 4096), MPIX_ERR_REVOKED));
    CHECK(is(MPI_File_sync(fh), MPIX_ERR_REVOKED));
    CHECK(MPI_File_read_at(fh, 4 * rank, &got, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS && got == value);
    CHECK(is(MPI_File_close(&fh), MPIX_ERR_REVOKED));
}

/* A collective write in which rank 0 is missing. */
static void write_all(const char *path) {
    MPI_File fh;
    MPI_Request request;
    int value = rank + 1;
    CHECK(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh) == MPI_SUCCESS);
    CHECK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    revoke_comm(1);
    if (rank == 1) {
        int code = MPI_File_iwrite_at_all(fh, rank, &value, 1, MPI_INT, &request);
        CHECK(is(code == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : code, MPIX_ERR_REVOKED));
    } else if (rank != 0)
        CHECK(is(MPI_File_write_at_all(fh, rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPIX_ERR_REVOKED));
    hear();
    CHECK(is(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET), MPIX_ERR_REVOKED));
}

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    set_up();
    if (strcmp(way, "fence") == 0)
        fence();
    else if (strcmp(way, "lock") == 0)
        lock();
    else if (strcmp(way, "file") == 0)
        file(argv[2]);
    else if (strcmp(way, "write_all") == 0)
        write_all(argv[2]);
    else
        pscw(way);
    another_window();
    report("ulfm_revoked", rank, size);
    MPI_Finalize();
    return 0;
}
