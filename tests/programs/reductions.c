/* Every collective that reduces: in every form, on one group and between two, with MPI_IN_PLACE
 * wherever it is allowed, with no elements, few and many, and with an operation that is not
 * commutative. */
#include "team.h"

/* The map x -> m x + c. Composition is associative, not commutative. */
struct map {
    unsigned m, c;
};

static struct map after(struct map a, struct map b) { return (struct map){a.m * b.m, a.m * b.c + a.c}; }

static void compose(void *in, void *inout, int *n, MPI_Datatype *type) {
    struct map *a = in, *b = inout;
    (void)type;
    for (int i = 0; i < *n; i++)
        b[i] = after(a[i], b[i]);
}

/* Operands: the i-th of the rank with this id. */
static struct map map_of(int member, int i) {
    return (struct map){2 * (unsigned)(member + i) + 3, (unsigned)(member + 7 * i) + 5};
}

/* The i-th result of the ranks from `first` up to `last`. */
static struct map composed(int first, int last, int i) {
    struct map all = {1, 0};
    for (int member = first; member <= last; member++)
        all = after(all, map_of(member, i));
    return all;
}

static MPI_Op op;
static MPI_Datatype pair;
static const struct map untouched = {77, 78};

static struct map *maps(int n) {
    struct map *all = malloc((n + 1) * sizeof *all);
    for (int i = 0; i <= n; i++)
        all[i] = untouched;
    return all;
}

static struct map *operands(const struct team *t, int n) {
    struct map *all = maps(n);
    for (int i = 0; i < n; i++)
        all[i] = map_of(id(t), i);
    return all;
}

/* `got` is results `from` and up of these ranks, `n` of them, and nothing behind. */
static void expect(const struct map *got, int first, int last, int from, int n, int room) {
    for (int i = 0; i < n; i++) {
        struct map right = composed(first, last, from + i);
        CHECK(got[i].m == right.m && got[i].c == right.c);
    }
    CHECK(got[room].m == untouched.m && got[room].c == untouched.c);
}

static void reduce(const struct team *t, int form, int n, struct root root, int in_place) {
    int argument = root_argument(t, root), stays = in_place && is_root(t, root);
    struct map *mine = operands(t, n), *got = stays ? operands(t, n) : maps(n);
    if (is_root(t, root) || is_leaf(t, root))
        RUN(form, Reduce, reduce, t->comm, stays ? MPI_IN_PLACE : mine, got, n, pair, op, argument);
    else
        RUN(form, Reduce, reduce, t->comm, NULL, NULL, -1, MPI_DATATYPE_NULL, MPI_OP_NULL, argument);
    if (is_root(t, root))
        expect(got, t->other_base, t->other_base + t->others - 1, 0, n, n);
    else
        expect(got, 0, 0, 0, 0, 0);
    free(mine);
    free(got);
}

static void allreduce(const struct team *t, int form, int n, int in_place) {
    struct map *mine = operands(t, n), *got = in_place ? operands(t, n) : maps(n);
    RUN(form, Allreduce, allreduce, t->comm, in_place ? MPI_IN_PLACE : mine, got, n, pair, op);
    expect(got, t->other_base, t->other_base + t->others - 1, 0, n, n);
    free(mine);
    free(got);
}

/* Both groups of an intercommunicator have to have the same number of elements in all. */
static void reduce_scatters(const struct team *t, int form, int n, int in_place) {
    int last = t->other_base + t->others - 1, each = t->is_inter ? n * t->others : n, total = each * t->size;
    struct map *mine = operands(t, total), *got = in_place ? operands(t, total) : maps(total);
    RUN(form, Reduce_scatter_block, reduce_scatter_block, t->comm, in_place ? MPI_IN_PLACE : mine, got, each, pair, op);
    expect(got, t->other_base, last, each * t->rank, each, total);
    free(got);
    got = in_place ? operands(t, total) : maps(total);
    /* The last rank gets nothing, the first one twice as much. */
    int *counts = malloc(t->size * sizeof *counts);
    for (int i = 0; i < t->size; i++)
        counts[i] = t->size == 1 ? each : i == 0 ? 2 * each : i == t->size - 1 ? 0 : each;
    int from = t->rank == 0 ? 0 : (t->rank + 1) * each;
    RUN(form, Reduce_scatter, reduce_scatter, t->comm, in_place ? MPI_IN_PLACE : mine, got, counts, pair, op);
    expect(got, t->other_base, last, from, counts[t->rank], total);
    free(counts);
    free(mine);
    free(got);
}

static void scans(const struct team *t, int form, int n, int in_place) {
    struct map *mine = operands(t, n), *got = in_place ? operands(t, n) : maps(n);
    RUN(form, Scan, scan, t->comm, in_place ? MPI_IN_PLACE : mine, got, n, pair, op);
    expect(got, 0, t->rank, 0, n, n);
    free(got);
    got = in_place ? operands(t, n) : maps(n);
    RUN(form, Exscan, exscan, t->comm, in_place ? MPI_IN_PLACE : mine, got, n, pair, op);
    if (t->rank > 0)
        expect(got, 0, t->rank - 1, 0, n, n);
    free(mine);
    free(got);
}

static void try_all(const struct team *t) {
    static const int lengths[] = {0, 1, 2, 33, 3000};
    for (int form = 0; form < FORMS; form++)
        for (int k = 0; k < 5; k++)
            for (int in_place = 0; in_place < 2 - t->is_inter; in_place++) {
                for (int which = 0; which < roots(t); which++)
                    reduce(t, form, lengths[k], root_of(t, which), in_place);
                allreduce(t, form, lengths[k], in_place);
                reduce_scatters(t, form, lengths[k], in_place);
                if (!t->is_inter)
                    scans(t, form, lengths[k], in_place);
            }
}

static void no_scan_between_groups(MPI_Comm inter) {
    int given = 1, got;
    MPI_Request request;
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Scan(&given, &got, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Iexscan(&given, &got, 1, MPI_INT, MPI_SUM, inter, &request), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Allreduce(MPI_IN_PLACE, &got, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_BUFFER);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    struct team all = one_group();
    MPI_Type_contiguous(2, MPI_UNSIGNED, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(compose, 0, &op);
    try_all(&all);
    if (all.size > 1) {
        struct team halves = two_groups();
        try_all(&halves);
        no_scan_between_groups(halves.comm);
        MPI_Comm_free(&halves.comm);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&pair);
    MPI_Finalize();
    report("reductions", all.rank, all.size);
    return 0;
}
