/* Communicators, groups, attributes, info, error handlers and codes, as C sees them. */
#include "check.h"

static int rank, size;
static int copies, deletions;

static int copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
    int comm_size;
    (void)key;
    CHECK(MPI_Comm_size(comm, &comm_size) == MPI_SUCCESS && extra == &copies);
    copies++;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete_fn(MPI_Comm comm, int key, void *value, void *extra) {
    int comm_size;
    (void)key, (void)value, (void)extra;
    CHECK(MPI_Comm_size(comm, &comm_size) == MPI_SUCCESS);
    deletions++;
    return MPI_SUCCESS;
}

static int failing_delete(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm, (void)key, (void)value, (void)extra;
    return MPI_ERR_IO;
}

static void attributes(void) {
    MPI_Comm comm, dup;
    void *value;
    int key, key_copy, failing, flag, *tag_ub;
    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_ub, &flag) == MPI_SUCCESS && flag && *tag_ub >= 32767);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    CHECK(MPI_Comm_create_keyval(copy, delete_fn, &key, &copies) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_attr(comm, key, (void *)5) == MPI_SUCCESS);
    CHECK(MPI_Comm_dup(comm, &dup) == MPI_SUCCESS && copies == 1);
    CHECK(MPI_Comm_get_attr(dup, key, &value, &flag) == MPI_SUCCESS && flag && value == (void *)6);
    key_copy = key;
    CHECK(MPI_Comm_free_keyval(&key_copy) == MPI_SUCCESS && key_copy == MPI_KEYVAL_INVALID);
    CHECK(MPI_Comm_free(&dup) == MPI_SUCCESS && dup == MPI_COMM_NULL && deletions == 1);
    /* The attribute that is left keeps the key. */
    CHECK(MPI_Comm_get_attr(comm, key, &value, &flag) == MPI_SUCCESS && flag && value == (void *)5);
    CHECK_CLASS(MPI_Comm_set_attr(comm, MPI_TAG_UB, &key), MPI_ERR_KEYVAL);
    CHECK(MPI_Comm_create_keyval(MPI_COMM_DUP_FN, failing_delete, &failing, NULL) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_attr(comm, failing, &key) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Comm_free(&comm), MPI_ERR_IO);
    CHECK(comm != MPI_COMM_NULL);
    /* Deleted by MPI_Finalize. */
    CHECK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_fn, &key, NULL) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL) == MPI_SUCCESS);
}

static MPI_Comm seen;
static int seen_code;

static void handler(MPI_Comm *comm, int *code, ...) {
    seen = *comm;
    seen_code = *code;
}

static void error_handlers(void) {
    MPI_Comm comm, child, bad = MPI_COMM_NULL;
    MPI_Errhandler mine, again;
    int class;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    CHECK(MPI_Comm_create_errhandler(handler, &mine) == MPI_SUCCESS);
    CHECK(MPI_Comm_set_errhandler(comm, mine) == MPI_SUCCESS);
    CHECK(MPI_Comm_get_errhandler(comm, &again) == MPI_SUCCESS && again == mine);
    CHECK(MPI_Errhandler_free(&mine) == MPI_SUCCESS && MPI_Errhandler_free(&again) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Comm_split(comm, -7, 0, &bad), MPI_ERR_ARG);
    CHECK(seen == comm && seen_code == MPI_ERR_ARG);
    CHECK(MPI_Add_error_class(&class) == MPI_SUCCESS && MPI_Comm_call_errhandler(comm, class) == MPI_SUCCESS);
    CHECK(seen_code == class);
    CHECK(MPI_Comm_dup(comm, &child) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Comm_split(child, -7, 0, &bad), MPI_ERR_ARG);
    CHECK(seen == child);
    CHECK(MPI_Session_create_errhandler((MPI_Session_errhandler_function *)NULL, &mine) != MPI_SUCCESS);
    CHECK(MPI_Comm_free(&comm) == MPI_SUCCESS && MPI_Comm_free(&child) == MPI_SUCCESS);
}

