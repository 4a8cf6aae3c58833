/* Every predefined datatype with every predefined operation, by each accumulate call: each does
   what MPI_Reduce_local does, and is an error where that is one. MPI_REPLACE and MPI_NO_OP take all
   datatypes, and compare and swap takes integers, logical values and bytes. */
#include "check.h"
#include <complex.h>
#include <stdint.h>

enum { COUNT = 5, WIDEST = 32, PLACE = 64 };

/* What a datatype consists of. */
enum sort { INTEGER, LOGICAL, FLOAT, DOUBLE, LONG_DOUBLE, FLOATS, DOUBLES, LONG_DOUBLES, PAIR, PLAIN };

struct entry {
    MPI_Datatype datatype;
    enum sort sort;
};

static int rank, size, target, calls;
static MPI_Win win;

/* A value and an index, as one struct of each pair. */
#define PAIRS                                                                                      \
    X(MPI_FLOAT_INT, float, int)                                                                                       \
    X(MPI_DOUBLE_INT, double, int)                                                                                     \
    X(MPI_LONG_INT, long, int)                                                                                         \
    X(MPI_SHORT_INT, short, int)                                                                                       \
    X(MPI_LONG_DOUBLE_INT, long double, int)                                                                           \
    X(MPI_2INT, int, int)                                                                                              \
    X(MPI_2INTEGER, int, int)                                                                                          \
    X(MPI_2REAL, float, float)                                                                                         \
    X(MPI_2DOUBLE_PRECISION, double, double)

static void set_pair(MPI_Datatype datatype, void *at, int value, int index) {
#define X(pair, first, second)                                                                                         \
    if (datatype == (pair)) {                                                                                          \
        struct {                                                                                                       \
            first value;                                                                                               \
            second index;                                                                                              \
        } *both = at;                                                                                                  \
        both->value = (first)value, both->index = (second)index;                                                       \
    }
    PAIRS
#undef X
}

static void set(struct entry entry, void *at, int value, int index) {
    switch (entry.sort) {
    case LOGICAL:
        *(char *)at = value % 2;
        break;
    case FLOAT:
        *(float *)at = value;
        break;
    case DOUBLE:
        *(double *)at = value;
        break;
    case LONG_DOUBLE:
        *(long double *)at = value;
        break;
    case FLOATS:
        *(float complex *)at = value + 2 * I;
        break;
    case DOUBLES:
        *(double complex *)at = value + 2 * I;
        break;
    case LONG_DOUBLES:
        *(long double complex *)at = value + 2 * I;
        break;
    case PAIR:
        set_pair(entry.datatype, at, value, index);
        break;
    default:
        *(char *)at = value;
    }
}

/* Returns whether the elements are the same, whatever lies in their gaps. */
static int is_same(struct entry entry, const void *a, const void *b) {
    char packed[2][COUNT * WIDEST];
    int bytes[2] = {0, 0}, of_one = WIDEST;
    MPI_Pack(a, COUNT, entry.datatype, packed[0], sizeof packed[0], &bytes[0], MPI_COMM_SELF);
    MPI_Pack(b, COUNT, entry.datatype, packed[1], sizeof packed[1], &bytes[1], MPI_COMM_SELF);
    if (entry.sort != LONG_DOUBLE && entry.sort != LONG_DOUBLES && entry.datatype != MPI_LONG_DOUBLE_INT)
        return memcmp(packed[0], packed[1], bytes[0]) == 0;
    /* Ten bytes of sixteen hold a long double. */
    MPI_Type_size(entry.datatype, &of_one);
    for (int i = 0; i < COUNT; i++)
        if (memcmp(packed[0] + i * of_one, packed[1] + i * of_one, 10) != 0)
            return 0;
    return 1;
}

enum { ACCUMULATE, FETCH_AND_OP, GET_ACCUMULATE, RGET_ACCUMULATE, CALLS };

/* The class of the error, if there is one. */
static int call(int which, MPI_Datatype datatype, MPI_Op op, const char *from, char *former) {
    MPI_Aint low, extent;
    MPI_Request request;
    int class = MPI_SUCCESS;
    MPI_Type_get_extent(datatype, &low, &extent);
    switch (which) {
    case ACCUMULATE:
        return class_of(MPI_Accumulate(from, COUNT, datatype, target, PLACE, COUNT, datatype, op, win));
    case FETCH_AND_OP:
        for (int i = 0; i < COUNT && class == MPI_SUCCESS; i++) {
            MPI_Aint at = i * extent;
            class = class_of(MPI_Fetch_and_op(from + at, former + at, datatype, target, PLACE + at, op, win));
        }
        return class;
    case GET_ACCUMULATE:
        return class_of(MPI_Get_accumulate(from, COUNT, datatype, former, COUNT, datatype, target, PLACE, COUNT,
                                           datatype, op, win));
    default:
        class = class_of(MPI_Rget_accumulate(from, COUNT, datatype, former, COUNT, datatype, target, PLACE, COUNT,
                                             datatype, op, win, &request));
        if (class == MPI_SUCCESS)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        return class;
    }
}

