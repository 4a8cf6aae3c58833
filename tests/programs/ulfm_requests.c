/* Requests in a job that loses a process (ULFM). The argument says what is tried; the last rank
   dies. */
#include "deaths.h"

static void acknowledge(MPI_Comm comm) {
    int count = 0;
    CHECK(MPIX_Comm_ack_failed(comm, size, &count) == MPI_SUCCESS && count == 1);
}

/* Sends to the next rank that lives, once all of them have heard of the death. */
static void send_next(int value, int tag, MPI_Comm comm) {
    CHECK(MPI_Send(&value, 1, MPI_INT, (rank + 1) % victim, tag, comm) == MPI_SUCCESS);
}

/* Waits for all ranks that live, in a way that needs no acknowledgement. */
static void meet(void) {
    int flag = 1;
    CHECK(is(MPIX_Comm_agree(MPI_COMM_WORLD, &flag), MPIX_ERR_PROC_FAILED) && flag == 1);
}

static int expected(int value) {
    return (rank + victim - 1) % victim + value;
}

enum { WAIT, TEST, WAITALL, TESTALL, WAITANY, TESTANY, WAITSOME, TESTSOME, GET_STATUS, WAYS };

/* Completes a request by a call of this sort, or finds it in doubt: returns its class. The request
   before it is null, so that places count. */
static int complete(int way, MPI_Request *request) {
    MPI_Request both[2] = {MPI_REQUEST_NULL, *request};
    MPI_Status statuses[2];
    int flag = 0, index = -1, indices[2] = {-1, -1}, count = 0, code = MPI_SUCCESS, error;
    statuses[1].MPI_ERROR = statuses[0].MPI_ERROR = -1;
    switch (way) {
    case WAIT:
        code = MPI_Wait(&both[1], &statuses[1]);
        break;
    case TEST:
        while (!flag && code == MPI_SUCCESS)
            code = MPI_Test(&both[1], &flag, &statuses[1]);
        CHECK(flag == (code == MPI_SUCCESS));
        break;
    case WAITALL:
        code = MPI_Waitall(2, both, statuses);
        break;
    case TESTALL:
        while (!flag && code == MPI_SUCCESS)
            code = MPI_Testall(2, both, &flag, statuses);
        CHECK(flag == (code == MPI_SUCCESS));
        break;
    case WAITANY:
        code = MPI_Waitany(2, both, &index, &statuses[1]);
        CHECK(index == 1);
        break;
    case TESTANY:
        while (!flag && code == MPI_SUCCESS)
            code = MPI_Testany(2, both, &index, &flag, &statuses[1]);
        CHECK(index == 1 && flag == (code == MPI_SUCCESS));
        break;
    case WAITSOME:
        code = MPI_Waitsome(2, both, &count, indices, statuses);
        CHECK(count == 1 && indices[0] == 1);
        break;
    case TESTSOME:
        while (count == 0 && code == MPI_SUCCESS)
            code = MPI_Testsome(2, both, &count, indices, statuses);
        CHECK(count == 1 && indices[0] == 1);
        break;
    case GET_STATUS:
        while (!flag && code == MPI_SUCCESS)
            code = MPI_Request_get_status(both[1], &flag, &statuses[1]);
        CHECK(flag == (code == MPI_SUCCESS));
        if (flag)
            CHECK(MPI_Wait(&both[1], &statuses[1]) == MPI_SUCCESS);
        break;
    }
    *request = both[1];
    error = class_of(code);
    if (error == MPI_ERR_IN_STATUS) {
        CHECK(way == WAITALL || way == TESTALL || way == WAITSOME || way == TESTSOME);
        error = class_of(statuses[way == WAITALL || way == TESTALL ? 1 : 0].MPI_ERROR);
    }
    return error;
}

/* A receive from any source is in doubt until the loss is acknowledged, and takes a message
   then. */