/* The leader of the other half, in MPI_COMM_WORLD, when keys are reversed. */
static int other_leader(void) {
    int last_even = (size - 1) / 2 * 2, last_odd = (size - 2) / 2 * 2 + 1;
    return rank % 2 == 0 ? last_odd : last_even;
}

static void intercommunicators(MPI_Comm half) {
    MPI_Comm inter, dup, idup, merged;
    MPI_Request request;
    int remote_size, merged_rank, merged_size, result, sum;
    CHECK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, other_leader(), 9, &inter) == MPI_SUCCESS);
    CHECK(MPI_Comm_remote_size(inter, &remote_size) == MPI_SUCCESS);
    CHECK(remote_size == (rank % 2 == 0 ? size / 2 : (size + 1) / 2));
    CHECK(MPI_Comm_dup(inter, &dup) == MPI_SUCCESS);
    CHECK(MPI_Comm_idup(inter, &idup, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Comm_compare(idup, dup, &result) == MPI_SUCCESS && result == MPI_CONGRUENT);
    CHECK(MPI_Intercomm_merge(idup, rank % 2 == 0, &merged) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(merged, &merged_rank) == MPI_SUCCESS && MPI_Comm_size(merged, &merged_size) == MPI_SUCCESS);
    CHECK(merged_size == size && (merged_rank < size / 2) == (rank % 2 == 1));
    CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, merged) == MPI_SUCCESS && sum == size * (size - 1) / 2);
    CHECK(MPI_Comm_free(&inter) == MPI_SUCCESS && MPI_Comm_free(&dup) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&idup) == MPI_SUCCESS && MPI_Comm_free(&merged) == MPI_SUCCESS);
}

static void communicators(void) {
    MPI_Comm half, some, copy;
    MPI_Group all, others;
    MPI_Request request;
    int half_rank, half_size, zero = 0, result;
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half) == MPI_SUCCESS);
    CHECK(MPI_Comm_rank(half, &half_rank) == MPI_SUCCESS && MPI_Comm_size(half, &half_size) == MPI_SUCCESS);
    CHECK(half_size == (size + 1 - rank % 2) / 2 && half_rank == half_size - 1 - rank / 2);
    CHECK(MPI_Comm_group(MPI_COMM_WORLD, &all) == MPI_SUCCESS);
    CHECK(MPI_Group_excl(all, 1, &zero, &others) == MPI_SUCCESS);
    CHECK(MPI_Comm_create(MPI_COMM_WORLD, others, &some) == MPI_SUCCESS && (some == MPI_COMM_NULL) == (rank == 0));
    if (rank > 0) {
        CHECK(MPI_Comm_free(&some) == MPI_SUCCESS);
        CHECK(MPI_Comm_create_group(MPI_COMM_WORLD, others, 5, &some) == MPI_SUCCESS);
        CHECK(MPI_Barrier(some) == MPI_SUCCESS && MPI_Comm_free(&some) == MPI_SUCCESS);
    }
    /* Begun at different places in the program: a blocking duplication would wait for ever. */
    if (rank == 0 && size > 1)
        CHECK(MPI_Recv(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request) == MPI_SUCCESS);
    if (rank == 1)
        CHECK(MPI_Send(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Comm_compare(MPI_COMM_WORLD, copy, &result) == MPI_SUCCESS && result == MPI_CONGRUENT);
    CHECK(MPI_Barrier(copy) == MPI_SUCCESS && MPI_Comm_free(&copy) == MPI_SUCCESS);
    if (size > 1)
        intercommunicators(half);
    CHECK(MPI_Comm_free(&half) == MPI_SUCCESS);
    CHECK(MPI_Group_free(&all) == MPI_SUCCESS && MPI_Group_free(&others) == MPI_SUCCESS);
}

