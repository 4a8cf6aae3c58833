/* The operations of windows: puts and gets between all forms of datatypes, and every accumulating
   call, by all ranks at once, on every sort of element. */
#include "check.h"
#include <complex.h>
#include <stdint.h>

enum { ROOM = 1 << 16, LONG = 3000 };

static int rank, size;
static char *memory;
static MPI_Win win;

static void clear(void) {
    MPI_Win_fence(0, win);
    memset(memory, 0, ROOM);
    MPI_Win_fence(0, win);
}

/* Contiguous to contiguous, vector to contiguous and back, vector to indexed; at every rank. */
static void layouts(void) {
    int from[256], back[256], target = (rank + 1) % size, *mine = (int *)memory;
    MPI_Datatype odd, some;
    for (int i = 0; i < 256; i++)
        from[i] = 1000 * rank + i;
    MPI_Type_vector(8, 1, 2, MPI_INT, &odd);
    MPI_Type_indexed(3, (int[]){1, 4, 3}, (int[]){20, 10, 0}, MPI_INT, &some);
    MPI_Type_commit(&odd);
    MPI_Type_commit(&some);
    struct {
        MPI_Datatype origin, target;
        int origin_count, target_count;
    } pairs[] = {{MPI_INT, MPI_INT, 8, 8}, {odd, MPI_INT, 1, 8},  {MPI_INT, odd, 8, 1},  {odd, some, 1, 1},
                 {some, odd, 2, 2},        {MPI_INT, some, 16, 2}, {MPI_INT, MPI_INT, 0, 0}};
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
        char packed[2][256];
        int at[2] = {0, 0}, source = (rank + size - 1) % size, numbers[256];
        clear();
        CHECK(MPI_Put(from, pairs[p].origin_count, pairs[p].origin, target, 16, pairs[p].target_count, pairs[p].target,
                      win) == MPI_SUCCESS);
        MPI_Win_fence(0, win);
        for (int i = 0; i < 256; i++)
            numbers[i] = 1000 * source + i;
        MPI_Pack(numbers, pairs[p].origin_count, pairs[p].origin, packed[0], 256, &at[0], MPI_COMM_WORLD);
        MPI_Pack(memory + 64, pairs[p].target_count, pairs[p].target, packed[1], 256, &at[1], MPI_COMM_WORLD);
        CHECK(at[0] == at[1] && memcmp(packed[0], packed[1], at[0]) == 0);
        int touched = 0;
        for (int i = 0; i < ROOM / 4; i++)
            touched += mine[i] != 0;
        CHECK(touched <= at[0] / 4 && touched >= at[0] / 4 - 1);
        memset(back, 0, sizeof back);
        CHECK(MPI_Get(back, pairs[p].origin_count, pairs[p].origin, target, 16, pairs[p].target_count, pairs[p].target,
                      win) == MPI_SUCCESS);
        MPI_Win_fence(0, win);
        at[0] = at[1] = 0;
        MPI_Pack(from, pairs[p].origin_count, pairs[p].origin, packed[0], 256, &at[0], MPI_COMM_WORLD);
        MPI_Pack(back, pairs[p].origin_count, pairs[p].origin, packed[1], 256, &at[1], MPI_COMM_WORLD);
        CHECK(memcmp(packed[0], packed[1], at[0]) == 0);
    }
    MPI_Type_free(&odd);
    MPI_Type_free(&some);
}

/* Longer than any piece by which something is copied, and apart at both sides. */
static void long_ones(void) {
    int target = (rank + 1) % size, source = (rank + size - 1) % size;
    double *from = malloc(2 * LONG * sizeof *from), *back = calloc(2 * LONG, sizeof *back), *mine = (double *)memory;
    MPI_Datatype apart;
    MPI_Type_vector(LONG, 1, 2, MPI_DOUBLE, &apart);
    MPI_Type_commit(&apart);
    for (int i = 0; i < 2 * LONG; i++)
        from[i] = rank + i / 8.0;
    for (int apart_there = 0; apart_there < 2; apart_there++) {
        MPI_Datatype there = apart_there ? apart : MPI_DOUBLE;
        clear();
        MPI_Put(from, 1, apart, target, 0, apart_there ? 1 : LONG, there, win);
        MPI_Win_fence(0, win);
        for (int i = 0; i < LONG; i++)
            CHECK(mine[apart_there ? 2 * i : i] == source + 2 * i / 8.0);
        memset(back, 0, 2 * LONG * sizeof *back);
        MPI_Get(back, LONG, MPI_DOUBLE, target, 0, apart_there ? 1 : LONG, there, win);
        MPI_Win_fence(0, win);
        for (int i = 0; i < LONG; i++)
            CHECK(back[i] == rank + 2 * i / 8.0);
        MPI_Accumulate(back, LONG, MPI_DOUBLE, 0, 0, apart_there ? 1 : LONG, there, MPI_SUM, win);
        MPI_Win_fence(0, win);
        for (int i = 0; rank == 0 && i < LONG; i++) {
            double sum = size - 1 + 2 * i / 8.0;
            for (int r = 0; r < size; r++)
                sum += r + 2 * i / 8.0;
            CHECK(mine[apart_there ? 2 * i : i] == sum);
        }
    }
    MPI_Type_free(&apart);
    free(from);
    free(back);
}

