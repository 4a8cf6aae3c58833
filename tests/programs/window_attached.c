/* Operations whose elements lie in several pieces of attached memory, with bytes between that are
   not attached. */
#include "check.h"
#include <string.h>

enum { INTS = 4096, PIECE = 16, PIECES = 3, COUNT = PIECE * PIECES };

/* The first ints of the pieces: the last one lies in memory of MPI_Alloc_mem. */
static int *pieces[PIECES];
static const int gap = 2048;

static void access_all(MPI_Win win, int target, const MPI_Aint *at, MPI_Datatype ints) {
    int lengths[PIECES] = {PIECE, PIECE, PIECE}, out[COUNT], in[COUNT], sum[COUNT];
    MPI_Datatype elements, beyond;
    for (int i = 0; i < COUNT; i++)
        out[i] = 100 + i;
    MPI_Type_create_hindexed(PIECES, lengths, at, ints, &elements);
    MPI_Type_commit(&elements);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    CHECK(MPI_Put(out, COUNT, MPI_INT, target, 0, 1, elements, win) == MPI_SUCCESS);
    CHECK(MPI_Win_flush(target, win) == MPI_SUCCESS);
    CHECK(MPI_Get(in, COUNT, MPI_INT, target, 0, 1, elements, win) == MPI_SUCCESS);
    CHECK(MPI_Win_flush(target, win) == MPI_SUCCESS);
    CHECK(memcmp(in, out, sizeof in) == 0);
    CHECK(MPI_Accumulate(out, COUNT, MPI_INT, target, 0, 1, elements, MPI_SUM, win) == MPI_SUCCESS);
    CHECK(MPI_Get_accumulate(out, COUNT, MPI_INT, sum, COUNT, MPI_INT, target, 0, 1, elements, MPI_SUM, win) ==
          MPI_SUCCESS);
    CHECK(MPI_Win_flush(target, win) == MPI_SUCCESS);
    CHECK(MPI_Get(in, COUNT, MPI_INT, target, 0, 1, elements, win) == MPI_SUCCESS);
    CHECK(MPI_Win_flush(target, win) == MPI_SUCCESS);
    for (int i = 0; i < COUNT; i++)
        CHECK(sum[i] == 2 * out[i] && in[i] == 3 * out[i]);
    /* One int of it is not attached. */
    lengths[1] = PIECE + 1;
    MPI_Type_create_hindexed(2, lengths, at, ints, &beyond);
    MPI_Type_commit(&beyond);
    int called = MPI_Put(in, 2 * PIECE + 1, MPI_INT, target, 0, 1, beyond, win);
    int flushed = MPI_Win_flush(target, win);
    CHECK_CLASS(called == MPI_SUCCESS ? flushed : called, MPI_ERR_RMA_RANGE);
    CHECK(MPI_Win_unlock(target, win) == MPI_SUCCESS);
    MPI_Type_free(&beyond);
    MPI_Type_free(&elements);
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int *own = calloc(INTS, sizeof *own), *lent;
    MPI_Alloc_mem(INTS * sizeof *lent, MPI_INFO_NULL, &lent);
    memset(lent, 0, INTS * sizeof *lent);
    pieces[0] = own;
    pieces[1] = own + gap;
    pieces[2] = lent + gap;
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Aint at[PIECES], theirs[PIECES];
    for (int i = 0; i < PIECES; i++) {
        CHECK(MPI_Win_attach(win, pieces[i], PIECE * sizeof(int)) == MPI_SUCCESS);
        MPI_Get_address(pieces[i], &at[i]);
    }
    int target = (rank + 1) % size;
    MPI_Sendrecv(at, PIECES, MPI_AINT, (rank + size - 1) % size, 0, theirs, PIECES, MPI_AINT, target, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    access_all(win, target, theirs, MPI_INT);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < INTS; i++) {
        int piece = i < PIECE ? 0 : 1, first = piece * gap;
        int is_in = i >= first && i < first + PIECE;
        CHECK(own[i] == (is_in ? 3 * (100 + piece * PIECE + i - first) : 0));
        is_in = i >= gap && i < gap + PIECE;
        CHECK(lent[i] == (is_in ? 3 * (100 + 2 * PIECE + i - gap) : 0));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    access_all(win, rank, at, MPI_INT);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < PIECES; i++)
        CHECK(MPI_Win_detach(win, pieces[i]) == MPI_SUCCESS);
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS);
    MPI_Free_mem(lent);
    free(own);
    report("window_attached", rank, size);
    MPI_Finalize();
    return 0;
}
