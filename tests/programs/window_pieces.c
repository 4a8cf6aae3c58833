/* Accumulates of elements that are longer than a piece in which data travel: pairs of a value and
   an index, and elements of several sizes. Every rank accumulates into the next one. */
#include "check.h"
#include <stddef.h>

enum { COUNT = 20000 };

typedef struct {
    double value;
    int place;
} Pair;

typedef struct {
    char letter;
    double number;
    short few;
} Mixed;

static int rank, size;

/* One element of COUNT pairs; the greater value stays, with its place. */
static void pairs(void) {
    Pair *mine, *given = calloc(COUNT, sizeof *given), *former = calloc(COUNT, sizeof *former);
    int target = (rank + 1) % size, source = (rank + size - 1) % size;
    MPI_Datatype row;
    MPI_Win win;
    MPI_Type_contiguous(COUNT, MPI_DOUBLE_INT, &row);
    MPI_Type_commit(&row);
    MPI_Win_allocate(COUNT * sizeof(Pair), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    for (int i = 0; i < COUNT; i++) {
        mine[i].value = i % 7, mine[i].place = -1;
        given[i].value = i % 5 + rank, given[i].place = i;
    }
    MPI_Win_fence(0, win);
    CHECK(MPI_Get_accumulate(given, 1, row, former, 1, row, target, 0, 1, row, MPI_MAXLOC, win) == MPI_SUCCESS);
    MPI_Win_fence(0, win);
    for (int i = 0; i < COUNT; i++) {
        double old = i % 7, new = i % 5 + source;
        CHECK(mine[i].value == (new > old ? new : old));
        CHECK(mine[i].place == (new > old ? i : -1));
        CHECK(former[i].value == old && former[i].place == -1);
    }
    MPI_Win_fence(0, win);
    CHECK(MPI_Accumulate(given, COUNT, MPI_DOUBLE_INT, target, 0, COUNT, MPI_DOUBLE_INT, MPI_REPLACE, win) ==
          MPI_SUCCESS);
    MPI_Win_fence(0, win);
    for (int i = 0; i < COUNT; i++)
        CHECK(mine[i].value == i % 5 + source && mine[i].place == i);
    MPI_Win_free(&win);
    MPI_Type_free(&row);
    free(given);
    free(former);
}

/* One element of COUNT structures, of which the pieces of 64 KiB end at any byte. */
static void mixed(void) {
    Mixed *mine, *given = calloc(COUNT, sizeof *given), *former = calloc(COUNT, sizeof *former);
    int target = (rank + 1) % size, source = (rank + size - 1) % size;
    MPI_Datatype one, packed, row;
    MPI_Win win;
    MPI_Type_create_struct(3, (int[]){1, 1, 1},
                           (MPI_Aint[]){offsetof(Mixed, letter), offsetof(Mixed, number), offsetof(Mixed, few)},
                           (MPI_Datatype[]){MPI_CHAR, MPI_DOUBLE, MPI_SHORT}, &packed);
    MPI_Type_create_resized(packed, 0, sizeof(Mixed), &one);
    MPI_Type_contiguous(COUNT, one, &row);
    MPI_Type_commit(&row);
    MPI_Win_allocate(COUNT * sizeof(Mixed), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &mine, &win);
    for (int i = 0; i < COUNT; i++) {
        mine[i].letter = 'a' + i % 26, mine[i].number = -i, mine[i].few = (short)i;
        given[i].letter = 'A' + (i + rank) % 26, given[i].number = i + rank / 8.0, given[i].few = (short)(rank - i);
    }
    MPI_Win_fence(0, win);
    CHECK(MPI_Get_accumulate(given, 1, row, former, 1, row, target, 0, 1, row, MPI_REPLACE, win) == MPI_SUCCESS);
    MPI_Win_fence(0, win);
    for (int i = 0; i < COUNT; i++) {
        CHECK(former[i].letter == 'a' + i % 26 && former[i].number == -i && former[i].few == (short)i);
        CHECK(mine[i].letter == 'A' + (i + source) % 26 && mine[i].number == i + source / 8.0);
        CHECK(mine[i].few == (short)(source - i));
    }
    MPI_Win_fence(0, win);
    memset(former, 0, COUNT * sizeof *former);
    CHECK(MPI_Get_accumulate(NULL, 0, MPI_BYTE, former, 1, row, target, 0, 1, row, MPI_NO_OP, win) == MPI_SUCCESS);
    MPI_Win_fence(0, win);
    for (int i = 0; i < COUNT; i++)
        CHECK(former[i].number == given[i].number && former[i].few == given[i].few);
    MPI_Win_free(&win);
    MPI_Type_free(&row);
    MPI_Type_free(&one);
    MPI_Type_free(&packed);
    free(given);
    free(former);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    pairs();
    mixed();
    report("window_pieces", rank, size);
    MPI_Finalize();
    return 0;
}
