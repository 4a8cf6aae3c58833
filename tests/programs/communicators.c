/* How communicators are made (MPI-5.0, 7.4 and 7.6), with what is easily forgotten: errors of
 * one rank only, order, what is inherited and what not, traffic on a communicator that was
 * freed. */
#include "check.h"
#include <sched.h>

static int rank, size;

static MPI_Group group_of(MPI_Comm comm, int count, const int *ranks) {
    MPI_Group all, some;
    MPI_Comm_group(comm, &all);
    CHECK(MPI_Group_incl(all, count, ranks, &some) == MPI_SUCCESS);
    MPI_Group_free(&all);
    return some;
}

/* The sum of the processes' numbers in the world tells that just these are in it, and that it
   works. */
static void has(MPI_Comm comm, int members, int sum_expected) {
    int comm_size, sum;
    CHECK(MPI_Comm_size(comm, &comm_size) == MPI_SUCCESS && comm_size == members);
    CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && sum == sum_expected);
}

static int all_sum(void) { return size * (size - 1) / 2; }

/* Every rank gets the class, and the communicator still works. */
static void errors_of_one_rank(void) {
    MPI_Comm bad = MPI_COMM_NULL;
    MPI_Info two;
    MPI_Group strange, world;
    int last = size - 1, half[] = {0, 1};
    CHECK_CLASS(MPI_Comm_split(MPI_COMM_WORLD, rank == last ? -1 : 0, 0, &bad), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Comm_split_type(MPI_COMM_WORLD, rank == 0 ? 4711 : MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &bad),
                MPI_ERR_ARG);
    MPI_Info_create(&two);
    MPI_Info_set(two, "mpi_hw_resource_type", "hwloc://Core");
    if (rank == last)
        MPI_Info_set(two, "mpi_pset_name", "mpi://WORLD");
    CHECK_CLASS(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, 0, two, &bad), MPI_ERR_INFO);
    MPI_Info_free(&two);
    if (size > 1) {
        MPI_Comm pair;
        MPI_Comm_split(MPI_COMM_WORLD, rank < 2 ? 0 : MPI_UNDEFINED, 0, &pair);
        MPI_Comm_group(MPI_COMM_WORLD, &world);
        if (rank < 2) {
            /* One of the two names a process that is not in the communicator, if there is one. */
            strange = rank == 0 && size > 2 ? group_of(MPI_COMM_WORLD, 1, &last) : group_of(MPI_COMM_WORLD, 2, half);
            if (size > 2)
                CHECK_CLASS(MPI_Comm_create(pair, strange, &bad), MPI_ERR_GROUP);
            MPI_Group_free(&strange);
            /* Overlapping groups: the one whose member disagrees learns of it. */
            strange = group_of(MPI_COMM_WORLD, rank == 0 ? 2 : 1, rank == 0 ? half : half + 1);
            CHECK_CLASS(MPI_Comm_create(pair, strange, &bad), rank == 0 ? MPI_ERR_GROUP : MPI_SUCCESS);
            if (rank == 1)
                MPI_Comm_free(&bad);
            MPI_Group_free(&strange);
            has(pair, 2, 1);
            MPI_Comm_free(&pair);
        }
        MPI_Group_free(&world);
    }
    has(MPI_COMM_WORLD, size, all_sum());
}

