/* window_layouts SEEDS [create]: puts, gets and accumulates between random datatypes of one basic
   type, nested up to three deep and different on both sides, with gaps, strides backwards, bytes
   before the origin and no bytes at all. What MPI_Pack, MPI_Unpack and MPI_Reduce_local do to a copy
   of the target's memory is what must be there after each. */
#include "check.h"
#include <stdint.h>

enum { ROOM = 1 << 16, BASICS = 8, DEEP = 4 };

/* A number of elements of a datatype, and the bytes that they span from the first one's origin. */
struct layout {
    MPI_Datatype datatype;
    int count, size;
    MPI_Aint low, high;
};

static int rank, size, done, empty;
static uint64_t state;
static char *memory, *expected, *origin, *former, *wanted, *packed, *marks, *all;
static MPI_Win win;

static int below(int n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (int)((state >> 20) % (uint64_t)n);
}

static MPI_Datatype basic_of(int which) {
    const MPI_Datatype all_of_them[BASICS] = {MPI_INT,         MPI_SHORT,   MPI_DOUBLE,    MPI_SIGNED_CHAR,
                                              MPI_LONG_DOUBLE, MPI_INT64_T, MPI_SHORT_INT, MPI_DOUBLE_INT};
    return all_of_them[which];
}

static MPI_Datatype indexed(int n, MPI_Datatype of) {
    int lengths[4], places[4], at = 0;
    MPI_Datatype made;
    for (int i = 0; i < n; i++) {
        at += below(3);
        lengths[i] = below(3);
        places[i] = at;
        at += lengths[i];
    }
    MPI_Type_indexed(n, lengths, places, of, &made);
    return made;
}

/* Blocks in any order, some before the origin. */
static MPI_Datatype shuffled(int n, MPI_Datatype of, MPI_Aint extent) {
    MPI_Aint places[4], at = extent > 0 ? -16 / extent * extent : 0;
    int length = 1 + below(2);
    MPI_Datatype made;
    for (int i = 0; i < n; i++) {
        places[i] = at;
        at += (length + below(2)) * extent;
    }
    for (int i = n - 1; i > 0; i--) {
        int other = below(i + 1);
        MPI_Aint place = places[i];
        places[i] = places[other];
        places[other] = place;
    }
    MPI_Type_create_hindexed_block(n, length, places, of, &made);
    return made;
}

