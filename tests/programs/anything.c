/* Random messages and collectives against what a naive computation expects. Every rank draws the
 * same script from the seed: `anything SEED [STEPS]`. With ANYTHING_PLANTED set, a byte of one
 * message is expected wrongly, so that it can be shown that a fault is seen. */
#include "check.h"
#include <stdint.h>

enum { MESSAGES = 12, GUARD = 16, LENGTH_MAX = 60000 };

static int rank, size, step;
static uint64_t seed, state;

static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/* A number below `bound`, the same on every rank. */
static int below(int bound) {
    state += 0x9e3779b97f4a7c15ull;
    return (int)(mix(state) % (uint64_t)bound);
}

static int length(void) {
    static const int most[] = {1, 4, 20, 200, 3000, 20000, LENGTH_MAX};
    return below(most[below(7)] + 1);
}

static int value(int from, int what, int i) {
    return (int)(mix(seed * 31 + step * 1000003ull + from * 7919ull + what * 104729ull + i) >> 40);
}

/* `n` ints laid out in one of several ways: the datatype of all, and where the i-th int lies. */
typedef struct {
    int kind, n;
    MPI_Datatype type;
} Layout;

static int at(const Layout *l, int i) {
    switch (l->kind) {
    case 1: return 2 * i;                /* every second */
    case 2: return l->n - 1 - i;         /* backwards */
    case 3: return i / 3 * 5 + i % 3;    /* three of five */
    default: return i;
    }
}

static int ints(const Layout *l) { return l->kind == 0 || l->kind == 2 ? l->n : 2 * l->n + 5; }

static Layout layout(int kind, int n) {
    Layout l = {kind, n, MPI_DATATYPE_NULL};
    if (kind == 1)
        MPI_Type_vector(n, 1, 2, MPI_INT, &l.type);
    else if (kind == 2)
        MPI_Type_create_hvector(n, 1, -(MPI_Aint)sizeof(int), MPI_INT, &l.type);
    else if (kind == 3) {
        int lengths[2] = {3, n % 3};
        MPI_Datatype triple, row, types[2];
        MPI_Aint places[2] = {0, (MPI_Aint)(n / 3 * 5 * sizeof(int))};
        MPI_Type_contiguous(3, MPI_INT, &triple);
        MPI_Type_create_resized(triple, 0, 5 * sizeof(int), &row);
        types[0] = row, types[1] = MPI_INT, lengths[0] = n / 3;
        MPI_Type_create_struct(2, lengths, places, types, &l.type);
        MPI_Type_free(&triple);
        MPI_Type_free(&row);
    } else
        MPI_Type_contiguous(n, MPI_INT, &l.type);
    MPI_Type_commit(&l.type);
    return l;
}

/* The address that the datatype counts from. */
static int *origin(const Layout *l, int *memory) { return memory + GUARD + (l->kind == 2 && l->n > 0 ? l->n - 1 : 0); }

static int *room(const Layout *l, int fill) {
    int all = ints(l) + 2 * GUARD, *memory = malloc(all * sizeof *memory);
    for (int i = 0; i < all; i++)
        memory[i] = fill;
    return memory;
}

/* The first `came` ints are these of `from`, and nothing else was touched. */
static void expect(const Layout *l, int *memory, int came, int from, int what) {
    int all = ints(l) + 2 * GUARD, *expected = room(l, -1);
    for (int i = 0; i < came; i++)
        expected[GUARD + at(l, i)] = value(from, what, i);
    if (getenv("ANYTHING_PLANTED") && came > 0 && seed % 4 == 0)
        expected[GUARD + at(l, 0)] ^= 1;
    for (int i = 0; i < all; i++)
        if (memory[i] != expected[i]) {
            fprintf(stderr, "seed %llu step %d: rank %d of %d: int %d of message %d from %d (%d of %d ints, layout %d) is %d, not %d\n",
                    (unsigned long long)seed, step, rank, size, i - GUARD, what, from, came, l->n, l->kind, memory[i], expected[i]);
            MPI_Abort(MPI_COMM_WORLD, 3);
        }
    free(expected);
}

typedef struct {
    int from, to, tag, n, more, mode, any, send_kind, receive_kind, late;
} Message;

static void draw(Message *m, int number) {
    m->from = below(size), m->to = below(size);
    /* No other step has it: a rank that is a step ahead must not meet a receive from any source. */
    m->tag = step * MESSAGES + number;
    m->n = length();
    m->more = below(3) ? 0 : length();
    m->mode = below(4), m->any = below(4);
    m->send_kind = below(4), m->receive_kind = below(4);
    m->late = below(3) == 0;
}