static void pending(void) {
    MPI_Comm comms[WAYS];
    MPI_Request requests[WAYS];
    int got[WAYS], values[WAYS];
    for (int way = 0; way < WAYS; way++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[way]);
        got[way] = -1;
        CHECK(MPI_Irecv(&got[way], 1, MPI_INT, MPI_ANY_SOURCE, 7, comms[way], &requests[way]) == MPI_SUCCESS);
    }
    let_die();
    for (int way = 0; way < WAYS; way++) {
        MPI_Request before = requests[way];
        for (int again = 0; again < 2; again++)
            CHECK(complete(way, &requests[way]) == MPIX_ERR_PROC_FAILED_PENDING);
        CHECK(requests[way] == before && got[way] == -1);
        acknowledge(comms[way]);
        values[way] = rank + way;
    }
    meet();
    for (int way = 0; way < WAYS; way++) {
        /* Nobody sends before this one is asked for: it waits as ever. */
        int flag = 1;
        CHECK(MPI_Test(&requests[way], &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        send_next(values[way], 7, comms[way]);
        if (!flag) {
            CHECK(complete(way, &requests[way]) == MPI_SUCCESS);
            CHECK(requests[way] == MPI_REQUEST_NULL);
        }
        CHECK(got[way] == expected(way));
        MPI_Comm_free(&comms[way]);
    }
}

/* One that is posted after the death is in doubt as well, and so is a persistent one; blocking
   receives fail. */
static void later(void) {
    MPI_Request request, persistent, sent;
    MPI_Status status;
    int got = -1, value = -1, flag;
    let_die();
    CHECK(is(MPI_Recv(&got, 1, MPI_INT, victim, 1, MPI_COMM_WORLD, &status), MPIX_ERR_PROC_FAILED));
    CHECK(is(MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &status), MPIX_ERR_PROC_FAILED));
    /* The receive of a failed exchange must not take a message later. */
    CHECK(is(MPI_Sendrecv(&value, 0, MPI_INT, MPI_PROC_NULL, 0, &value, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status),
             MPIX_ERR_PROC_FAILED));
    CHECK(MPI_Recv_init(&got, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &persistent) == MPI_SUCCESS);
    CHECK(MPI_Start(&persistent) == MPI_SUCCESS);
    CHECK(is(MPI_Wait(&persistent, &status), MPIX_ERR_PROC_FAILED_PENDING));
    CHECK(is(MPI_Start(&persistent), MPI_ERR_REQUEST)); /* It is active. */
    CHECK(is(MPI_Test(&persistent, &flag, &status), MPIX_ERR_PROC_FAILED_PENDING) && !flag);
    /* Cancelling it helps, too. */
    CHECK(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    CHECK(is(MPI_Wait(&request, &status), MPIX_ERR_PROC_FAILED_PENDING));
    MPI_Cancel(&request);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && request == MPI_REQUEST_NULL);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
    meet();
    acknowledge(MPI_COMM_WORLD);
    CHECK(MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % victim, 1, MPI_COMM_WORLD, &sent) == MPI_SUCCESS);
    CHECK(MPI_Wait(&persistent, &status) == MPI_SUCCESS && value == -1 && got == expected(0));
    CHECK(persistent != MPI_REQUEST_NULL && status.MPI_SOURCE == expected(0));
    CHECK(MPI_Wait(&sent, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Request_free(&persistent);
}

/* Those that can end do so beside one that is in doubt. */
static void several(void) {
    MPI_Request requests[3];
    MPI_Status statuses[3];
    int got[3] = {-1, -1, -1}, indices[3], count, flag, previous = (rank + victim - 1) % victim;
    for (int i = 0; i < 3; i++)
        MPI_Irecv(&got[i], 1, MPI_INT, i == 1 ? MPI_ANY_SOURCE : previous, i, MPI_COMM_WORLD, &requests[i]);
    let_die();
    CHECK(is(MPI_Wait(&requests[1], MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED_PENDING));
    CHECK(is(MPI_Testall(3, requests, &flag, statuses), MPI_ERR_IN_STATUS) && !flag);
    CHECK(is(statuses[1].MPI_ERROR, MPIX_ERR_PROC_FAILED_PENDING));
    CHECK(statuses[0].MPI_ERROR == MPI_ERR_PENDING && statuses[2].MPI_ERROR == MPI_ERR_PENDING);
    send_next(rank, 0, MPI_COMM_WORLD);
    send_next(rank, 2, MPI_COMM_WORLD);
    CHECK(is(MPI_Waitall(3, requests, statuses), MPI_ERR_IN_STATUS));
    CHECK(statuses[0].MPI_ERROR == MPI_SUCCESS && statuses[2].MPI_ERROR == MPI_SUCCESS);
    CHECK(is(statuses[1].MPI_ERROR, MPIX_ERR_PROC_FAILED_PENDING));
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL && requests[2] == MPI_REQUEST_NULL);
    CHECK(got[0] == previous && got[1] == -1 && got[2] == previous);
    CHECK(is(MPI_Testsome(3, requests, &count, indices, statuses), MPI_ERR_IN_STATUS));
    CHECK(count == 1 && indices[0] == 1 && is(statuses[0].MPI_ERROR, MPIX_ERR_PROC_FAILED_PENDING));
    meet();
    acknowledge(MPI_COMM_WORLD);
    send_next(rank, 1, MPI_COMM_WORLD);
    CHECK(MPI_Waitall(3, requests, statuses) == MPI_SUCCESS && got[1] == previous);
}

/* A revocation ends what is in doubt, also for those that wait again and again. */
static void revoked(void) {
    MPI_Comm comm;
    MPI_Request request;
    int got, code;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, &request);
    let_die();
    do {
        code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rank == 0 && is(code, MPIX_ERR_PROC_FAILED_PENDING))
            CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
    } while (is(code, MPIX_ERR_PROC_FAILED_PENDING));
    CHECK(is(code, MPIX_ERR_REVOKED) && request == MPI_REQUEST_NULL);
    acknowledge(MPI_COMM_WORLD);
    MPI_Comm_free(&comm);
}

