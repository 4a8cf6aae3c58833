/* window_refused [WHO]: the kernel copies between the windows of the ranks; then it refuses that
   (to all ranks, or to the rank WHO alone), in the middle of the program. What an origin calls
   after that either works or gives an error. Nothing hangs, and the window can be freed. */
#include "check.h"
#include "seccomp.h"

enum { LONG = 100000 };

static int rank, size, works, fails;
static unsigned char memory[LONG], data[LONG], got[LONG];

/* What the call did is right, or it gave an error. */
static void judge(int code, int is_right) {
    CHECK(code != MPI_SUCCESS || is_right);
    *(code == MPI_SUCCESS ? &works : &fails) += 1;
}

static void operate(MPI_Win win, int next, int length, unsigned char value) {
    int one = value, was = -1, code;
    memset(data, value, LONG);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
    code = MPI_Put(data, length, MPI_BYTE, next, 0, length, MPI_BYTE, win);
    if (code == MPI_SUCCESS)
        code = MPI_Win_flush(next, win);
    memset(got, 0, LONG);
    int second = MPI_Get(got, length, MPI_BYTE, next, 0, length, MPI_BYTE, win);
    if (second == MPI_SUCCESS)
        second = MPI_Win_flush(next, win);
    judge(code, 1);
    judge(second, code != MPI_SUCCESS || memcmp(got, data, length) == 0);
    code = MPI_Fetch_and_op(&one, &was, MPI_INT, next, 0, MPI_REPLACE, win);
    if (code == MPI_SUCCESS)
        code = MPI_Win_flush(next, win);
    judge(code, 1);
    CHECK(MPI_Win_unlock(next, win) == MPI_SUCCESS);
}

int main(int argc, char **argv) {
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int next = (rank + 1) % size, is_refused = argc < 2 || atoi(argv[1]) == rank;
    MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    for (int round = 0; round < 5; round++)
        operate(win, next, round % 2 ? 8 : LONG, 1 + round);
    CHECK(fails == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_refused)
        CHECK(refuse(SYS_process_vm_readv, SYS_process_vm_writev, refusal("eperm")) == 0);
    for (int round = 0; round < 5; round++)
        operate(win, next, round % 2 ? 8 : LONG, 1 + round);
    CHECK(is_refused || fails == 0);
    MPI_Win_fence(0, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
    /* One that is made now takes another way. */
    MPI_Win_create(memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    fails = works = 0;
    operate(win, next, LONG, 77);
    CHECK(fails == 0 && works == 3);
    MPI_Win_free(&win);
    report("window_refused", rank, size);
    MPI_Finalize();
    return 0;
}
