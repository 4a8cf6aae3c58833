/* Intercommunicators (MPI-5.0, 7.6): made in every way, merged in every order, split, and
   refused. */
#include "check.h"

static int rank, size, side, local_rank, local_size, remote_size;
static MPI_Comm half;

/* The world rank of rank `i` of side `s`. */
static int member(int s, int i) { return 2 * i + s; }

/* The remote group is just this list of world ranks, and messages go across. */
static void joins(MPI_Comm inter, int count, const int *expected) {
    MPI_Group world, remote;
    int numbers[64], ranks[64], flag, n, mine, inner;
    CHECK(MPI_Comm_test_inter(inter, &flag) == MPI_SUCCESS && flag);
    CHECK(MPI_Comm_remote_size(inter, &n) == MPI_SUCCESS && n == count);
    CHECK(MPI_Comm_remote_group(inter, &remote) == MPI_SUCCESS);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int i = 0; i < count; i++)
        numbers[i] = i;
    CHECK(MPI_Group_translate_ranks(remote, count, numbers, world, ranks) == MPI_SUCCESS);
    CHECK(memcmp(ranks, expected, count * sizeof *ranks) == 0);
    MPI_Group_free(&world), MPI_Group_free(&remote);
    MPI_Comm_rank(inter, &mine);
    MPI_Comm_size(inter, &inner);
    for (int i = 0; i < count; i++) {
        int got = -1;
        MPI_Sendrecv(&rank, 1, MPI_INT, i, 0, &got, 1, MPI_INT, i, 0, inter, MPI_STATUS_IGNORE);
        CHECK(got == expected[i]);
    }
    CHECK(MPI_Barrier(inter) == MPI_SUCCESS);
    int total = 0, sum = 0;
    for (int i = 0; i < count; i++)
        total += expected[i];
    CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, inter) == MPI_SUCCESS && sum == total);
}

static void joins_sides(MPI_Comm inter) {
    int ranks[64];
    for (int i = 0; i < remote_size; i++)
        ranks[i] = member(1 - side, i);
    joins(inter, remote_size, ranks);
}

static void merges(MPI_Comm inter) {
    for (int highs = 0; highs < 4; highs++) {
        MPI_Comm merged;
        int high = highs >> side & 1, other = highs >> (1 - side) & 1, mine, all, first;
        CHECK(MPI_Intercomm_merge(inter, high, &merged) == MPI_SUCCESS);
        CHECK(MPI_Comm_rank(merged, &mine) == MPI_SUCCESS && MPI_Comm_size(merged, &all) == MPI_SUCCESS && all == size);
        /* With equal values either order is right, but it must be one. */
        first = mine == local_rank;
        CHECK(first || mine == remote_size + local_rank);
        CHECK(high == other || first == !high);
        int firsts = 0;
        MPI_Allreduce(&first, &firsts, 1, MPI_INT, MPI_SUM, merged);
        CHECK(firsts == (first ? local_size : remote_size));
        MPI_Comm_free(&merged);
    }
    CHECK_CLASS(MPI_Intercomm_merge(half, 0, &(MPI_Comm){MPI_COMM_NULL}), MPI_ERR_COMM);
}

static void derived(MPI_Comm inter) {
    MPI_Comm made;
    MPI_Group local, some;
    int ranks[64], count = 0, flag;
    CHECK(MPI_Comm_dup(inter, &made) == MPI_SUCCESS);
    joins_sides(made);
    CHECK(MPI_Comm_compare(inter, made, &flag) == MPI_SUCCESS && flag == MPI_CONGRUENT);
    CHECK(MPI_Comm_compare(inter, half, &flag) == MPI_SUCCESS && flag == MPI_UNEQUAL);
    MPI_Comm_free(&made);
    /* By color and reversed; colors of one side only make nothing. */
    int color = local_rank % 2 == 0 ? 0 : 1 + side;
    CHECK(MPI_Comm_split(inter, color, -local_rank, &made) == MPI_SUCCESS);
    CHECK((made == MPI_COMM_NULL) == (color != 0));
    if (made != MPI_COMM_NULL) {
        for (int i = (remote_size - 1) / 2 * 2; i >= 0; i -= 2)
            ranks[count++] = member(1 - side, i);
        joins(made, count, ranks);
        MPI_Comm_free(&made);
    }
    CHECK(MPI_Comm_split_type(inter, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made) == MPI_SUCCESS);
    joins_sides(made);
    MPI_Comm_free(&made);
    /* An error of one rank reaches both sides. */
    CHECK_CLASS(MPI_Comm_split(inter, rank == 1 ? -3 : 0, 0, &made), MPI_ERR_ARG);
    /* The first of this side with all of the other. */
    MPI_Comm_group(inter, &local);
    MPI_Group_incl(local, 1, (int[]){0}, &some);
    CHECK(MPI_Comm_create(inter, side == 0 ? some : local, &made) == MPI_SUCCESS);
    CHECK((made == MPI_COMM_NULL) == (side == 0 && local_rank > 0));
    if (made != MPI_COMM_NULL) {
        for (int i = 0; i < remote_size; i++)
            ranks[i] = member(1 - side, i);
        joins(made, side == 0 ? remote_size : 1, ranks);
        MPI_Comm_free(&made);
    }
    CHECK(MPI_Comm_create(inter, side == 0 ? MPI_GROUP_EMPTY : local, &made) == MPI_SUCCESS && made == MPI_COMM_NULL);
    CHECK_CLASS(MPI_Comm_create_group(inter, some, 0, &made), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Cart_create(inter, 1, (int[]){1}, (int[]){0}, 0, &made), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Intercomm_create(inter, 0, MPI_COMM_WORLD, 0, 0, &made), MPI_ERR_COMM);
    MPI_Group_free(&local), MPI_Group_free(&some);
}