/* Every rank adds, multiplies and so on into one element of rank 0, which began with `start`. */
#define COMBINED(type, datatype, op, start, given, expected)                                                           \
    do {                                                                                                               \
        type given_ = (given), former_ = (type)0, want_ = (expected);                                                  \
        for (int call = 0; call < 4; call++) {                                                                         \
            clear();                                                                                                   \
            if (rank == 0)                                                                                             \
                ((type *)(memory + 64))[0] = (start);                                                                  \
            MPI_Win_fence(0, win);                                                                                     \
            if (call == 0)                                                                                             \
                CHECK(MPI_Accumulate(&given_, 1, datatype, 0, 16, 1, datatype, op, win) == MPI_SUCCESS);               \
            if (call == 1)                                                                                             \
                CHECK(MPI_Fetch_and_op(&given_, &former_, datatype, 0, 16, op, win) == MPI_SUCCESS);                   \
            if (call > 1)                                                                                              \
                CHECK(MPI_Get_accumulate(&given_, 1, datatype, &former_, 1, datatype, 0, 16, 1, datatype, op, win) ==  \
                      MPI_SUCCESS);                                                                                    \
            MPI_Win_fence(0, win);                                                                                     \
            CHECK(rank != 0 || *(type *)(memory + 64) == want_);                                                       \
            MPI_Get_accumulate(NULL, 0, datatype, &former_, 1, datatype, 0, 16, 1, \
                               datatype, MPI_NO_OP, win);                                                              \
            MPI_Win_fence(0, win);                                                                                     \
            CHECK(former_ == want_);                                                                                   \
        }                                                                                                              \
    } while (0)

#define INTEGERS(type, datatype)                                                                                       \
    do {                                                                                                               \
        COMBINED(type, datatype, MPI_SUM, 1, (type)(rank + 1), (type)(1 + size * (size + 1) / 2));                     \
        COMBINED(type, datatype, MPI_PROD, 3, 2, (type)(3 << size));                                                   \
        COMBINED(type, datatype, MPI_MAX, 2, (type)(rank + 1), (type)(size > 2 ? size : 2));                           \
        COMBINED(type, datatype, MPI_MIN, 2, (type)(rank + 1), 1);                                                     \
        COMBINED(type, datatype, MPI_BOR, 64, (type)(1 << rank % 6), (type)(64 | ((1 << (size < 6 ? size : 6)) - 1))); \
        COMBINED(type, datatype, MPI_BAND, 127, (type)~(1 << rank % 6),                                                \
                 (type)(127 & ~((1 << (size < 6 ? size : 6)) - 1)));                                                   \
        COMBINED(type, datatype, MPI_BXOR, 0, 5, (type)(size % 2 ? 5 : 0));                                            \
        COMBINED(type, datatype, MPI_LAND, 1, (type)(rank != size - 1), 0);                                            \
        COMBINED(type, datatype, MPI_LOR, 0, (type)(rank == 0), 1);                                                    \
        COMBINED(type, datatype, MPI_LXOR, 0, 1, (type)(size % 2));                                                    \
        COMBINED(type, datatype, MPI_REPLACE, 9, 11, 11);                                                              \
    } while (0)

#define NUMBERS(type, datatype)                                                                                        \
    do {                                                                                                               \
        COMBINED(type, datatype, MPI_SUM, (type)0.5, (type)(rank + 1), (type)(0.5 + size * (size + 1) / 2));           \
        COMBINED(type, datatype, MPI_PROD, (type)3, (type)2, (type)(3 << size));                                       \
        COMBINED(type, datatype, MPI_REPLACE, (type)9, (type)11, (type)11);                                            \
    } while (0)

