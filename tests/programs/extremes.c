/* The extremes of numbers without an order (NaN, or zeros with unlike signs) are the same on all
 * ranks, bit by bit, whatever way the reduction goes. With the argument 1 they do not depend on an
 * element's place in the vector either. */
#include "check.h"

enum { MOST = 100000 };
static int rank, size;
static double from[MOST], to[MOST], first[MOST];
static struct pair {
    double value;
    int index;
} pairs[MOST], winners[MOST];

static void add(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *count; i++)
        ((double *)inout)[i] += ((double *)in)[i];
}

/* The number of a rank: one in three is none, and each has its own bits. */
static double number(int of, int which) {
    unsigned long long bits = of % 2 ? 0x7ff8000000000001 : 0xfff8000000000002;
    double zero = of % 2 ? -0.0 : 0.0, none;
    memcpy(&none, &bits, sizeof none);
    if (which == 0)
        return zero;
    if (which == 1)
        return of % 3 == which % 3 ? none : of;
    return of == which - 2 ? none : of == size - 1 ? none : -1.0 - of;
}

static void same(int count, const char *what, int which) {
    memcpy(first, to, count * sizeof *to);
    CHECK(MPI_Bcast(first, count, MPI_DOUBLE, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    if (memcmp(first, to, count * sizeof *to)) {
        fprintf(stderr, "extremes: %s of %d numbers (%d): rank %d has others than rank 0\n", what, count, which, rank);
        MPI_Abort(MPI_COMM_WORLD, 5);
    }
}

static void try(MPI_Op op, const char *what, int count, int which, int in_place, int places_are_alike) {
    for (int i = 0; i < count; i++)
        from[i] = to[i] = number(rank, which);
    CHECK(MPI_Allreduce(in_place ? MPI_IN_PLACE : from, to, count, MPI_DOUBLE, op, MPI_COMM_WORLD) == MPI_SUCCESS);
    same(count, what, which);
    for (int i = 1; i < count && places_are_alike; i++)
        if (memcmp(to, to + i, sizeof *to)) {
            fprintf(stderr, "extremes: %s of %d numbers (%d): %d is unlike the first\n", what, count, which, i);
            MPI_Abort(MPI_COMM_WORLD, 6);
        }
}

static void try_pairs(MPI_Op op, int count, int which) {
    for (int i = 0; i < count; i++)
        pairs[i].value = number(rank, which), pairs[i].index = 7;
    memset(winners, 0, sizeof winners);
    CHECK(MPI_Allreduce(pairs, winners, count, MPI_DOUBLE_INT, op, MPI_COMM_WORLD) == MPI_SUCCESS);
    for (int i = 0; i < count; i++)
        to[i] = winners[i].value;
    same(count, "pairs", which);
}

int main(int argc, char **argv) {
    int alike = argc > 1 && atoi(argv[1]), counts[] = {1, 3, 100, 1100, 2000, 40000, MOST};
    MPI_Op own;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Op_create(add, 1, &own);
    for (int round = 0; round < 5; round++)
        for (unsigned c = 0; c < sizeof counts / sizeof counts[0]; c++)
            for (int which = 0; which < size + 2; which++) {
                try(MPI_MAX, "the greatest", counts[c], which, round % 2, alike);
                try(MPI_MIN, "the least", counts[c], which, round % 2, alike);
                try(own, "a sum", counts[c], 0, round % 2, 0);
                try_pairs(MPI_MAXLOC, counts[c] / 4 + 1, which);
                try_pairs(MPI_MINLOC, counts[c] / 4 + 1, which);
            }
    MPI_Op_free(&own);
    MPI_Finalize();
    report("extremes", rank, size);
    return 0;
}