static void post(const Message *m, Layout *l, int **memory, MPI_Request *request) {
    *l = layout(m->receive_kind == 2 ? 0 : m->receive_kind, m->n + m->more);
    *memory = room(l, -1);
    MPI_Irecv(origin(l, *memory), 1, l->type, m->any == 1 ? MPI_ANY_SOURCE : m->from, m->tag, MPI_COMM_WORLD, request);
}

static void launch(const Message *m, int number, Layout *l, int **memory, MPI_Request *request) {
    *l = layout(m->send_kind, m->n);
    *memory = room(l, 0);
    for (int i = 0; i < m->n; i++)
        (*memory)[GUARD + at(l, i)] = value(m->from, number, i);
    if (m->mode == 0)
        MPI_Issend(origin(l, *memory), 1, l->type, m->to, m->tag, MPI_COMM_WORLD, request);
    else
        MPI_Isend(origin(l, *memory), 1, l->type, m->to, m->tag, MPI_COMM_WORLD, request);
}

/* Messages between any ranks; some are received only after they were sent, some into longer
   buffers or other layouts. */
static void messages(void) {
    int count = 1 + below(MESSAGES), *in[MESSAGES] = {0}, *out[MESSAGES] = {0}, got;
    Message all[MESSAGES];
    Layout inward[MESSAGES], outward[MESSAGES];
    MPI_Request requests[2 * MESSAGES];
    MPI_Status statuses[2 * MESSAGES];
    for (int i = 0; i < 2 * MESSAGES; i++)
        requests[i] = MPI_REQUEST_NULL;
    for (int i = 0; i < count; i++)
        draw(&all[i], i);
    for (int i = 0; i < count; i++)
        if (all[i].to == rank && !all[i].late)
            post(&all[i], &inward[i], &in[i], &requests[i]);
    for (int i = 0; i < count; i++)
        if (all[i].from == rank)
            launch(&all[i], i, &outward[i], &out[i], &requests[MESSAGES + i]);
    for (int i = count - 1; i >= 0; i--)
        if (all[i].to == rank && all[i].late)
            post(&all[i], &inward[i], &in[i], &requests[i]);
    MPI_Waitall(2 * MESSAGES, requests, statuses);
    for (int i = 0; i < count; i++) {
        if (in[i]) {
            MPI_Get_count(&statuses[i], MPI_INT, &got);
            CHECK(statuses[i].MPI_SOURCE == all[i].from && statuses[i].MPI_TAG == all[i].tag && got == all[i].n);
            expect(&inward[i], in[i], got, all[i].from, i);
            MPI_Type_free(&inward[i].type);
        }
        if (out[i])
            MPI_Type_free(&outward[i].type);
        free(in[i]);
        free(out[i]);
    }
}

static int fold(int op, int a, int b) { return op == 0 ? (int)((unsigned)a + (unsigned)b) : op == 1 ? (a > b ? a : b) : a ^ b; }

static int folded(int op, int from, int to, int i) {
    int result = value(from, 0, i);
    for (int r = from + 1; r < to; r++)
        result = fold(op, result, value(r, 0, i));
    return result;
}