/* Several communicators of those that are left, made at once, one of them of a revoked one. */
static void ishrink(void) {
    enum { COUNT = 3 };
    MPI_Comm comms[COUNT], shrunk[COUNT];
    MPI_Request requests[COUNT];
    int members, sum, compared;
    for (int i = 0; i < COUNT; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    let_die();
    CHECK(MPIX_Comm_revoke(comms[1]) == MPI_SUCCESS);
    for (int i = 0; i < COUNT; i++) {
        shrunk[i] = MPI_COMM_NULL;
        CHECK(MPIX_Comm_ishrink(comms[i], &shrunk[i], &requests[i]) == MPI_SUCCESS);
    }
    CHECK(MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < COUNT; i++) {
        MPI_Comm_size(shrunk[i], &members);
        /* An agreement that was there before the news may have the victim. */
        while (members == size) {
            MPI_Comm next;
            CHECK(MPIX_Comm_shrink(shrunk[i], &next) == MPI_SUCCESS);
            MPI_Comm_free(&shrunk[i]);
            shrunk[i] = next;
            MPI_Comm_size(next, &members);
        }
        CHECK(members == victim);
        CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, shrunk[i]) == MPI_SUCCESS);
        CHECK(sum == victim * (victim - 1) / 2);
        MPI_Comm_compare(shrunk[0], shrunk[i], &compared);
        CHECK(compared == (i == 0 ? MPI_IDENT : MPI_CONGRUENT));
        MPI_Comm_free(&comms[i]);
    }
    for (int i = 0; i < COUNT; i++)
        MPI_Comm_free(&shrunk[i]);
}

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "";
    begin(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    if (!strcmp(way, "pending"))
        pending();
    else if (!strcmp(way, "later"))
        later();
    else if (!strcmp(way, "several"))
        several();
    else if (!strcmp(way, "revoked"))
        revoked();
    else if (!strcmp(way, "ishrink"))
        ishrink();
    else
        CHECK(!"a way that is known");
    report("ulfm_requests", rank, size);
    MPI_Finalize();
    return 0;
}