static void elements(void) {
    INTEGERS(signed char, MPI_SIGNED_CHAR);
    INTEGERS(unsigned char, MPI_UINT8_T);
    INTEGERS(int16_t, MPI_SHORT);
    INTEGERS(int32_t, MPI_INT);
    INTEGERS(uint64_t, MPI_UINT64_T);
    INTEGERS(int64_t, MPI_LONG_LONG);
    NUMBERS(float, MPI_FLOAT);
    NUMBERS(double, MPI_DOUBLE);
    NUMBERS(long double, MPI_LONG_DOUBLE);
    NUMBERS(double complex, MPI_C_DOUBLE_COMPLEX);
    COMBINED(double, MPI_DOUBLE, MPI_MAX, -1.5, rank - 0.5, size - 1.5);
    COMBINED(MPI_Aint, MPI_AINT, MPI_SUM, 5, 1, 5 + size);
    COMBINED(unsigned char, MPI_BYTE, MPI_BOR, 64, (unsigned char)(1 << rank % 6),
             (unsigned char)(64 | ((1 << (size < 6 ? size : 6)) - 1)));
}

/* Pairs of a value and its place; some have gaps. */
static void pairs(void) {
    struct {
        double value;
        int place;
    } mine = {rank == size / 2 ? 50.0 : rank, rank}, *there = (void *)(memory + 64), former;
    struct {
        short value;
        int place;
    } small = {(short)(20 - rank % 4), rank}, *small_there = (void *)(memory + 128);
    clear();
    if (rank == 0) {
        there->value = -1, there->place = 99;
        small_there->value = 30, small_there->place = 99;
    }
    MPI_Win_fence(0, win);
    MPI_Accumulate(&mine, 1, MPI_DOUBLE_INT, 0, 16, 1, MPI_DOUBLE_INT, MPI_MAXLOC, win);
    MPI_Accumulate(&small, 1, MPI_SHORT_INT, 0, 32, 1, MPI_SHORT_INT, MPI_MINLOC, win);
    MPI_Win_fence(0, win);
    if (rank == 0) {
        int least = size > 3 ? 3 : size - 1;
        CHECK(there->value == 50.0 && there->place == size / 2);
        CHECK(small_there->value == 20 - least && small_there->place == least);
    }
    MPI_Fetch_and_op(NULL, &former, MPI_DOUBLE_INT, 0, 16, MPI_NO_OP, win);
    MPI_Win_fence(0, win);
    CHECK(former.value == 50.0 && former.place == size / 2);
}

/* Derived datatypes of one basic sort at both sides, by all at once. */
static void derived(void) {
    MPI_Datatype comb, single;
    int given[16], former[16], *mine = (int *)memory;
    MPI_Type_indexed(4, (int[]){1, 1, 1, 1}, (int[]){7, 1, 4, 2}, MPI_INT, &comb);
    MPI_Type_create_indexed_block(1, 1, (int[]){3}, MPI_INT, &single);
    MPI_Type_commit(&comb);
    MPI_Type_commit(&single);
    clear();
    for (int i = 0; i < 16; i++)
        given[i] = i + 1;
    MPI_Accumulate(given, 4, MPI_INT, 0, 0, 1, comb, MPI_SUM, win);
    MPI_Accumulate(given, 1, single, 0, 20, 1, single, MPI_SUM, win);
    MPI_Win_fence(0, win);
    if (rank == 0) {
        int want[8] = {0, 2 * size, 4 * size, 0, 3 * size, 0, 0, size};
        CHECK(memcmp(mine, want, sizeof want) == 0 && mine[23] == 4 * size && mine[20] == 0);
    }
    memset(former, 0, sizeof former);
    MPI_Get_accumulate(NULL, 0, MPI_INT, former, 1, comb, 0, 0, 1, comb, MPI_NO_OP, win);
    MPI_Win_fence(0, win);
    CHECK(former[7] == size && former[1] == 2 * size && former[4] == 3 * size && former[2] == 4 * size);
    /* A swap of many elements. */
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, (rank + 1) % size, 0, win);
    MPI_Get_accumulate(given, 16, MPI_INT, former, 16, MPI_INT, (rank + 1) % size, 100, 16, MPI_INT, MPI_REPLACE, win);
    MPI_Win_flush((rank + 1) % size, win);
    for (int i = 0; i < 16; i++)
        CHECK(former[i] == 0);
    MPI_Get_accumulate(given, 16, MPI_INT, former, 16, MPI_INT, (rank + 1) % size, 100, 16, MPI_INT, MPI_SUM, win);
    MPI_Win_unlock((rank + 1) % size, win);
    CHECK(memcmp(given, former, sizeof given) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Type_free(&comb);
    MPI_Type_free(&single);
}