/* A call whose result is empty gives MPI_GROUP_EMPTY, which may be freed like any other. */
static void empty_groups(void) {
    MPI_Group all, made, empty = MPI_GROUP_EMPTY;
    int range[1][3] = {{0, size - 1, 1}}, *ranks = calloc(size, sizeof *ranks), members;
    for (int i = 0; i < size; i++)
        ranks[i] = i;
    CHECK(MPI_Comm_group(MPI_COMM_WORLD, &all) == MPI_SUCCESS);
    CHECK(MPI_Group_incl(all, 0, NULL, &made) == MPI_SUCCESS && made == MPI_GROUP_EMPTY);
    CHECK(MPI_Group_range_incl(all, 0, NULL, &made) == MPI_SUCCESS && made == MPI_GROUP_EMPTY);
    CHECK(MPI_Group_excl(all, size, ranks, &made) == MPI_SUCCESS && made == MPI_GROUP_EMPTY);
    CHECK(MPI_Group_range_excl(all, 1, range, &made) == MPI_SUCCESS && made == MPI_GROUP_EMPTY);
    CHECK(MPI_Group_difference(all, all, &made) == MPI_SUCCESS && made == MPI_GROUP_EMPTY);
    CHECK(MPI_Group_intersection(all, empty, &made) == MPI_SUCCESS && made == MPI_GROUP_EMPTY);
    CHECK(MPI_Group_union(empty, empty, &made) == MPI_SUCCESS && made == MPI_GROUP_EMPTY);
    CHECK(MPI_Group_union(all, empty, &made) == MPI_SUCCESS && made != MPI_GROUP_EMPTY);
    CHECK(MPI_Group_free(&made) == MPI_SUCCESS && MPI_Group_free(&all) == MPI_SUCCESS);
    CHECK(MPI_Group_free(&empty) == MPI_SUCCESS && empty == MPI_GROUP_NULL);
    CHECK(MPI_Group_size(MPI_GROUP_EMPTY, &members) == MPI_SUCCESS && members == 0);
    free(ranks);
}

static void grids(void) {
    int dims[2] = {0, 0}, periods[2] = {1, 0}, coords[2], source, dest, again;
    MPI_Comm grid, row;
    CHECK(MPI_Dims_create(size, 2, dims) == MPI_SUCCESS && dims[0] * dims[1] == size);
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid) == MPI_SUCCESS);
    CHECK(MPI_Cart_coords(grid, rank, 2, coords) == MPI_SUCCESS);
    CHECK(MPI_Cart_rank(grid, coords, &again) == MPI_SUCCESS && again == rank);
    CHECK(MPI_Cart_shift(grid, 1, 1, &source, &dest) == MPI_SUCCESS);
    CHECK((source == MPI_PROC_NULL) == (coords[1] == 0) && (dest == MPI_PROC_NULL) == (coords[1] == dims[1] - 1));
    CHECK(MPI_Cart_sub(grid, (int[]){0, 1}, &row) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(row, &again) == MPI_SUCCESS && again == dims[1]);
    CHECK_CLASS(MPI_Graphdims_get(row, &again, &again), MPI_ERR_TOPOLOGY);
    CHECK(MPI_Comm_free(&row) == MPI_SUCCESS && MPI_Comm_free(&grid) == MPI_SUCCESS);
}

int main(int argc, char **argv) {
    MPI_Info info;
    char name[MPI_MAX_OBJECT_NAME];
    int len, finalized;
    CHECK(MPI_Info_create(&info) == MPI_SUCCESS && MPI_Info_set(info, "key", "value") == MPI_SUCCESS);
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &len) == MPI_SUCCESS && strcmp(name, "MPI_COMM_WORLD") == 0);
    CHECK(MPI_Comm_get_name(MPI_COMM_NULL, name, &len) == MPI_SUCCESS && strcmp(name, "MPI_COMM_NULL") == 0);
    attributes();
    error_handlers();
    empty_groups();
    communicators();
    grids();
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    /* One of the freed duplicate and one of MPI_COMM_SELF; freeing the other communicator failed
       first. */
    CHECK(deletions == 2 && MPI_Finalized(&finalized) == MPI_SUCCESS && finalized);
    CHECK(MPI_Info_delete(info, "key") == MPI_SUCCESS && MPI_Info_free(&info) == MPI_SUCCESS);
    if (rank == 0)
        printf("objects: ok with %d ranks\n", size);
    return 0;
}
