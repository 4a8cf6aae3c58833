/* Every collective that moves data: in every form, on one group and between two, with
 * MPI_IN_PLACE wherever it is allowed, with no elements, few and many. What is not significant
 * on a rank is garbage there. */
#include "team.h"

enum { UNTOUCHED = -7 };

/* Passed where nothing is significant. Volatile, or the compiler would know better. */
static void *volatile nowhere = (void *)64;
#define NOWHERE nowhere
#define NO_COUNTS ((int *)nowhere)

/* Element i of what rank `from` has for rank `to`. */
static int value(int from, int to, int i) { return 100000 * from + 1000 * to + i % 1000; }

static int *filled(int n, int with) {
    int *all = malloc((n + 1) * sizeof *all);
    for (int i = 0; i <= n; i++)
        all[i] = with;
    return all;
}

static void put(int *at, int from, int to, int n) {
    for (int i = 0; i < n; i++)
        at[i] = value(from, to, i);
}

static void expect(const int *at, int from, int to, int n) {
    for (int i = 0; i < n; i++)
        CHECK(at[i] == value(from, to, i));
}

static void bcast(const struct team *t, int form, int n, struct root root) {
    int *data = filled(n, UNTOUCHED), argument = root_argument(t, root), from = root.base + root.rank;
    if (is_root(t, root))
        put(data, from, 0, n);
    if (is_root(t, root) || is_leaf(t, root))
        RUN(form, Bcast, bcast, t->comm, data, n, MPI_INT, argument);
    else
        RUN(form, Bcast, bcast, t->comm, NOWHERE, -1, MPI_DATATYPE_NULL, argument);
    if (is_root(t, root) || is_leaf(t, root))
        expect(data, from, 0, n);
    CHECK(data[n] == UNTOUCHED);
    free(data);
}

/* Counts and places of blocks of different sizes, in the wrong order. */
struct blocks {
    int *counts, *places, total;
};

static int length(int n, int member) { return n == 0 ? 0 : n + member % 3 - 1; }

static struct blocks blocks_of(int n, int members) {
    struct blocks b = {filled(members, 0), filled(members, 0), 0};
    for (int i = members - 1; i >= 0; i--) {
        b.counts[i] = length(n, i);
        b.places[i] = b.total;
        b.total += b.counts[i] + 1;
    }
    return b;
}

static void free_blocks(struct blocks b) {
    free(b.counts);
    free(b.places);
}

static void gather(const struct team *t, int form, int n, struct root root, int in_place) {
    int argument = root_argument(t, root), stays = in_place && is_root(t, root);
    int *mine = filled(n, 0), *all = filled(n * t->others, UNTOUCHED);
    put(mine, id(t), 0, n);
    if (stays)
        put(all + n * t->rank, id(t), 0, n);
    const void *given = stays ? MPI_IN_PLACE : is_leaf(t, root) ? mine : NOWHERE;
    MPI_Datatype type = stays || !is_leaf(t, root) ? MPI_DATATYPE_NULL : MPI_INT;
    if (is_root(t, root))
        RUN(form, Gather, gather, t->comm, given, stays ? -1 : n, type, all, n, MPI_INT, argument);
    else
        RUN(form, Gather, gather, t->comm, given, is_leaf(t, root) ? n : -1, type, NOWHERE, -1, MPI_DATATYPE_NULL,
            argument);
    for (int i = 0; i < t->others && is_root(t, root); i++)
        expect(all + n * i, t->other_base + i, 0, n);
    CHECK(all[n * t->others] == UNTOUCHED);
    free(mine);
    free(all);
}

static void gatherv(const struct team *t, int form, int n, struct root root, int in_place) {
    int argument = root_argument(t, root), stays = in_place && is_root(t, root), own = length(n, t->rank);
    struct blocks b = blocks_of(n, t->others);
    int *mine = filled(own, 0), *all = filled(b.total, UNTOUCHED);
    put(mine, id(t), 0, own);
    if (stays)
        put(all + b.places[t->rank], id(t), 0, own);
    const void *given = stays ? MPI_IN_PLACE : is_leaf(t, root) ? mine : NOWHERE;
    MPI_Datatype type = stays || !is_leaf(t, root) ? MPI_DATATYPE_NULL : MPI_INT;
    if (is_root(t, root))
        RUN(form, Gatherv, gatherv, t->comm, given, own, type, all, b.counts, b.places, MPI_INT, argument);
    else
        RUN(form, Gatherv, gatherv, t->comm, given, own, type, NOWHERE, NO_COUNTS, NO_COUNTS, MPI_DATATYPE_NULL,
            argument);
    for (int i = 0; i < t->others && is_root(t, root); i++) {
        expect(all + b.places[i], t->other_base + i, 0, b.counts[i]);
        CHECK(all[b.places[i] + b.counts[i]] == UNTOUCHED);
    }
    free_blocks(b);
    free(mine);
    free(all);
}