static void groups(void) {
    MPI_Comm comm;
    MPI_Group reversed, evens, odds;
    int ranks[64], count = 0, new_rank;
    for (int i = size - 1; i >= 0; i--)
        ranks[count++] = i;
    reversed = group_of(MPI_COMM_WORLD, size, ranks);
    CHECK(MPI_Comm_create(MPI_COMM_WORLD, reversed, &comm) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(comm, &new_rank) == MPI_SUCCESS && new_rank == size - 1 - rank);
    has(comm, size, all_sum());
    MPI_Comm_free(&comm);
    /* Several groups at once, and nothing at all. */
    for (int parity = 0; parity < 2; parity++) {
        count = 0;
        for (int i = parity; i < size; i += 2)
            ranks[count++] = i;
        *(parity ? &odds : &evens) = group_of(MPI_COMM_WORLD, count, ranks);
    }
    CHECK(MPI_Comm_create(MPI_COMM_WORLD, rank % 2 ? odds : evens, &comm) == MPI_SUCCESS);
    has(comm, (size + 1 - rank % 2) / 2, rank % 2 ? size / 2 * (size / 2) : (size - 1) / 2 * ((size + 1) / 2));
    MPI_Comm_free(&comm);
    CHECK(MPI_Comm_create(MPI_COMM_WORLD, rank % 2 ? MPI_GROUP_EMPTY : evens, &comm) == MPI_SUCCESS);
    CHECK((comm == MPI_COMM_NULL) == (rank % 2 == 1));
    if (comm != MPI_COMM_NULL)
        MPI_Comm_free(&comm);
    CHECK(MPI_Comm_create_group(MPI_COMM_WORLD, MPI_GROUP_EMPTY, 0, &comm) == MPI_SUCCESS && comm == MPI_COMM_NULL);
    if (rank % 2 == 0) {
        MPI_Comm other;
        CHECK(MPI_Comm_create_group(MPI_COMM_WORLD, odds, 3, &comm) == MPI_SUCCESS && comm == MPI_COMM_NULL);
        CHECK(MPI_Comm_create_group(MPI_COMM_WORLD, evens, 1, &comm) == MPI_SUCCESS);
        CHECK(MPI_Comm_create_group(MPI_COMM_WORLD, evens, 1, &other) == MPI_SUCCESS);
        has(other, (size + 1) / 2, (size - 1) / 2 * ((size + 1) / 2));
        MPI_Comm_free(&comm), MPI_Comm_free(&other);
    }
    CHECK_CLASS(MPI_Comm_create_group(MPI_COMM_WORLD, evens, -1, &comm), MPI_ERR_TAG);
    MPI_Group_free(&reversed), MPI_Group_free(&evens), MPI_Group_free(&odds);
}

static void same_handler(MPI_Comm comm, MPI_Errhandler expected) {
    MPI_Errhandler found;
    CHECK(MPI_Comm_get_errhandler(comm, &found) == MPI_SUCCESS && found == expected);
    MPI_Errhandler_free(&found);
}

static void quiet(MPI_Comm *comm, int *code, ...) { (void)comm, (void)code; }

/* Whether the communicator has the hint, no name, and the handler. */
static void is_fresh(MPI_Comm comm, MPI_Errhandler handler, int hint_expected) {
    char text[MPI_MAX_OBJECT_NAME];
    MPI_Info info;
    int len = sizeof text, hint;
    CHECK(MPI_Comm_get_name(comm, text, &len) == MPI_SUCCESS && len == 0 && text[0] == 0);
    CHECK(MPI_Comm_get_info(comm, &info) == MPI_SUCCESS);
    len = sizeof text;
    CHECK(MPI_Info_get_string(info, "mpi_assert_no_any_tag", &len, text, &hint) == MPI_SUCCESS);
    CHECK(hint == hint_expected);
    MPI_Info_free(&info);
    same_handler(comm, handler);
}