static void with(struct entry entry, MPI_Op op) {
    MPI_Datatype datatype = entry.datatype;
    MPI_Aint low, extent;
    MPI_Type_get_extent(datatype, &low, &extent);
    for (int which = 0; which < CALLS; which++) {
        _Alignas(16) char given[COUNT * WIDEST] = {0}, there[COUNT * WIDEST] = {0}, want[COUNT * WIDEST];
        _Alignas(16) char former[COUNT * WIDEST] = {0}, got[COUNT * WIDEST] = {0};
        for (int i = 0; i < COUNT; i++) {
            set(entry, given + i * extent, i + 1, i);
            set(entry, there + i * extent, i % 2 ? 3 : 7 - i, i + 1);
        }
        memcpy(want, there, sizeof want);
        /* Only calls that fetch what is there may do nothing else. */
        int fails = op == MPI_NO_OP     ? which == ACCUMULATE
                    : op == MPI_REPLACE ? 0
                                        : class_of(MPI_Reduce_local(given, want, COUNT, datatype, op)) != MPI_SUCCESS;
        if (op == MPI_REPLACE)
            memcpy(want, given, sizeof want);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
        MPI_Put(there, COUNT, datatype, target, PLACE, COUNT, datatype, win);
        MPI_Win_flush(target, win);
        int class = call(which, datatype, op, given, former);
        MPI_Win_flush(target, win);
        MPI_Get(got, COUNT, datatype, target, PLACE, COUNT, datatype, win);
        MPI_Win_unlock(target, win);
        CHECK(class == (fails ? MPI_ERR_OP : MPI_SUCCESS));
        CHECK(is_same(entry, got, fails ? there : want));
        CHECK(fails || which == ACCUMULATE || is_same(entry, former, there));
        calls += !fails;
    }
}

static void swap(struct entry entry) {
    _Alignas(16) char old[WIDEST] = {0}, new[WIDEST] = {0}, former[WIDEST] = {0}, got[WIDEST] = {0};
    int takes = entry.sort == INTEGER || entry.sort == LOGICAL, bytes;
    set(entry, old, 3, 0);
    set(entry, new, 8, 1);
    MPI_Type_size(entry.datatype, &bytes);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    MPI_Put(old, 1, entry.datatype, target, PLACE, 1, entry.datatype, win);
    MPI_Win_flush(target, win);
    int class = class_of(MPI_Compare_and_swap(new, old, former, entry.datatype, target, PLACE, win));
    MPI_Win_flush(target, win);
    MPI_Get(got, 1, entry.datatype, target, PLACE, 1, entry.datatype, win);
    MPI_Win_unlock(target, win);
    CHECK(class == (takes ? MPI_SUCCESS : MPI_ERR_TYPE));
    if (takes)
        CHECK(memcmp(former, old, bytes) == 0 && memcmp(got, new, bytes) == 0);
}

static void every_datatype(void) {
    const struct entry all[] = {
        {MPI_SIGNED_CHAR, INTEGER},
        {MPI_UNSIGNED_CHAR, INTEGER},
        {MPI_SHORT, INTEGER},
        {MPI_UNSIGNED_SHORT, INTEGER},
        {MPI_INT, INTEGER},
        {MPI_UNSIGNED, INTEGER},
        {MPI_LONG, INTEGER},
        {MPI_UNSIGNED_LONG, INTEGER},
        {MPI_LONG_LONG, INTEGER},
        {MPI_UNSIGNED_LONG_LONG, INTEGER},
        {MPI_INT8_T, INTEGER},
        {MPI_INT16_T, INTEGER},
        {MPI_INT32_T, INTEGER},
        {MPI_INT64_T, INTEGER},
        {MPI_UINT8_T, INTEGER},
        {MPI_UINT16_T, INTEGER},
        {MPI_UINT32_T, INTEGER},
        {MPI_UINT64_T, INTEGER},
        {MPI_AINT, INTEGER},
        {MPI_COUNT, INTEGER},
        {MPI_OFFSET, INTEGER},
        {MPI_BYTE, INTEGER},
        {MPI_INTEGER, INTEGER},
        {MPI_INTEGER1, INTEGER},
        {MPI_INTEGER2, INTEGER},
        {MPI_INTEGER4, INTEGER},
        {MPI_INTEGER8, INTEGER},
        {MPI_C_BOOL, LOGICAL},
        {MPI_LOGICAL, LOGICAL},
        {MPI_FLOAT, FLOAT},
        {MPI_REAL, FLOAT},
        {MPI_REAL4, FLOAT},
        {MPI_DOUBLE, DOUBLE},
        {MPI_DOUBLE_PRECISION, DOUBLE},
        {MPI_REAL8, DOUBLE},
        {MPI_LONG_DOUBLE, LONG_DOUBLE},
        {MPI_C_FLOAT_COMPLEX, FLOATS},
        {MPI_COMPLEX, FLOATS},
        {MPI_C_DOUBLE_COMPLEX, DOUBLES},
        {MPI_DOUBLE_COMPLEX, DOUBLES},
        {MPI_C_LONG_DOUBLE_COMPLEX, LONG_DOUBLES},
        {MPI_WCHAR, PLAIN},
        {MPI_PACKED, PLAIN},
        {MPI_CHARACTER, PLAIN},
#define X(pair, first, second) {pair, PAIR},
        PAIRS
#undef X
    };
    const MPI_Op operations[] = {MPI_MAX, MPI_MIN,  MPI_SUM,  MPI_PROD,   MPI_LAND,   MPI_BAND,    MPI_LOR,
                                 MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC, MPI_REPLACE, MPI_NO_OP};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        for (size_t k = 0; k < sizeof operations / sizeof *operations; k++)
            with(all[i], operations[k]);
        swap(all[i]);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    target = (rank + 1) % size;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    char *memory, *own = calloc(1, 1024);
    for (int is_created = 0; is_created < 2; is_created++) {
        if (is_created)
            MPI_Win_create(own, 1024, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        else
            MPI_Win_allocate(1024, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        every_datatype();
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_free(&win);
    }
    CHECK(calls > 3000);
    free(own);
    report("window_types", rank, size);
    MPI_Finalize();
    return 0;
}
