/* Communicators to try collectives on: one group, or two with an intercommunicator between them. */
#ifndef VERBENA_TEAM_H
#define VERBENA_TEAM_H
#include "collective_forms.h"

/* A rank's view of its communicator. Every rank has an id: its own rank, plus `base`. */
struct team {
    MPI_Comm comm;
    int is_inter, rank, size, base;
    /* The group that ranks in calls mean, and the id of its rank 0. */
    int others, other_base;
};

static inline struct team one_group(void) {
    struct team t = {.comm = MPI_COMM_WORLD};
    MPI_Comm_rank(t.comm, &t.rank);
    MPI_Comm_size(t.comm, &t.size);
    t.others = t.size;
    return t;
}

/* The even and the odd ranks. */
static inline struct team two_groups(void) {
    struct team t = {.is_inter = 1};
    MPI_Comm half;
    int rank, side;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    side = rank % 2;
    MPI_Comm_split(MPI_COMM_WORLD, side, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 7, &t.comm);
    MPI_Comm_free(&half);
    MPI_Comm_rank(t.comm, &t.rank);
    MPI_Comm_size(t.comm, &t.size);
    MPI_Comm_remote_size(t.comm, &t.others);
    t.base = side ? 50 : 0;
    t.other_base = side ? 0 : 50;
    return t;
}

/* The root of a collective: a rank of the group with this base. */
struct root {
    int base, rank;
};

/* The `which`-th root to try: the first rank, the last one, and on an intercommunicator the same on
   the other side. */
static inline struct root root_of(const struct team *t, int which) {
    int here = !t->is_inter || (which / 2 ? 50 : 0) == t->base;
    int size = here ? t->size : t->others;
    struct root root = {here ? t->base : t->other_base, which % 2 ? size - 1 : 0};
    return root;
}

static inline int roots(const struct team *t) { return t->is_inter ? 4 : 2; }

/* The root argument that this rank passes. */
static inline int root_argument(const struct team *t, struct root root) {
    if (!t->is_inter || root.base != t->base)
        return root.rank;
    return root.rank == t->rank ? MPI_ROOT : MPI_PROC_NULL;
}

/* Whether this rank is the root, and whether it gives to or gets from it. */
static inline int is_root(const struct team *t, struct root root) {
    return root.base == t->base && root.rank == t->rank;
}

static inline int is_leaf(const struct team *t, struct root root) { return !t->is_inter || root.base != t->base; }

static inline int id(const struct team *t) { return t->base + t->rank; }
#endif
