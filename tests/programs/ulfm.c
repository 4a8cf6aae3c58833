/* Processes that are lost, and the others that go on (ULFM). The argument says what is tried. */
#include "deaths.h"
#include <sys/time.h>

static void die(int signal) {
    (void)signal;
    kill(getpid(), SIGKILL);
}

/* Nobody is lost: every call says so. */
static void nobody(void) {
    MPI_Comm comm, shrunk;
    MPI_Group failed;
    MPI_Request request;
    int flag = 1, count = -1, all;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    CHECK(MPIX_Comm_is_revoked(comm, &flag) == MPI_SUCCESS && flag == 0);
    CHECK(MPIX_Comm_get_failed(comm, &failed) == MPI_SUCCESS);
    MPI_Group_size(failed, &count);
    CHECK(count == 0);
    MPI_Group_free(&failed);
    CHECK(MPIX_Comm_ack_failed(comm, size, &count) == MPI_SUCCESS && count == 0);
    for (int i = 0; i < 50; i++) {
        flag = ~(1 << rank);
        CHECK(MPIX_Comm_agree(comm, &flag) == MPI_SUCCESS);
        CHECK(flag == ~((1 << size) - 1));
    }
    flag = ~(1 << rank);
    CHECK(MPIX_Comm_iagree(comm, &flag, &request) == MPI_SUCCESS);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(flag == ~((1 << size) - 1));
    CHECK(MPIX_Comm_shrink(comm, &shrunk) == MPI_SUCCESS);
    MPI_Comm_compare(comm, shrunk, &flag);
    CHECK(flag == MPI_CONGRUENT);
    MPI_Allreduce(&rank, &all, 1, MPI_INT, MPI_SUM, shrunk);
    CHECK(all == size * (size - 1) / 2);
    MPI_Comm_free(&shrunk);
    MPI_Comm_free(&comm);
}

/* Whatever is under way on a communicator that is revoked ends, and nothing begins. */
static void revoked(void) {
    MPI_Comm comm, shrunk;
    MPI_Request requests[3];
    MPI_Status statuses[3];
    int value = 7, got, flag = 0;
    static char large[1 << 20];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    int next = (rank + 1) % size;
    MPI_Irecv(&got, 1, MPI_INT, next, 99, comm, &requests[0]);
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 98, comm, &requests[1]);
    MPI_Issend(large, sizeof large, MPI_CHAR, next, 97, comm, &requests[2]);
    MPI_Barrier(comm);
    if (rank == 0)
        CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
    else
        CHECK(is(MPI_Recv(&got, 1, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE), MPIX_ERR_REVOKED));
    CHECK(is(MPI_Waitall(3, requests, statuses), MPI_ERR_IN_STATUS));
    for (int i = 0; i < 3; i++)
        CHECK(is(statuses[i].MPI_ERROR, MPIX_ERR_REVOKED));
    CHECK(MPIX_Comm_is_revoked(comm, &flag) == MPI_SUCCESS && flag == 1);
    CHECK(is(MPI_Send(&value, 1, MPI_INT, next, 0, comm), MPIX_ERR_REVOKED));
    requests[0] = (MPI_Request)comm;
    CHECK(is(MPI_Isend(&value, 1, MPI_INT, next, 0, comm, &requests[0]), MPIX_ERR_REVOKED));
    CHECK(requests[0] == MPI_REQUEST_NULL);
    CHECK(is(MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, comm), MPIX_ERR_REVOKED));
    CHECK(is(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, MPI_STATUS_IGNORE), MPIX_ERR_REVOKED));
    CHECK(is(MPI_Iprobe(next, 0, comm, &flag, MPI_STATUS_IGNORE), MPIX_ERR_REVOKED));
    CHECK(is(MPI_Barrier(comm), MPIX_ERR_REVOKED));
    CHECK(is(MPI_Comm_dup(comm, &shrunk), MPIX_ERR_REVOKED));
    flag = rank == 0 ? 1 : 3;
    CHECK(MPIX_Comm_agree(comm, &flag) == MPI_SUCCESS && flag == 1);
    CHECK(MPIX_Comm_shrink(comm, &shrunk) == MPI_SUCCESS);
    CHECK(MPI_Barrier(shrunk) == MPI_SUCCESS);
    MPI_Comm_free(&shrunk);
    MPI_Comm_free(&comm);
}