/* Each rank swaps its number in when it finds the one of the rank before. */
#define CHAIN(type, datatype)                                                                                          \
    do {                                                                                                               \
        type next = (type)(rank + 1), want = (type)rank, got = (type)-1;                                               \
        clear();                                                                                                       \
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);                                                                        \
        MPI_Win_lock_all(0, win);                                                                                      \
        while (got != want) {                                                                                          \
            CHECK(MPI_Compare_and_swap(&next, &want, &got, datatype, 0, 64, win) == MPI_SUCCESS);                      \
            MPI_Win_flush(0, win);                                                                                     \
            CHECK(got == want || got < want);                                                                          \
        }                                                                                                              \
        MPI_Barrier(MPI_COMM_WORLD);                                                                                   \
        MPI_Fetch_and_op(NULL, &got, datatype, 0, 64, MPI_NO_OP, win);                                                 \
        MPI_Win_unlock_all(win);                                                                                       \
        CHECK(got == (type)size);                                                                                      \
    } while (0)

static void requests(void) {
    MPI_Request request[4];
    int given = rank + 1, former = -1, got = -1, target = (rank + 1) % size;
    clear();
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_lock_all(0, win);
    MPI_Rput(&given, 1, MPI_INT, target, 3, 1, MPI_INT, win, &request[0]);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    MPI_Win_flush(target, win);
    MPI_Raccumulate(&given, 1, MPI_INT, target, 3, 1, MPI_INT, MPI_SUM, win, &request[1]);
    MPI_Wait(&request[1], MPI_STATUS_IGNORE);
    MPI_Win_flush(target, win);
    MPI_Rget_accumulate(&given, 1, MPI_INT, &former, 1, MPI_INT, target, 3, 1, MPI_INT, MPI_SUM, win, &request[2]);
    MPI_Wait(&request[2], MPI_STATUS_IGNORE);
    CHECK(former == 2 * given);
    MPI_Rget(&got, 1, MPI_INT, target, 3, 1, MPI_INT, win, &request[3]);
    MPI_Wait(&request[3], MPI_STATUS_IGNORE);
    CHECK(got == 3 * given && request[3] == MPI_REQUEST_NULL);
    MPI_Rput(&given, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win, &request[0]);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ARMCI and those above it take for granted that operations of one origin on one target keep their
   order, whatever carries them. The standard promises it of accumulates only. */
static void in_order(void) {
    static int ones[LONG], seen[LONG];
    int target = (rank + 1) % size;
    for (int i = 0; i < LONG; i++)
        ones[i] = 1;
    clear();
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    for (int round = 0; round < 20; round++) {
        MPI_Put(ones, LONG, MPI_INT, target, 0, LONG, MPI_INT, win);
        MPI_Accumulate(ones, LONG, MPI_INT, target, 0, LONG, MPI_INT, MPI_SUM, win);
        MPI_Get(seen, LONG, MPI_INT, target, 0, LONG, MPI_INT, win);
        MPI_Win_flush_local(target, win);
        int wrong = 0;
        for (int i = 0; i < LONG; i++)
            wrong += seen[i] != 2;
        CHECK(wrong == 0);
    }
    MPI_Win_unlock(target, win);
    MPI_Win_fence(0, win);
}

static void all_operations(void) {
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    layouts();
    long_ones();
    elements();
    pairs();
    derived();
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHAIN(int, MPI_INT);
    CHAIN(int64_t, MPI_INT64_T);
    CHAIN(unsigned char, MPI_BYTE);
    CHAIN(short, MPI_SHORT);
    requests();
    in_order();
    MPI_Win_free(&win);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    memory = malloc(ROOM);
    char *mine = memory;
    MPI_Win_create(memory, ROOM, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    all_operations();
    MPI_Win_allocate(ROOM, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    all_operations();
    free(mine);
    report("window_operations", rank, size);
    MPI_Finalize();
    return 0;
}
