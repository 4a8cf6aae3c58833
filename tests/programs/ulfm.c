/* Processes that are lost, and the others that go on (ULFM). The argument says what is tried. */
#include "check.h"
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

static int rank, size;

static void die(int signal) {
    (void)signal;
    kill(getpid(), SIGKILL);
}

static int is(int code, int class) {
    return class_of(code) == class;
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
    CHECK(is(MPI_Isend(&value, 1, MPI_INT, next, 0, comm, &requests[0]), MPIX_ERR_REVOKED));
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

/* Some ranks die at any time; the others shrink and go on, until each has done all its rounds. */
static void kills(int victims, int seed) {
    MPI_Comm comm, next;
    int done = 0, deaths = 0;
    srand(seed);
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
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
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
        MPIX_Comm_agree(comm, &ok);
        if (ok == 3)
            done = 1;
        if (ok == 0 || done) {
            CHECK(MPIX_Comm_shrink(comm, &next) == MPI_SUCCESS);
            MPI_Comm_set_errhandler(next, MPI_ERRORS_RETURN);
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

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (!strcmp(way, "nobody"))
        nobody();
    else if (!strcmp(way, "revoked"))
        revoked();
    else if (!strcmp(way, "lost"))
        lost();
    else
        kills(atoi(way), atoi(argv[2]));
    report("ulfm", rank, size);
    MPI_Finalize();
    return 0;
}