/* The last rank dies, and each operation with it ends. */
static void lost(void) {
    int victim = size - 1, value = rank, got, count, flag;
    MPI_Request request;
    MPI_Group failed;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == victim)
        die(0);
    CHECK(is(MPI_Recv(&got, 1, MPI_INT, victim, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED));
    CHECK(is(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
             MPIX_ERR_PROC_FAILED));
    CHECK(is(MPI_Send(&value, 1, MPI_INT, victim, 0, MPI_COMM_WORLD), MPIX_ERR_PROC_FAILED));
    CHECK(is(MPI_Probe(victim, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED));
    CHECK(is(MPI_Barrier(MPI_COMM_WORLD), MPIX_ERR_PROC_FAILED));
    CHECK(MPIX_Comm_get_failed(MPI_COMM_WORLD, &failed) == MPI_SUCCESS);
    MPI_Group_size(failed, &count);
    CHECK(count == 1);
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    int zero = 0;
    MPI_Group_translate_ranks(failed, 1, &zero, world, &got);
    CHECK(got == victim);
    flag = 1;
    CHECK(is(MPIX_Comm_agree(MPI_COMM_WORLD, &flag), MPIX_ERR_PROC_FAILED) && flag == 1);
    CHECK(MPIX_Comm_ack_failed(MPI_COMM_WORLD, size, &count) == MPI_SUCCESS && count == 1);
    CHECK(MPIX_Comm_agree(MPI_COMM_WORLD, &flag) == MPI_SUCCESS && flag == 1);
    /* The loss is acknowledged: any other may send. */
    int next = (rank + 1) % victim;
    MPI_Isend(&value, 1, MPI_INT, next, 6, MPI_COMM_WORLD, &request);
    CHECK(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(got == (rank + victim - 1) % victim);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Waits, by calls that do not wait, until a request ends; returns its class. */
static int test_class(MPI_Request *request, int any) {
    int flag = 0, index, code = MPI_SUCCESS;
    while (!flag && code == MPI_SUCCESS)
        code = any ? MPI_Testany(1, request, &index, &flag, MPI_STATUS_IGNORE)
                   : MPI_Test(request, &flag, MPI_STATUS_IGNORE);
    return class_of(code);
}

static int iprobe_class(int source, MPI_Comm comm) {
    int flag = 0, code = MPI_SUCCESS;
    while (!flag && code == MPI_SUCCESS)
        code = MPI_Iprobe(source, 3, comm, &flag, MPI_STATUS_IGNORE);
    CHECK(!flag);
    return class_of(code);
}

/* The first rank, which leads agreements, dies; the others only poll. */
static void polls(int way) {
    MPI_Comm comm;
    MPI_Request request;
    MPI_Message message;
    int got, flag = 0, count, code = MPI_SUCCESS;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Barrier(comm);
    if (rank == 0) {
        usleep(100000);
        die(0);
    }
    switch (way) {
    case 0:
    case 1:
        MPI_Irecv(&got, 1, MPI_INT, 0, 3, comm, &request);
        CHECK(test_class(&request, way) == MPIX_ERR_PROC_FAILED);
        break;
    case 2:
        CHECK(iprobe_class(0, comm) == MPIX_ERR_PROC_FAILED);
        break;
    case 3:
        CHECK(iprobe_class(MPI_ANY_SOURCE, comm) == MPIX_ERR_PROC_FAILED);
        break;
    case 4:
        while (!flag && code == MPI_SUCCESS)
            code = MPI_Improbe(0, 3, comm, &flag, &message, MPI_STATUS_IGNORE);
        CHECK(!flag && is(code, MPIX_ERR_PROC_FAILED));
        break;
    case 5:
        MPI_Ibarrier(comm, &request);
        CHECK(test_class(&request, 0) == MPIX_ERR_PROC_FAILED);
        break;
    case 6:
        for (count = 0; count == 0;)
            MPIX_Comm_ack_failed(comm, size, &count);
        break;
    }
    flag = 3;
    code = MPIX_Comm_agree(comm, &flag);
    CHECK((code == MPI_SUCCESS || is(code, MPIX_ERR_PROC_FAILED)) && flag == 3);
    CHECK(MPIX_Comm_failure_ack(comm) == MPI_SUCCESS);
    /* What the agreement has told is acknowledged. */
    CHECK(MPIX_Comm_agree(comm, &flag) == MPI_SUCCESS && flag == 3);
    MPI_Comm_free(&comm);
}

/* Messages with the highest tag are interrupted like all others, and no agreement takes them. */
static void tags(void) {
    MPI_Comm comm, made;
    MPI_Group group;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int *tag_ub, there, got, flag = 1;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &tag_ub, &there);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_group(comm, &group);
    MPI_Request agreement;
    for (int i = 0; i < 20; i++) {
        flag = 1;
        CHECK(MPIX_Comm_iagree(comm, &flag, &agreement) == MPI_SUCCESS);
        CHECK(MPI_Comm_create_group(comm, group, *tag_ub - i, &made) == MPI_SUCCESS);
        CHECK(MPI_Wait(&agreement, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag == 1);
        MPI_Comm_free(&made);
    }
    MPI_Irecv(&got, 1, MPI_INT, (rank + 1) % size, *tag_ub, comm, &requests[0]);
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, *tag_ub - 1, comm, &requests[1]);
    MPI_Barrier(comm);
    if (rank == 0)
        MPIX_Comm_revoke(comm);
    CHECK(is(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS));
    CHECK(is(statuses[0].MPI_ERROR, MPIX_ERR_REVOKED) && is(statuses[1].MPI_ERROR, MPIX_ERR_REVOKED));
    MPI_Group_free(&group);
    MPI_Comm_free(&comm);
}

/* Sends what nobody receives: short and long, to those that live, the dead one and itself. */
static void send_in_vain(int seed) {
    static char buffer[1 << 20];
    for (int to = 0; to < size; to++)
        for (int bytes = 1; bytes <= 1 << 20; bytes <<= 10) {
            MPI_Request request;
            if ((seed & 1) == 0)
                MPI_Isend(buffer, bytes, MPI_CHAR, to, 77, MPI_COMM_WORLD, &request);
            else
                MPI_Issend(buffer, bytes, MPI_CHAR, to, 77, MPI_COMM_WORLD, &request);
            MPI_Request_free(&request);
        }
}

/* The last rank dies just when the others finalize, or the first one with the world revoked. */
static void finalize(const char *way, int seed) {
    int count = 0;
    MPI_Win win;
    int *memory;
    MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(way, "revoked")) {
        if (rank == 0)
            MPIX_Comm_revoke(MPI_COMM_WORLD);
        return;
    }
    if (rank == size - 1) {
        usleep(seed * 37 % 1500);
        die(0);
    }
    if (!strcmp(way, "unreceived"))
        send_in_vain(seed);
    if (!strcmp(way, "noticed") || !strcmp(way, "unreceived"))
        while (count == 0)
            MPIX_Comm_ack_failed(MPI_COMM_WORLD, size, &count);
}

/* The last rank dies; all but one of the others repeat what fails until that one has revoked the
   communicator. */
static void repeats(int sends) {
    MPI_Comm comm;
    int code, value = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Barrier(comm);
    if (rank == size - 1)
        die(0);
    do {
        code = sends ? MPI_Send(&value, 1, MPI_INT, size - 1, 0, comm) : MPI_Barrier(comm);
        if (rank == 0 && is(code, MPIX_ERR_PROC_FAILED)) {
            usleep(50000);
            MPIX_Comm_revoke(comm);
        }
    } while (!is(code, MPIX_ERR_REVOKED));
    MPIX_Comm_failure_ack(comm);
    MPI_Comm_free(&comm);
}

/* The holder of a window's lock dies, and all others want it. */
static void locks(void) {
    MPI_Win win;
    int *memory, code;
    MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    if (rank == size - 1)
        CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1)
        die(0);
    CHECK(is(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win), MPIX_ERR_PROC_FAILED));
    /* The window's own collectives end too. */
    code = MPI_Win_fence(0, win);
    CHECK(is(code, MPIX_ERR_PROC_FAILED));
    CHECK(MPIX_Comm_failure_ack(MPI_COMM_WORLD) == MPI_SUCCESS);
}