static void inheritance(void) {
    MPI_Comm parent, child, grid;
    MPI_Errhandler handler;
    MPI_Request request;
    MPI_Info info;
    char long_name[2 * MPI_MAX_OBJECT_NAME], name[MPI_MAX_OBJECT_NAME];
    int len;
    MPI_Comm_dup(MPI_COMM_WORLD, &parent);
    MPI_Comm_create_errhandler(quiet, &handler);
    MPI_Comm_set_errhandler(parent, handler);
    memset(long_name, 'x', sizeof long_name);
    long_name[sizeof long_name - 1] = 0;
    CHECK(MPI_Comm_set_name(parent, long_name) == MPI_SUCCESS);
    CHECK(MPI_Comm_get_name(parent, name, &len) == MPI_SUCCESS && len == MPI_MAX_OBJECT_NAME - 1);
    CHECK(strlen(name) == MPI_MAX_OBJECT_NAME - 1);
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    CHECK(MPI_Comm_set_info(parent, info) == MPI_SUCCESS);
    CHECK(MPI_Comm_dup(parent, &child) == MPI_SUCCESS);
    is_fresh(child, handler, 0);
    MPI_Comm_free(&child);
    CHECK(MPI_Comm_dup_with_info(parent, info, &child) == MPI_SUCCESS);
    is_fresh(child, handler, 1);
    MPI_Comm_free(&child);
    CHECK(MPI_Comm_idup_with_info(parent, info, &child, &request) == MPI_SUCCESS);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    is_fresh(child, handler, 1);
    MPI_Comm_free(&child);
    CHECK(MPI_Comm_split(parent, 0, 0, &child) == MPI_SUCCESS);
    is_fresh(child, handler, 0);
    MPI_Comm_free(&child);
    CHECK(MPI_Comm_split_type(parent, MPI_COMM_TYPE_SHARED, 0, info, &child) == MPI_SUCCESS);
    is_fresh(child, handler, 1);
    MPI_Comm_free(&child);
    CHECK(MPI_Cart_create(parent, 1, &size, (int[]){1}, 0, &grid) == MPI_SUCCESS);
    is_fresh(grid, handler, 0);
    CHECK(MPI_Comm_dup(grid, &child) == MPI_SUCCESS && MPI_Topo_test(child, &len) == MPI_SUCCESS && len == MPI_CART);
    MPI_Comm_free(&child);
    CHECK(MPI_Comm_split(grid, 0, 0, &child) == MPI_SUCCESS);
    CHECK(MPI_Topo_test(child, &len) == MPI_SUCCESS && len == MPI_UNDEFINED);
    MPI_Comm_free(&child), MPI_Comm_free(&grid), MPI_Comm_free(&parent);
    MPI_Info_free(&info);
    MPI_Errhandler_free(&handler);
}

static int failing_copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
    (void)comm, (void)key, (void)in, (void)out, (void)extra, (void)flag;
    return MPI_ERR_OTHER;
}

/* The copy callback of one rank fails: the others must not wait for it. */
static void failing_copies(void) {
    MPI_Comm parent, child = MPI_COMM_NULL;
    MPI_Request request;
    int key;
    MPI_Comm_dup(MPI_COMM_WORLD, &parent);
    MPI_Comm_create_keyval(failing_copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    if (rank == 0)
        MPI_Comm_set_attr(parent, key, NULL);
    CHECK_CLASS(MPI_Comm_dup(parent, &child), rank == 0 ? MPI_ERR_OTHER : MPI_SUCCESS);
    if (rank > 0)
        MPI_Comm_free(&child);
    CHECK_CLASS(MPI_Comm_idup(parent, &child, &request), rank == 0 ? MPI_ERR_OTHER : MPI_SUCCESS);
    if (rank > 0) {
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        MPI_Comm_free(&child);
    }
    has(parent, size, all_sum());
    MPI_Comm_free(&parent);
    MPI_Comm_free_keyval(&key);
}

/* Messages begun on a communicator arrive though it is freed meanwhile. */
static void freed_with_traffic(void) {
    MPI_Comm comm;
    MPI_Request requests[3];
    int right = (rank + 1) % size, left = (rank + size - 1) % size, in = -1, sum = -1;
    int *big = calloc(1 << 20, sizeof *big), *big_in = calloc(1 << 20, sizeof *big);
    big[77] = rank;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Irecv(big_in, 1 << 20, MPI_INT, left, 0, comm, &requests[0]);
    MPI_Isend(big, 1 << 20, MPI_INT, right, 0, comm, &requests[1]);
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[2]);
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS && comm == MPI_COMM_NULL);
    CHECK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(big_in[77] == left && sum == all_sum());
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Recv_init(&in, 1, MPI_INT, left, 0, comm, &requests[0]);
    MPI_Send_init(&rank, 1, MPI_INT, right, 0, comm, &requests[1]);
    CHECK(MPI_Comm_disconnect(&comm) == MPI_SUCCESS && comm == MPI_COMM_NULL);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    CHECK(in == left);
    MPI_Request_free(&requests[0]), MPI_Request_free(&requests[1]);
    CHECK_CLASS(MPI_Comm_free(&(MPI_Comm){MPI_COMM_WORLD}), MPI_ERR_COMM);
    CHECK(MPI_Comm_get_parent(&comm) == MPI_SUCCESS && comm == MPI_COMM_NULL);
    free(big), free(big_in);
}