static MPI_Datatype part_of_array(MPI_Datatype of) {
    int sizes[2] = {2 + below(3), 2 + below(3)}, parts[2] = {1 + below(2), 1 + below(2)}, starts[2];
    MPI_Datatype made;
    for (int i = 0; i < 2; i++)
        starts[i] = below(sizes[i] - parts[i] + 1);
    MPI_Type_create_subarray(2, sizes, parts, starts, below(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, of, &made);
    return made;
}

static MPI_Datatype derived(MPI_Datatype basic, int depth) {
    MPI_Datatype made, of;
    MPI_Aint low, extent;
    if (depth == 0) {
        MPI_Type_dup(basic, &made);
        return made;
    }
    of = derived(basic, depth - 1);
    MPI_Type_get_extent(of, &low, &extent);
    int n = 1 + below(4), length = 1 + below(2), other = 1 + below(2);
    switch (below(8)) {
    case 0:
        MPI_Type_contiguous(n, of, &made);
        break;
    case 1:
        MPI_Type_vector(n, length, length + below(3), of, &made);
        break;
    case 2:
        MPI_Type_create_hvector(n, length, -extent * (length + below(2)), of, &made);
        break;
    case 3:
        made = indexed(n, of);
        break;
    case 4:
        made = shuffled(n, of, extent);
        break;
    case 5:
        MPI_Type_create_resized(of, low - below(2) * extent, extent * n, &made);
        break;
    case 6:
        made = part_of_array(of);
        break;
    default:
        MPI_Type_create_struct(2, (int[]){length, other}, (MPI_Aint[]){0, (length + below(2)) * extent},
                               (MPI_Datatype[]){of, of}, &made);
    }
    MPI_Type_free(&of);
    return made;
}

static struct layout layout_of(MPI_Datatype basic) {
    struct layout made = {derived(basic, below(DEEP)), 0, 0, 0, 0};
    MPI_Type_commit(&made.datatype);
    MPI_Type_size(made.datatype, &made.size);
    return made;
}

/* Sets the number of elements, and finds the bytes that they span. */
static void set_count(struct layout *layout, int count) {
    MPI_Aint low, extent, true_extent;
    layout->count = count;
    MPI_Type_get_extent(layout->datatype, &low, &extent);
    MPI_Type_get_true_extent(layout->datatype, &layout->low, &true_extent);
    layout->high = layout->low + true_extent;
    MPI_Aint last = count > 1 ? (count - 1) * extent : 0;
    *(last < 0 ? &layout->low : &layout->high) += last;
}

/* As many bytes on both sides. */
static void set_counts(struct layout *here, struct layout *there) {
    int a = here->size, b = there->size;
    while (a > 0 && b > 0) {
        int rest = a % b;
        a = b;
        b = rest;
    }
    int times = 1 + below(3), is_empty = here->size == 0 || there->size == 0;
    set_count(here, is_empty ? (here->size ? 0 : below(3)) : there->size / a * times);
    set_count(there, is_empty ? (there->size ? 0 : below(3)) : here->size / a * times);
    empty += is_empty;
}

static void pack(const void *from, const struct layout *layout, char *to) {
    int at = 0;
    MPI_Pack(from, layout->count, layout->datatype, to, ROOM, &at, MPI_COMM_SELF);
}

static void unpack(const char *from, void *to, const struct layout *layout) {
    int at = 0;
    MPI_Unpack(from, layout->count * layout->size, &at, to, layout->count, layout->datatype, MPI_COMM_SELF);
}

/* Returns whether no byte of the elements is another's. */
static int is_apart(const struct layout *layout) {
    int bytes = layout->count * layout->size, found = 0;
    memset(packed, 1, bytes);
    memset(marks, 0, ROOM);
    unpack(packed, marks - layout->low, layout);
    for (int i = 0; i < ROOM; i++)
        found += marks[i];
    return found == bytes;
}

/* Small numbers, which every operation takes exactly. */
static void fill(const struct layout *layout, MPI_Datatype basic, int basic_size) {
    int count = layout->count * layout->size / basic_size;
    memset(packed, 0, ROOM);
    for (int i = 0; i < count; i++) {
        char *at = packed + (size_t)i * basic_size;
        int number = 1 + below(50);
        if (basic == MPI_DOUBLE || basic == MPI_DOUBLE_INT)
            memcpy(at, &(double){number}, sizeof(double));
        else if (basic == MPI_LONG_DOUBLE)
            *(long double *)at = number;
        else
            *at = (char)number;
        if (basic == MPI_DOUBLE_INT || basic == MPI_SHORT_INT)
            memcpy(at + basic_size - sizeof i, &i, sizeof i);
    }
    memset(origin, 0, ROOM);
    unpack(packed, origin - layout->low, layout);
}

/* What an accumulate makes of packed elements. */
static void combine(const char *from, char *into, int bytes, MPI_Datatype basic, int basic_size, MPI_Op op) {
    static char elements[2][2 * ROOM];
    int count = bytes / basic_size, at = 0;
    if (op == MPI_REPLACE) {
        memcpy(into, from, bytes);
        return;
    }
    MPI_Unpack(from, bytes, &at, elements[0], count, basic, MPI_COMM_SELF);
    at = 0;
    MPI_Unpack(into, bytes, &at, elements[1], count, basic, MPI_COMM_SELF);
    MPI_Reduce_local(elements[0], elements[1], count, basic, op);
    at = 0;
    MPI_Pack(elements[1], count, basic, into, ROOM, &at, MPI_COMM_SELF);
}

static void operate(struct layout here, struct layout there, MPI_Datatype basic, int basic_size, MPI_Op op) {
    static char there_packed[ROOM], before[ROOM];
    int target = (rank + 1) % size, bytes = here.count * here.size, way = below(5);
    MPI_Aint place = (16 - there.low) / 16 * 16;
    char *ours = origin - here.low, *back = former - here.low;
    MPI_Request request;
    pack(ours, &here, packed);
    pack(expected + place, &there, there_packed);
    memcpy(before, there_packed, bytes);
    memset(former, 0x55, ROOM);
    memset(wanted, 0x55, ROOM);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
    switch (way) {
    case 0:
        MPI_Put(ours, here.count, here.datatype, target, place, there.count, there.datatype, win);
        memcpy(there_packed, packed, bytes);
        break;
    case 1:
        MPI_Get(back, here.count, here.datatype, target, place, there.count, there.datatype, win);
        break;
    case 2:
        MPI_Accumulate(ours, here.count, here.datatype, target, place, there.count, there.datatype, op, win);
        break;
    case 3:
        MPI_Raccumulate(ours, here.count, here.datatype, target, place, there.count, there.datatype, op, win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    default:
        MPI_Get_accumulate(ours, here.count, here.datatype, back, here.count, here.datatype, target, place, there.count,
                           there.datatype, op, win);
    }
    MPI_Win_flush(target, win);
    MPI_Get(all, ROOM, MPI_BYTE, target, 0, ROOM, MPI_BYTE, win);
    MPI_Win_unlock(target, win);
    if (way > 1)
        combine(packed, there_packed, bytes, basic, basic_size, op);
    unpack(there_packed, expected + place, &there);
    if (way == 1 || way > 3)
        unpack(before, wanted - here.low, &here);
    CHECK(memcmp(former, wanted, ROOM) == 0);
    if (basic == MPI_LONG_DOUBLE) {
        /* Ten bytes of sixteen hold it. */
        pack(all + place, &there, packed);
        for (int i = 0; i < bytes; i += basic_size)
            CHECK(memcmp(packed + i, there_packed + i, 10) == 0);
        unpack(packed, expected + place, &there);
    }
    CHECK(memcmp(all, expected, ROOM) == 0);
    done++;
}

static void one(int seed) {
    state = (uint64_t)seed * 88172645463325252u + (uint64_t)rank * 7919 + 1;
    for (int i = 0; i < 20; i++)
        below(2);
    int which = below(BASICS), basic_size;
    MPI_Datatype basic = basic_of(which);
    MPI_Op op = basic == MPI_SHORT_INT || basic == MPI_DOUBLE_INT ? MPI_MAXLOC
                : basic == MPI_SIGNED_CHAR                        ? MPI_REPLACE
                                                                  : MPI_SUM;
    struct layout here = layout_of(basic), there = layout_of(basic);
    MPI_Type_size(basic, &basic_size);
    set_counts(&here, &there);
    if (here.high - here.low < ROOM / 2 && there.high - there.low < ROOM / 2 && is_apart(&here) && is_apart(&there)) {
        fill(&here, basic, basic_size);
        operate(here, there, basic, basic_size, op);
    }
    MPI_Type_free(&here.datatype);
    MPI_Type_free(&there.datatype);
}

int main(int argc, char **argv) {
    char **rooms[] = {&expected, &origin, &former, &wanted, &packed, &marks, &all};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int seeds = argc > 1 ? atoi(argv[1]) : 100;
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++)
        *rooms[i] = calloc(1, ROOM);
    char *own = calloc(1, ROOM);
    if (argc > 2) {
        memory = own;
        MPI_Win_create(memory, ROOM, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    } else {
        MPI_Win_allocate(ROOM, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
        memset(memory, 0, ROOM);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int seed = 0; seed < seeds; seed++)
        one(seed);
    CHECK(done > seeds / 3 && empty > 0 && done > empty);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_free(&win);
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++)
        free(*rooms[i]);
    free(own);
    report("window_layouts", rank, size);
    MPI_Finalize();
    return 0;
}