/* A wrong leader ends no process, and nobody of the side waits. */
static void refused(void) {
    MPI_Comm made;
    int wrong[] = {size, -1, MPI_PROC_NULL, MPI_ANY_SOURCE, 1 << 30};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_CLASS(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, wrong[i], 0, &made), MPI_ERR_RANK);
        CHECK_CLASS(MPI_Intercomm_create(half, local_size + 5, MPI_COMM_WORLD, 0, 0, &made), MPI_ERR_RANK);
    }
    CHECK_CLASS(MPI_Intercomm_create(half, 0, MPI_COMM_NULL, 0, 0, &made), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, member(side, 0), 0, &made), MPI_ERR_COMM); /* itself */
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

static void from_groups(void) {
    MPI_Comm made;
    MPI_Group world, mine, theirs;
    int ranks[64];
    char tag[2 * MPI_MAX_STRINGTAG_LEN];
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Comm_group(half, &mine);
    MPI_Group_difference(world, mine, &theirs);
    CHECK(MPI_Intercomm_create_from_groups(mine, local_size - 1, theirs, remote_size - 1, "intercommunicators.c", MPI_INFO_NULL,
                                           MPI_ERRORS_RETURN, &made) == MPI_SUCCESS);
    joins_sides(made);
    MPI_Comm_disconnect(&made);
    CHECK(MPI_Intercomm_create_from_groups(mine, 0, MPI_GROUP_EMPTY, 0, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made) ==
          MPI_SUCCESS && made == MPI_COMM_NULL);
    CHECK(MPI_Intercomm_create_from_groups(MPI_GROUP_EMPTY, 0, theirs, 0, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made) ==
          MPI_SUCCESS && made == MPI_COMM_NULL);
    CHECK_CLASS(MPI_Intercomm_create_from_groups(mine, local_size, theirs, 0, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made),
                MPI_ERR_RANK);
    CHECK_CLASS(MPI_Intercomm_create_from_groups(mine, 0, theirs, remote_size, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made),
                MPI_ERR_RANK);
    memset(tag, 't', sizeof tag);
    tag[MPI_MAX_STRINGTAG_LEN - 1] = 0;
    CHECK(MPI_Comm_create_from_group(mine, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &made) == MPI_SUCCESS);
    CHECK(MPI_Comm_compare(made, half, ranks) == MPI_SUCCESS && ranks[0] == MPI_CONGRUENT);
    MPI_Comm_free(&made);
    tag[MPI_MAX_STRINGTAG_LEN - 1] = 't', tag[MPI_MAX_STRINGTAG_LEN] = 0;
    CHECK_CLASS(MPI_Comm_create_from_group(mine, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &made), MPI_ERR_ARG);
    CHECK(MPI_Comm_create_from_group(MPI_GROUP_EMPTY, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made) == MPI_SUCCESS);
    CHECK(made == MPI_COMM_NULL);
    CHECK_CLASS(MPI_Comm_create_from_group(theirs, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &made), MPI_ERR_GROUP);
    MPI_Group_free(&world), MPI_Group_free(&mine), MPI_Group_free(&theirs);
}

int main(int argc, char **argv) {
    MPI_Comm inter;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    side = rank % 2;
    MPI_Comm_split(MPI_COMM_WORLD, side, 0, &half);
    MPI_Comm_rank(half, &local_rank);
    MPI_Comm_size(half, &local_size);
    remote_size = size - local_size;
    CHECK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, member(1 - side, 0), 4, &inter) == MPI_SUCCESS);
    joins_sides(inter);
    merges(inter);
    derived(inter);
    refused();
    from_groups();
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    MPI_Finalize();
    report("intercommunicators", rank, size);
    return 0;
}