static void is(const char *what, int got, int expected, int i) {
    if (getenv("ANYTHING_PLANTED") && seed % 4 == 0)
        expected ^= 1;
    if (got != expected) {
        fprintf(stderr, "seed %llu step %d: rank %d of %d: %s: int %d is %d, not %d\n", (unsigned long long)seed, step, rank, size, what, i,
                got, expected);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

/* One collective on the world, blocking or not, sometimes in place. */
static void collective(void) {
    MPI_Op chosen[3] = {MPI_SUM, MPI_MAX, MPI_BXOR};
    int n = length() / size, root = below(size), op = below(3), which = below(9), nonblocking = below(2), in_place = below(3) == 0;
    int all = n * size, *mine = malloc((all + 1) * sizeof *mine), *theirs = malloc((all + 1) * sizeof *theirs);
    MPI_Request request = MPI_REQUEST_NULL;
    for (int i = 0; i < all; i++)
        mine[i] = value(rank, 0, i), theirs[i] = -1;
#define EITHER(call, icall)                                                                                            \
    if (nonblocking) {                                                                                                 \
        icall;                                                                                                         \
        MPI_Wait(&request, MPI_STATUS_IGNORE);                                                                         \
    } else                                                                                                             \
        call
    switch (which) {
    case 0:
        EITHER(MPI_Bcast(mine, n, MPI_INT, root, MPI_COMM_WORLD), MPI_Ibcast(mine, n, MPI_INT, root, MPI_COMM_WORLD, &request));
        for (int i = 0; i < n; i++)
            is("bcast", mine[i], value(root, 0, i), i);
        break;
    case 1:
        if (in_place)
            memcpy(theirs, mine, n * sizeof *mine);
        EITHER(MPI_Allreduce(in_place ? MPI_IN_PLACE : mine, theirs, n, MPI_INT, chosen[op], MPI_COMM_WORLD),
               MPI_Iallreduce(in_place ? MPI_IN_PLACE : mine, theirs, n, MPI_INT, chosen[op], MPI_COMM_WORLD, &request));
        for (int i = 0; i < n; i++)
            is("allreduce", theirs[i], folded(op, 0, size, i), i);
        break;
    case 2:
        EITHER(MPI_Reduce(mine, theirs, n, MPI_INT, chosen[op], root, MPI_COMM_WORLD),
               MPI_Ireduce(mine, theirs, n, MPI_INT, chosen[op], root, MPI_COMM_WORLD, &request));
        for (int i = 0; i < n; i++)
            is("reduce", theirs[i], rank == root ? folded(op, 0, size, i) : -1, i);
        break;
    case 3:
        EITHER(MPI_Allgather(mine, n, MPI_INT, theirs, n, MPI_INT, MPI_COMM_WORLD),
               MPI_Iallgather(mine, n, MPI_INT, theirs, n, MPI_INT, MPI_COMM_WORLD, &request));
        for (int i = 0; i < all; i++)
            is("allgather", theirs[i], value(i / n, 0, i % n), i);
        break;
    case 4:
        EITHER(MPI_Alltoall(mine, n, MPI_INT, theirs, n, MPI_INT, MPI_COMM_WORLD),
               MPI_Ialltoall(mine, n, MPI_INT, theirs, n, MPI_INT, MPI_COMM_WORLD, &request));
        for (int i = 0; i < all; i++)
            is("alltoall", theirs[i], value(i / n, 0, rank * n + i % n), i);
        break;
    case 5:
        EITHER(MPI_Gather(mine, n, MPI_INT, theirs, n, MPI_INT, root, MPI_COMM_WORLD),
               MPI_Igather(mine, n, MPI_INT, theirs, n, MPI_INT, root, MPI_COMM_WORLD, &request));
        for (int i = 0; i < all; i++)
            is("gather", theirs[i], rank == root ? value(i / n, 0, i % n) : -1, i);
        break;
    case 6:
        EITHER(MPI_Scatter(mine, n, MPI_INT, theirs, n, MPI_INT, root, MPI_COMM_WORLD),
               MPI_Iscatter(mine, n, MPI_INT, theirs, n, MPI_INT, root, MPI_COMM_WORLD, &request));
        for (int i = 0; i < n; i++)
            is("scatter", theirs[i], value(root, 0, rank * n + i), i);
        break;
    case 7:
        EITHER(MPI_Scan(mine, theirs, n, MPI_INT, chosen[op], MPI_COMM_WORLD),
               MPI_Iscan(mine, theirs, n, MPI_INT, chosen[op], MPI_COMM_WORLD, &request));
        for (int i = 0; i < n; i++)
            is("scan", theirs[i], folded(op, 0, rank + 1, i), i);
        break;
    default:
        EITHER(MPI_Reduce_scatter_block(mine, theirs, n, MPI_INT, chosen[op], MPI_COMM_WORLD),
               MPI_Ireduce_scatter_block(mine, theirs, n, MPI_INT, chosen[op], MPI_COMM_WORLD, &request));
        for (int i = 0; i < n; i++)
            is("reduce_scatter_block", theirs[i], folded(op, 0, size, rank * n + i), i);
    }
    free(mine);
    free(theirs);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc > 1);
    seed = strtoull(argv[1], NULL, 10);
    state = mix(seed + 1);
    for (step = 0; step < (argc > 2 ? atoi(argv[2]) : 40); step++)
        if (below(5) < 3)
            messages();
        else
            collective();
    MPI_Finalize();
    report("anything", rank, size);
    return 0;
}