static int split_size(int type, const char *key, const char *value) {
    MPI_Comm comm;
    MPI_Info info;
    int comm_size = 0;
    MPI_Info_create(&info);
    if (key)
        MPI_Info_set(info, key, value);
    CHECK(MPI_Comm_split_type(MPI_COMM_WORLD, type, 0, info, &comm) == MPI_SUCCESS);
    if (comm != MPI_COMM_NULL) {
        MPI_Comm_size(comm, &comm_size);
        MPI_Comm_free(&comm);
    }
    MPI_Info_free(&info);
    return comm_size;
}

/* 1 if the process is restricted to such a thing, 0 if not, -1 if the library does not know it. */
static int restricted(const char *sort) {
    MPI_Info info;
    char text[8];
    int len = sizeof text, flag;
    CHECK(MPI_Get_hw_resource_info(&info) == MPI_SUCCESS);
    MPI_Info_get_string(info, sort, &len, text, &flag);
    MPI_Info_free(&info);
    return flag ? strcmp(text, "true") == 0 : -1;
}

static void hardware(void) {
    static const char *hint = "mpi_hw_resource_type";
    cpu_set_t all, one;
    MPI_Comm comm, next;
    MPI_Info info;
    int cores = 0, mine = -1, number = -1, count;
    CHECK(split_size(MPI_COMM_TYPE_SHARED, NULL, NULL) == size && split_size(MPI_UNDEFINED, NULL, NULL) == 0);
    CHECK(split_size(MPI_COMM_TYPE_HW_GUIDED, NULL, NULL) == 0);
    CHECK(split_size(MPI_COMM_TYPE_HW_GUIDED, hint, "a teapot") == 0);
    CHECK(split_size(MPI_COMM_TYPE_HW_GUIDED, hint, "mpi_shared_memory") == size);
    CHECK(split_size(MPI_COMM_TYPE_HW_GUIDED, hint, "hwloc://Machine") == size);
    CHECK(split_size(MPI_COMM_TYPE_RESOURCE_GUIDED, hint, "hwloc://Machine") == size);
    CHECK(split_size(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://SELF") == 1);
    CHECK(split_size(MPI_COMM_TYPE_HW_GUIDED, "mpi_pset_name", "mpi://SELF") == 0);
    CHECK(restricted("hwloc://Machine") == 1 && restricted("a teapot") == -1);
    /* With each rank on a core of its own choice, ranks of one core come together. */
    CHECK(sched_getaffinity(0, sizeof all, &all) == 0);
    for (int i = 0; i < CPU_SETSIZE; i++)
        cores += CPU_ISSET(i, &all) != 0;
    if (cores < 2)
        return;
    CHECK(restricted("hwloc://PU") == 0 && split_size(MPI_COMM_TYPE_HW_GUIDED, hint, "hwloc://PU") == 0);
    CPU_ZERO(&one);
    while (mine < rank % 2)
        mine += CPU_ISSET(++number, &all) != 0;
    CPU_SET(number, &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    CHECK(restricted("hwloc://PU") == 1);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(split_size(MPI_COMM_TYPE_HW_GUIDED, hint, "hwloc://PU") == (size + 1 - rank % 2) / 2);
    /* Down to a core, each communicator smaller than the one before. */
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (;;) {
        char sort[64];
        int len = sizeof sort, flag, before;
        MPI_Comm_size(comm, &before);
        MPI_Info_create(&info);
        CHECK(MPI_Comm_split_type(comm, MPI_COMM_TYPE_HW_UNGUIDED, 0, info, &next) == MPI_SUCCESS);
        MPI_Info_get_string(info, hint, &len, sort, &flag);
        CHECK(flag == (next != MPI_COMM_NULL));
        MPI_Info_free(&info);
        MPI_Comm_free(&comm);
        if (next == MPI_COMM_NULL)
            break;
        MPI_Comm_size(next, &count);
        CHECK(count < before && restricted(sort) == 1);
        comm = next;
    }
    CHECK(sched_setaffinity(0, sizeof all, &all) == 0);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    errors_of_one_rank();
    groups();
    inheritance();
    failing_copies();
    freed_with_traffic();
    hardware();
    MPI_Finalize();
    report("communicators", rank, size);
    return 0;
}