static void scatter(const struct team *t, int form, int n, struct root root, int in_place) {
    int argument = root_argument(t, root), stays = in_place && is_root(t, root);
    int *mine = filled(n, UNTOUCHED), *all = filled(n * t->others, 0);
    for (int i = 0; i < t->others; i++)
        put(all + n * i, id(t), i, n);
    void *got = stays ? MPI_IN_PLACE : is_leaf(t, root) ? mine : NOWHERE;
    MPI_Datatype type = stays || !is_leaf(t, root) ? MPI_DATATYPE_NULL : MPI_INT;
    if (is_root(t, root))
        RUN(form, Scatter, scatter, t->comm, all, n, MPI_INT, got, stays ? -1 : n, type, argument);
    else
        RUN(form, Scatter, scatter, t->comm, NOWHERE, -1, MPI_DATATYPE_NULL, got, is_leaf(t, root) ? n : -1, type,
            argument);
    if (is_leaf(t, root) && !stays)
        expect(mine, root.base + root.rank, t->rank, n);
    CHECK(mine[n] == UNTOUCHED);
    free(mine);
    free(all);
}

static void scatterv(const struct team *t, int form, int n, struct root root, int in_place) {
    int argument = root_argument(t, root), stays = in_place && is_root(t, root), own = length(n, t->rank);
    struct blocks b = blocks_of(n, t->others);
    int *mine = filled(own, UNTOUCHED), *all = filled(b.total, 0);
    for (int i = 0; i < t->others; i++)
        put(all + b.places[i], id(t), i, b.counts[i]);
    void *got = stays ? MPI_IN_PLACE : is_leaf(t, root) ? mine : NOWHERE;
    MPI_Datatype type = stays || !is_leaf(t, root) ? MPI_DATATYPE_NULL : MPI_INT;
    if (is_root(t, root))
        RUN(form, Scatterv, scatterv, t->comm, all, b.counts, b.places, MPI_INT, got, own, type, argument);
    else
        RUN(form, Scatterv, scatterv, t->comm, NOWHERE, NO_COUNTS, NO_COUNTS, MPI_DATATYPE_NULL, got, own, type,
            argument);
    if (is_leaf(t, root) && !stays)
        expect(mine, root.base + root.rank, t->rank, own);
    CHECK(mine[own] == UNTOUCHED);
    free_blocks(b);
    free(mine);
    free(all);
}

static void allgathers(const struct team *t, int form, int n, int in_place) {
    int own = length(n, t->rank), *mine = filled(n + 1, 0), *all = filled(n * t->others, UNTOUCHED);
    struct blocks b = blocks_of(n, t->others);
    const void *given = in_place ? MPI_IN_PLACE : mine;
    MPI_Datatype type = in_place ? MPI_DATATYPE_NULL : MPI_INT;
    put(mine, id(t), 0, n + 1);
    if (in_place)
        put(all + n * t->rank, id(t), 0, n);
    RUN(form, Allgather, allgather, t->comm, given, in_place ? -1 : n, type, all, n, MPI_INT);
    for (int i = 0; i < t->others; i++)
        expect(all + n * i, t->other_base + i, 0, n);
    CHECK(all[n * t->others] == UNTOUCHED);
    free(all);
    all = filled(b.total, UNTOUCHED);
    if (in_place)
        put(all + b.places[t->rank], id(t), 0, own);
    RUN(form, Allgatherv, allgatherv, t->comm, given, own, type, all, b.counts, b.places, MPI_INT);
    for (int i = 0; i < t->others; i++) {
        expect(all + b.places[i], t->other_base + i, 0, b.counts[i]);
        CHECK(all[b.places[i] + b.counts[i]] == UNTOUCHED);
    }
    free_blocks(b);
    free(mine);
    free(all);
}

