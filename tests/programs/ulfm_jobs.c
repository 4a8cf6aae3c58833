/* Jobs that are connected and lose processes (ULFM). The argument says what is tried. */
#include "deaths.h"
#include <stdlib.h>
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

static MPI_Comm spawn_on(MPI_Info info, char *way, int count, MPI_Comm comm) {
    char *arguments[] = {way, NULL};
    int codes[8];
    MPI_Comm children;
    CHECK(MPI_Comm_spawn(self, arguments, count, info, 0, comm, &children, codes) == MPI_SUCCESS);
    return children;
}

static MPI_Comm spawn(char *way, int count, MPI_Comm comm) {
    return spawn_on(MPI_INFO_NULL, way, count, comm);
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

/* A child dies once it has met its parent. */
static void meet_and_die(MPI_Comm parent) {
    MPI_Barrier(parent);
    kill(getpid(), SIGKILL);
}

/* A job of one, which a process that has an error handler has spawned, dies. */
static void alone(MPI_Comm parent) {
    if (parent != MPI_COMM_NULL)
        meet_and_die(parent);
    MPI_Comm child = spawn("alone", 1, MPI_COMM_SELF);
    MPI_Comm_set_errhandler(child, MPI_ERRORS_RETURN);
    CHECK(MPI_Barrier(child) == MPI_SUCCESS);
    int got;
    CHECK(is(MPI_Recv(&got, 1, MPI_INT, 0, 0, child, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED));
    CHECK(MPIX_Comm_failure_ack(child) == MPI_SUCCESS);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

/* Calls that do not wait, again and again, tell of the death of a child. */
static void polls(MPI_Comm parent, int knows) {
    if (parent != MPI_COMM_NULL)
        meet_and_die(parent);
    for (int way = 0; way < (knows ? 5 : 2); way++) {
        MPI_Comm child = spawn("polls", 1, MPI_COMM_SELF);
        MPI_Request request = MPI_REQUEST_NULL;
        int got, flag = 0, code, source = way % 2 ? MPI_ANY_SOURCE : 0;
        MPI_Comm_set_errhandler(child, MPI_ERRORS_RETURN);
        if (way < 2)
            MPI_Irecv(&got, 1, MPI_INT, source, 0, child, &request);
        CHECK(MPI_Barrier(child) == MPI_SUCCESS);
        do {
            if (way < 2) {
                code = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            } else if (way < 4) {
                code = MPI_Iprobe(source, 0, child, &flag, MPI_STATUS_IGNORE);
            } else {
                MPI_Group failed;
                code = MPIX_Comm_get_failed(child, &failed);
                MPI_Group_size(failed, &flag);
                MPI_Group_free(&failed);
            }
        } while (code == MPI_SUCCESS && !flag);
        if (way == 4)
            CHECK(code == MPI_SUCCESS && flag == 1);
        else if (knows)
            CHECK(is(code, way == 1 ? MPIX_ERR_PROC_FAILED_PENDING : MPIX_ERR_PROC_FAILED));
        else
            CHECK(code != MPI_SUCCESS);
        if (request != MPI_REQUEST_NULL) {
            MPI_Cancel(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        if (knows)
            CHECK(MPIX_Comm_failure_ack(child) == MPI_SUCCESS);
        MPI_Comm_disconnect(&child);
    }
}

/* The death is seen, as a broken connection, before the program wants to go on after deaths. */
static void known_before(MPI_Comm parent) {
    if (parent != MPI_COMM_NULL)
        meet_and_die(parent);
    MPI_Comm child = spawn("before", 1, MPI_COMM_SELF);
    MPI_Group failed;
    int got, count, flag = 1;
    CHECK(MPI_Barrier(child) == MPI_SUCCESS);
    /* Its errors are fatal so far, and no call is about it. */
    double until = MPI_Wtime() + 1;
    while (MPI_Wtime() < until)
        MPI_Iprobe(0, 0, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
    MPI_Comm_set_errhandler(child, MPI_ERRORS_RETURN);
    flag = 1;
    CHECK(MPIX_Comm_get_failed(child, &failed) == MPI_SUCCESS);
    MPI_Group_size(failed, &count);
    CHECK(count == 1);
    MPI_Group_free(&failed);
    CHECK(is(MPI_Recv(&got, 1, MPI_INT, 0, 0, child, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED));
    CHECK(is(MPIX_Comm_agree(child, &flag), MPIX_ERR_PROC_FAILED));
    CHECK(MPIX_Comm_failure_ack(child) == MPI_SUCCESS);
}

/* One question about a child that has died while nobody looked. */
static void asked_once(MPI_Comm parent) {
    if (parent != MPI_COMM_NULL)
        meet_and_die(parent);
    MPI_Comm child = spawn("once", 1, MPI_COMM_SELF);
    MPI_Group failed;
    int count;
    MPI_Comm_set_errhandler(child, MPI_ERRORS_RETURN);
    CHECK(MPI_Barrier(child) == MPI_SUCCESS);
    sleep(1);
    CHECK(MPIX_Comm_get_failed(child, &failed) == MPI_SUCCESS);
    MPI_Group_size(failed, &count);
    CHECK(count == 1);
    MPI_Group_free(&failed);
    CHECK(MPIX_Comm_failure_ack(child) == MPI_SUCCESS);
}

/* A program that has sessions alone loses a child. */
static int without_world(void) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm own, child;
    MPI_Request request;
    int got, flag = 1;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Group_from_session_pset(session, "mpi://SELF", &group);
    MPI_Comm_create_from_group(group, "alone", MPI_INFO_NULL, MPI_ERRORS_RETURN, &own);
    MPI_Group_free(&group);
    child = spawn("alone", 1, own);
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 0, child, &request);
    CHECK(MPI_Barrier(child) == MPI_SUCCESS);
    CHECK(is(MPI_Wait(&request, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED_PENDING));
    CHECK(is(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, child, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED));
    CHECK(is(MPIX_Comm_agree(child, &flag), MPIX_ERR_PROC_FAILED));
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(MPIX_Comm_failure_ack(child) == MPI_SUCCESS);
    MPI_Comm_disconnect(&child);
    MPI_Comm_free(&own);
    MPI_Session_finalize(&session);
    printf("ulfm_jobs: ok\n");
    return 0;
}

/* A spawn over a communicator with a dead process fails in one way or another, each time, and sets
   the codes at its root; over one of those that are left it works. */
static void over_dead(MPI_Comm parent) {
    if (parent != MPI_COMM_NULL) {
        MPI_Comm_disconnect(&parent);
        return;
    }
    char *arguments[] = {"over_dead", NULL};
    MPI_Comm left, children;
    int codes[2], root = 0;
    let_die();
    for (int round = 0; round < 6; round++) {
        codes[0] = codes[1] = -77;
        int code = MPI_Comm_spawn(self, arguments, 2, MPI_INFO_NULL, root, MPI_COMM_WORLD, &children, codes);
        CHECK(is(code, MPIX_ERR_PROC_FAILED) || is(code, MPI_ERR_SPAWN));
        for (int i = 0; i < 2; i++)
            CHECK(is(codes[i], MPIX_ERR_PROC_FAILED) || is(codes[i], MPI_ERR_SPAWN) || (rank && codes[i] == -77));
    }
    /* Each of these has taken several exchanges, and failed in another one here and there. */
    for (int round = 0; round < 20; round++) {
        MPI_Comm none;
        int code = MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &none), one = 1, sum = 0;
        CHECK(is(code, MPIX_ERR_PROC_FAILED));
        code = MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(is(code, MPIX_ERR_PROC_FAILED));
    }
    CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &left) == MPI_SUCCESS);
    codes[0] = codes[1] = -77;
    CHECK(MPI_Comm_spawn(self, arguments, 2, MPI_INFO_NULL, 0, left, &children, codes) == MPI_SUCCESS);
    CHECK(codes[0] == MPI_SUCCESS && codes[1] == MPI_SUCCESS);
    MPI_Comm_disconnect(&children);
    MPI_Comm_free(&left);
}

/* The children are on host b, whose processes have numbers of their own: nobody sees their ends. */
static void unseen(MPI_Comm parent) {
    if (parent != MPI_COMM_NULL) {
        let_die();
        MPI_Barrier(MPI_COMM_WORLD);
        return;
    }
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "host", "b:2");
    spawn_on(info, "unseen", 2, MPI_COMM_WORLD);
    MPI_Info_free(&info);
    sleep(1);
}

int main(int argc, char **argv) {
    MPI_Comm parent;
    self = argv[0];
    if (argc == 2 && strcmp(argv[1], "without_world") == 0)
        return without_world();
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
    else if (strcmp(argv[1], "polls") == 0)
        polls(parent, getenv("KNOWS_NOTHING") == NULL);
    else if (strcmp(argv[1], "once") == 0)
        asked_once(parent);
    else if (strcmp(argv[1], "before") == 0)
        known_before(parent);
    else if (strcmp(argv[1], "over_dead") == 0)
        over_dead(parent);
    else if (strcmp(argv[1], "unseen") == 0)
        unseen(parent);
    else
        one_dies(parent, argv[1]);
    if (rank == 0 && parent == MPI_COMM_NULL)
        printf("ulfm_jobs: ok\n");
    MPI_Finalize();
    return 0;
}
