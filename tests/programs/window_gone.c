/* Memory of a window is unmapped or protected while the window is there. An access to it gives an
   error of its class, at the latest from a flush; the target goes on, and the window can be
   freed. */
#include "check.h"
#include <string.h>
#include <sys/mman.h>

enum { PAGE = 4096, PAGES = 16, BYTES = PAGES * PAGE, READABLE = 4, CLOSED = 8, GONE = 12 };

static int rank, next;
static MPI_Win win;
static MPI_Aint start;
static char *data, *was;

/* The error of a call, or of the flush after it. */
static int both(int called) {
    int flushed = MPI_Win_flush(next, win);
    return called == MPI_SUCCESS ? flushed : called;
}

static int put(int at, int bytes) {
    return both(MPI_Put(data, bytes, MPI_BYTE, next, start + at, bytes, MPI_BYTE, win));
}

static int get(int at, int bytes) {
    memset(was, 0, bytes);
    return both(MPI_Get(was, bytes, MPI_BYTE, next, start + at, bytes, MPI_BYTE, win));
}

static int accumulate(int at, int bytes) {
    return both(MPI_Accumulate(data, bytes / 4, MPI_INT, next, start + at, bytes / 4, MPI_INT, MPI_SUM, win));
}

static int fetch(int at, MPI_Op op) {
    return both(MPI_Fetch_and_op(data, was, MPI_INT, next, start + at, op, win));
}

static int swap(int at) {
    int there = 0x07070707;
    return both(MPI_Compare_and_swap(data, &there, was, MPI_INT, next, start + at, win));
}

/* A block of 8 bytes in each of some pages, from page `first` on. */
static int put_blocks(int first, int pages) {
    MPI_Datatype blocks;
    MPI_Type_create_hvector(pages, 8, PAGE, MPI_BYTE, &blocks);
    MPI_Type_commit(&blocks);
    int ended = both(MPI_Put(data, 8 * pages, MPI_BYTE, next, start + first * PAGE, 1, blocks, win));
    MPI_Type_free(&blocks);
    return ended;
}

/* Everything that touches a page which may not be touched so. */
static void is_refused(int page, int reads) {
    int at = page * PAGE;
    CHECK_CLASS(put(at, 4), MPI_ERR_RMA_RANGE);
    CHECK_CLASS(put(at + 100, 3 * PAGE), MPI_ERR_RMA_RANGE);
    CHECK_CLASS(accumulate(at + 4, 400), MPI_ERR_RMA_RANGE);
    CHECK_CLASS(accumulate(at + 4, 3 * PAGE), MPI_ERR_RMA_RANGE);
    CHECK_CLASS(fetch(at, MPI_SUM), MPI_ERR_RMA_RANGE);
    CHECK_CLASS(swap(at), MPI_ERR_RMA_RANGE);
    CHECK_CLASS(put_blocks(page, 2), MPI_ERR_RMA_RANGE);
    if (reads) {
        CHECK(get(at, 3 * PAGE) == MPI_SUCCESS && was[0] == 7 && was[3 * PAGE - 1] == 7);
        CHECK(fetch(at + 8, MPI_NO_OP) == MPI_SUCCESS && was[0] == 7);
    } else {
        CHECK_CLASS(get(at, 4), MPI_ERR_RMA_RANGE);
        CHECK_CLASS(get(at, 3 * PAGE), MPI_ERR_RMA_RANGE);
        CHECK_CLASS(fetch(at, MPI_NO_OP), MPI_ERR_RMA_RANGE);
    }
}

static void access_all(void) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
    is_refused(READABLE, 1);
    is_refused(CLOSED, 0);
    is_refused(GONE, 0);
    /* Some of the bytes may be touched. */
    CHECK_CLASS(put_blocks(READABLE - 2, 3), MPI_ERR_RMA_RANGE);
    CHECK_CLASS(get(CLOSED * PAGE - 8, 16), MPI_ERR_RMA_RANGE);
    CHECK_CLASS(put(READABLE * PAGE - 8, 9), MPI_ERR_RMA_RANGE);
    CHECK(put(0, READABLE * PAGE) == MPI_SUCCESS && get(0, READABLE * PAGE) == MPI_SUCCESS);
    CHECK(memcmp(was, data, READABLE * PAGE) == 0);
    CHECK(MPI_Win_unlock(next, win) == MPI_SUCCESS);
}

int main(int argc, char **argv) {
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size > 1);
    next = (rank + 1) % size;
    data = malloc(BYTES);
    was = malloc(BYTES);
    memset(data, 5, BYTES);
    for (int is_dynamic = 0; is_dynamic < 2; is_dynamic++) {
        char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        CHECK(memory != MAP_FAILED);
        memset(memory, 7, BYTES);
        if (is_dynamic) {
            MPI_Aint own;
            MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
            MPI_Win_attach(win, memory, BYTES);
            MPI_Get_address(memory, &own);
            MPI_Sendrecv(&own, 1, MPI_AINT, (rank + size - 1) % size, 0, &start, 1, MPI_AINT, next, 0,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            start = 0;
            MPI_Win_create(memory, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        }
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        CHECK(mprotect(memory + READABLE * PAGE, 4 * PAGE, PROT_READ) == 0);
        CHECK(mprotect(memory + CLOSED * PAGE, 4 * PAGE, PROT_NONE) == 0);
        CHECK(munmap(memory + GONE * PAGE, 4 * PAGE) == 0);
        MPI_Barrier(MPI_COMM_WORLD);
        access_all();
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < READABLE * PAGE; i++)
            CHECK(memory[i] == 5);
        for (int i = READABLE * PAGE; i < CLOSED * PAGE; i++)
            CHECK(memory[i] == 7);
        if (is_dynamic)
            CHECK(MPI_Win_detach(win, memory) == MPI_SUCCESS);
        CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
        CHECK(munmap(memory, GONE * PAGE) == 0);
    }
    report("window_gone", rank, size);
    MPI_Finalize();
    return 0;
}