static void alltoall(const struct team *t, int form, int n, int in_place) {
    int *given = filled(n * t->others, 0), *got = filled(n * t->others, UNTOUCHED);
    for (int i = 0; i < t->others; i++)
        put((in_place ? got : given) + n * i, id(t), i, n);
    if (in_place)
        RUN(form, Alltoall, alltoall, t->comm, MPI_IN_PLACE, -1, MPI_DATATYPE_NULL, got, n, MPI_INT);
    else
        RUN(form, Alltoall, alltoall, t->comm, given, n, MPI_INT, got, n, MPI_INT);
    for (int i = 0; i < t->others; i++)
        expect(got + n * i, t->other_base + i, t->rank, n);
    CHECK(got[n * t->others] == UNTOUCHED);
    free(given);
    free(got);
}

/* How much two ranks exchange: the same both ways, as MPI_IN_PLACE needs it. */
static struct blocks pair_blocks(const struct team *t, int n) {
    struct blocks b = blocks_of(n, t->others);
    b.total = 0;
    for (int i = 0; i < t->others; i++) {
        b.counts[i] = length(n, t->rank + i);
        b.places[i] = b.total;
        b.total += b.counts[i] + 1;
    }
    return b;
}

static void vector_alltoalls(const struct team *t, int form, int n, int in_place, int typed) {
    struct blocks b = pair_blocks(t, n);
    int *given = filled(b.total, 0), *got = filled(b.total, UNTOUCHED), *bytes = filled(t->others, 0);
    MPI_Datatype *types = malloc(t->others * sizeof *types);
    for (int i = 0; i < t->others; i++) {
        put((in_place ? got : given) + b.places[i], id(t), i, b.counts[i]);
        bytes[i] = b.places[i] * (int)sizeof(int);
        types[i] = (t->rank + i) % 2 ? MPI_INT : MPI_INT32_T;
    }
    if (typed && in_place)
        RUN(form, Alltoallw, alltoallw, t->comm, MPI_IN_PLACE, NULL, NULL, NULL, got, b.counts, bytes, types);
    else if (typed)
        RUN(form, Alltoallw, alltoallw, t->comm, given, b.counts, bytes, types, got, b.counts, bytes, types);
    else if (in_place)
        RUN(form, Alltoallv, alltoallv, t->comm, MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, got, b.counts, b.places,
            MPI_INT);
    else
        RUN(form, Alltoallv, alltoallv, t->comm, given, b.counts, b.places, MPI_INT, got, b.counts, b.places, MPI_INT);
    for (int i = 0; i < t->others; i++) {
        expect(got + b.places[i], t->other_base + i, t->rank, b.counts[i]);
        CHECK(got[b.places[i] + b.counts[i]] == UNTOUCHED);
    }
    free_blocks(b);
    free(given);
    free(got);
    free(bytes);
    free(types);
}

static void try_all(const struct team *t, int form, int n) {
    MPI_Request request;
    if (form == BLOCKING)
        MPI_Barrier(t->comm);
    else if (form == NONBLOCKING)
        MPI_Ibarrier(t->comm, &request), MPI_Wait(&request, MPI_STATUS_IGNORE);
    else
        MPI_Barrier_init(t->comm, MPI_INFO_NULL, &request), run_once(&request);
    for (int which = 0; which < roots(t); which++)
        bcast(t, form, n, root_of(t, which));
    for (int in_place = 0; in_place < 2 - t->is_inter; in_place++) {
        for (int which = 0; which < roots(t); which++) {
            gather(t, form, n, root_of(t, which), in_place);
            gatherv(t, form, n, root_of(t, which), in_place);
            scatter(t, form, n, root_of(t, which), in_place);
            scatterv(t, form, n, root_of(t, which), in_place);
        }
        allgathers(t, form, n, in_place);
        alltoall(t, form, n, in_place);
        vector_alltoalls(t, form, n, in_place, 0);
        vector_alltoalls(t, form, n, in_place, 1);
    }
}

int main(int argc, char **argv) {
    static const int lengths[] = {0, 1, 2, 130, 20000};
    MPI_Init(&argc, &argv);
    struct team all = one_group();
    for (int form = 0; form < FORMS; form++)
        for (int i = 0; i < 5; i++)
            try_all(&all, form, lengths[i]);
    if (all.size > 1) {
        struct team halves = two_groups();
        for (int form = 0; form < FORMS; form++)
            for (int i = 0; i < 5; i++)
                try_all(&halves, form, lengths[i]);
        MPI_Comm_free(&halves.comm);
    }
    MPI_Finalize();
    report("every_collective", all.rank, all.size);
    return 0;
}