/* A rank dies in long reductions, in which members reach into each other's memory. */
static void large(int in_place) {
    enum { COUNT = 1 << 19 };
    static int in[COUNT], out[COUNT];
    int code = MPI_SUCCESS;
    struct itimerval timer = {{0, 0}, {0, 200000}};
    signal(SIGALRM, die);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
    while (code == MPI_SUCCESS)
        code = MPI_Allreduce(in_place ? MPI_IN_PLACE : in, out, COUNT, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    CHECK(is(code, MPIX_ERR_PROC_FAILED));
    CHECK(MPIX_Comm_failure_ack(MPI_COMM_WORLD) == MPI_SUCCESS);
}

/* The last rank is killed; the others have noticed it and give up for another reason. */
static void gives_up(void) {
    int count = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1)
        die(0);
    while (count == 0)
        MPIX_Comm_ack_failed(MPI_COMM_WORLD, size, &count);
    usleep(100000);
    if (rank == 0)
        MPI_Abort(MPI_COMM_WORLD, 42);
    pause();
}

/* Errors end the ranks again when the last one is killed. */
static void withdrawn(void) {
    int got;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1)
        die(0);
    MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Some ranks die at any time; the others shrink and go on, until each has done all its rounds. */
static void kills(int victims, int seed) {
    MPI_Comm comm, next;
    int done = 0, deaths = 0;
    srand(seed);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    /* All are ready for a death now. */
    MPI_Barrier(comm);
    /* The victims are alike on all ranks. */
    for (int i = 0, chosen = 0; i < size; i++)
        if (rand() % (size - i) < victims - chosen) {
            int delay = 1 + rand() % 300000;
            struct itimerval timer = {{0, 0}, {0, delay}};
            chosen++;
            if (i == rank) {
                signal(SIGALRM, die);
                CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
            }
        }
    double until = MPI_Wtime() + 0.6;
    while (!done) {
        int members, mine = 1, sum = 0, late = MPI_Wtime() > until, ok, code;
        MPI_Comm_size(comm, &members);
        code = MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
        if (code != MPI_SUCCESS)
            CHECK(is(code, MPIX_ERR_PROC_FAILED) || is(code, MPIX_ERR_REVOKED));
        else
            CHECK(sum == members);
        if (code != MPI_SUCCESS)
            MPIX_Comm_revoke(comm);
        ok = code == MPI_SUCCESS ? (late ? 3 : 1) : 0;
        code = class_of(MPIX_Comm_agree(comm, &ok));
        CHECK(code == MPI_SUCCESS || code == MPIX_ERR_PROC_FAILED);
        if (ok == 3)
            done = 1;
        if (ok == 0 || done) {
            CHECK(MPIX_Comm_shrink(comm, &next) == MPI_SUCCESS);
            /* All have the same code of the agreement. */
            int least[2] = {code, -code};
            if (MPI_Allreduce(MPI_IN_PLACE, least, 2, MPI_INT, MPI_MIN, next) == MPI_SUCCESS)
                CHECK(least[0] == -least[1]);
            MPI_Comm_free(&comm);
            comm = next;
        }
    }
    int mine = 1, left = 0, order, last;
    CHECK(MPI_Allreduce(&mine, &left, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    MPI_Comm_size(comm, &last);
    CHECK(left == last && left == size - victims);
    MPI_Comm_rank(comm, &order);
    deaths = size - left;
    if (order == 0)
        printf("left: %d of %d after %d deaths\n", left, size, deaths);
    MPI_Comm_free(&comm);
}

/* Barriers are repeated after a death, also the one in which a communicator gets shared memory. */
static void barriers(int before) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < before; i++)
        CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
    let_die();
    for (int i = 0; i < 6; i++)
        CHECK(is(MPI_Barrier(comm), MPIX_ERR_PROC_FAILED));
    int acknowledged;
    CHECK(MPIX_Comm_ack_failed(comm, 1, &acknowledged) == MPI_SUCCESS && acknowledged == 1);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "";
    begin(&argc, &argv);
    if (!strcmp(way, "nobody"))
        nobody();
    else if (!strcmp(way, "revoked"))
        revoked();
    else if (!strcmp(way, "lost"))
        lost();
    else if (!strcmp(way, "polls"))
        polls(atoi(argv[2]));
    else if (!strcmp(way, "tags"))
        tags();
    else if (!strcmp(way, "finalize"))
        finalize(argv[2], atoi(argv[3]));
    else if (!strcmp(way, "repeats"))
        repeats(atoi(argv[2]));
    else if (!strcmp(way, "locks"))
        locks();
    else if (!strcmp(way, "large"))
        large(atoi(argv[2]));
    else if (!strcmp(way, "barriers"))
        barriers(atoi(argv[2]));
    else if (!strcmp(way, "gives_up"))
        gives_up();
    else if (!strcmp(way, "withdrawn"))
        withdrawn();
    else
        kills(atoi(way), atoi(argv[2]));
    report("ulfm", rank, size);
    MPI_Finalize();
    return 0;
}
