/* Jobs that are connected and lose processes (ULFM). The argument says what is tried. */
#include "deaths.h"
#include <string.h>

static char *self;

/* All that are left of so many go on in a communicator of their own. */
static MPI_Comm go_on(MPI_Comm comm, int left) {
    int one = 1, sum = 0, flag = 3;
    MPI_Comm new;
    int code = MPI_Barrier(comm);
    /* Another one may have revoked it. */
    CHECK(is(code, MPIX_ERR_PROC_FAILED) || is(code, MPIX_ERR_REVOKED));
    CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
    CHECK(MPIX_Comm_shrink(comm, &new) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(new, &size) == MPI_SUCCESS && size == left);
    CHECK(MPIX_Comm_agree(new, &flag) == MPI_SUCCESS && flag == 3);
    CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, new) == MPI_SUCCESS && sum == left);
    MPI_Group failed;
    int count = 0;
    CHECK(MPIX_Comm_get_failed(comm, &failed) == MPI_SUCCESS);
    MPI_Group_size(failed, &count);
    CHECK(count >= 1);
    MPI_Group_free(&failed);
    MPI_Comm_rank(new, &rank);
    return new;
}

static MPI_Comm spawn(char *way, int count, MPI_Comm comm) {
    char *arguments[] = {way, NULL};
    int codes[8];
    MPI_Comm children;
    CHECK(MPI_Comm_spawn(self, arguments, count, MPI_INFO_NULL, 0, comm, &children, codes) == MPI_SUCCESS);
    return children;
}

static MPI_Comm merged(MPI_Comm inter, int high) {
    MPI_Comm all;
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    CHECK(MPI_Intercomm_merge(inter, high, &all) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    CHECK(MPI_Barrier(all) == MPI_SUCCESS);
    return all;
}

/* All are through what they have checked before one dies. */
static void die_after_all(MPI_Comm all, int dies) {
    MPI_Barrier(all);
    if (dies)
        kill(getpid(), SIGKILL);
}

/* One of the parents or of the children dies; all others go on together. */
static void one_dies(MPI_Comm parent, char *way) {
    int is_child = parent != MPI_COMM_NULL;
    MPI_Comm inter = is_child ? parent : spawn(way, 2, MPI_COMM_WORLD);
    int dies = rank == victim && is_child == (strcmp(way, "child") == 0), own, others;
    MPI_Comm all = merged(inter, is_child);
    MPI_Comm_size(inter, &own);
    MPI_Comm_remote_size(inter, &others);
    die_after_all(all, dies);
    /* The intercommunicator has the same loss. */
    int flag = 1, code = MPIX_Comm_agree(inter, &flag);
    CHECK(is(code, MPIX_ERR_PROC_FAILED) && flag == 1);
    MPI_Comm left = go_on(all, own + others - 1);
    MPI_Comm_free(&left);
}

/* The last one of the world dies again and again, and each time a new one takes its place. */
static void replaced(MPI_Comm parent) {
    int round = 0;
    MPI_Comm all = MPI_COMM_WORLD;
    if (parent != MPI_COMM_NULL) {
        all = merged(parent, 1);
        CHECK(MPI_Bcast(&round, 1, MPI_INT, 0, all) == MPI_SUCCESS);
    }
    for (;; round++) {
        int number = 1, sum = 0, whole = size;
        MPI_Comm_rank(all, &rank);
        MPI_Comm_size(all, &whole);
        CHECK(MPI_Allreduce(&number, &sum, 1, MPI_INT, MPI_SUM, all) == MPI_SUCCESS && sum == whole);
        if (round == 3)
            break;
        /* An original one, one that was spawned, and an original one again. */
        die_after_all(all, rank == (round == 1 ? whole - 1 : 1));
        MPI_Comm left = go_on(all, whole - 1);
        MPI_Comm new = merged(spawn("replace", 1, left), 0);
        int next = round + 1;
        CHECK(MPI_Bcast(&next, 1, MPI_INT, 0, new) == MPI_SUCCESS);
        all = new;
    }
}

/* The jobs have parted before one dies. */
static void after_parting(MPI_Comm parent) {
    if (parent != MPI_COMM_NULL) {
        CHECK(MPI_Comm_disconnect(&parent) == MPI_SUCCESS);
        return;
    }
    MPI_Comm children = spawn("parted", 2, MPI_COMM_WORLD), left;
    CHECK(MPI_Comm_disconnect(&children) == MPI_SUCCESS);
    let_die();
    left = go_on(MPI_COMM_WORLD, size - 1);
    MPI_Comm_free(&left);
}

/* A job of one, which a process that has an error handler has spawned, dies. */
static void alone(MPI_Comm parent) {
    if (parent != MPI_COMM_NULL) {
        MPI_Barrier(parent);
        kill(getpid(), SIGKILL);
    }
    MPI_Comm child = spawn("alone", 1, MPI_COMM_SELF);
    MPI_Comm_set_errhandler(child, MPI_ERRORS_RETURN);
    CHECK(MPI_Barrier(child) == MPI_SUCCESS);
    int got;
    CHECK(is(MPI_Recv(&got, 1, MPI_INT, 0, 0, child, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED));
    CHECK(MPIX_Comm_failure_ack(child) == MPI_SUCCESS);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

int main(int argc, char **argv) {
    MPI_Comm parent;
    self = argv[0];
    begin(&argc, &argv);
    CHECK(argc == 2);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL)
        MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
    if (strcmp(argv[1], "replace") == 0)
        replaced(parent);
    else if (strcmp(argv[1], "parted") == 0)
        after_parting(parent);
    else if (strcmp(argv[1], "alone") == 0)
        alone(parent);
    else
        one_dies(parent, argv[1]);
    if (rank == 0 && parent == MPI_COMM_NULL)
        printf("ulfm_jobs: ok\n");
    MPI_Finalize();
    return 0;
}
