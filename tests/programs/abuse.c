/* Wrong arguments of every sort give the standard's error class; nothing crashes and nothing is
   sent. */
#include "check.h"

static int value, flag;
static MPI_Status status;

static void handles(void) {
    /* Null, garbage, of another kind, and (below) freed. */
    MPI_Comm comms[] = {MPI_COMM_NULL, (MPI_Comm)0xdeadbeef, (MPI_Comm)MPI_INT, (MPI_Comm)0, (MPI_Comm)-1};
    MPI_Datatype types[] = {MPI_DATATYPE_NULL, (MPI_Datatype)0xdeadbeef, (MPI_Datatype)MPI_COMM_WORLD,
                            (MPI_Datatype)0x2ff, (MPI_Datatype)&value};
    MPI_Op ops[] = {MPI_OP_NULL, (MPI_Op)0xdeadbeef, (MPI_Op)MPI_INT, (MPI_Op)0x3f};
    MPI_Group groups[] = {MPI_GROUP_NULL, (MPI_Group)0xdeadbeef, (MPI_Group)MPI_INT};
    for (unsigned i = 0; i < sizeof comms / sizeof *comms; i++) {
        CHECK_CLASS(MPI_Send(&value, 1, MPI_INT, 0, 0, comms[i]), MPI_ERR_COMM);
        CHECK_CLASS(MPI_Comm_rank(comms[i], &value), MPI_ERR_COMM);
        CHECK_CLASS(MPI_Barrier(comms[i]), MPI_ERR_COMM);
    }
    for (unsigned i = 0; i < sizeof types / sizeof *types; i++) {
        CHECK_CLASS(MPI_Send(&value, 1, types[i], 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
        CHECK_CLASS(MPI_Type_size(types[i], &value), MPI_ERR_TYPE);
    }
    for (unsigned i = 0; i < sizeof ops / sizeof *ops; i++)
        CHECK_CLASS(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, ops[i], MPI_COMM_SELF), MPI_ERR_OP);
    for (unsigned i = 0; i < sizeof groups / sizeof *groups; i++)
        CHECK_CLASS(MPI_Group_size(groups[i], &value), MPI_ERR_GROUP);
}

static void freed(void) {
    MPI_Comm comm, comm_copy;
    MPI_Datatype type, type_copy;
    MPI_Group group, group_copy;
    MPI_Request request, request_copy;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    comm_copy = comm;
    CHECK_CLASS(MPI_Comm_free(&comm), MPI_SUCCESS);
    CHECK(comm == MPI_COMM_NULL);
    CHECK_CLASS(MPI_Barrier(comm_copy), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Comm_free(&comm_copy), MPI_ERR_COMM);
    MPI_Type_contiguous(3, MPI_INT, &type);
    CHECK_CLASS(MPI_Send(&value, 1, type, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE); /* not committed */
    type_copy = type;
    MPI_Type_free(&type);
    CHECK_CLASS(MPI_Type_commit(&type_copy), MPI_ERR_TYPE);
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    group_copy = group;
    MPI_Group_free(&group);
    CHECK_CLASS(MPI_Group_free(&group_copy), MPI_ERR_GROUP);
    MPI_Irecv(&value, 1, MPI_INT, 0, 12345, MPI_COMM_SELF, &request);
    request_copy = request;
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_CLASS(MPI_Wait(&request_copy, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    request_copy = (MPI_Request)0x12345678;
    CHECK_CLASS(MPI_Test(&request_copy, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Start(&request), MPI_ERR_REQUEST);
}

static void ranks_tags_counts(int size) {
    MPI_Request request;
    int ranks[] = {size, size + 7, -4, -100, 1 << 30};
    for (unsigned i = 0; i < sizeof ranks / sizeof *ranks; i++) {
        CHECK_CLASS(MPI_Send(&value, 1, MPI_INT, ranks[i], 0, MPI_COMM_WORLD), MPI_ERR_RANK);
        CHECK_CLASS(MPI_Irecv(&value, 1, MPI_INT, ranks[i], 0, MPI_COMM_WORLD, &request), MPI_ERR_RANK);
        CHECK_CLASS(MPI_Bcast(&value, 1, MPI_INT, ranks[i], MPI_COMM_WORLD), MPI_ERR_ROOT);
    }
    CHECK_CLASS(MPI_Send(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Send(&value, 1, MPI_INT, 0, -1, MPI_COMM_WORLD), MPI_ERR_TAG);
    CHECK_CLASS(MPI_Send(&value, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD), MPI_ERR_TAG);
    CHECK_CLASS(MPI_Recv(&value, 1, MPI_INT, 0, -7, MPI_COMM_WORLD, &status), MPI_ERR_TAG);
    CHECK_CLASS(MPI_Send(&value, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Bcast(&value, -5, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Send(NULL, 4, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Send_c(&value, (MPI_Count)1 << 62, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Comm_rank(MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Type_vector(-1, 1, 1, MPI_INT, &(MPI_Datatype){0}), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    CHECK_CLASS(MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status), MPI_SUCCESS);
    CHECK(status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
    CHECK_CLASS(MPI_Allreduce(MPI_IN_PLACE, &(double){0}, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD), MPI_ERR_OP);
    CHECK_CLASS(MPI_Bsend(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
}

static void truncation(int rank) {
    enum { LONG = 1 << 20 };
    static const int lengths[] = {8, 5000, LONG};
    static char big[LONG], small[4];
    MPI_Request requests[2];
    MPI_Status statuses[2];
    for (int i = 0; i < 3; i++) {
        /* Late and early receives: the message is unexpected, or the receive is posted. */
        for (int early = 0; early < 2; early++) {
            MPI_Barrier(MPI_COMM_WORLD);
            if (rank == 0) {
                if (early)
                    MPI_Barrier(MPI_COMM_WORLD);
                MPI_Send(big, lengths[i], MPI_CHAR, 1, 5, MPI_COMM_WORLD);
                if (!early)
                    MPI_Barrier(MPI_COMM_WORLD);
            } else if (rank == 1) {
                if (early) {
                    MPI_Irecv(small, 4, MPI_CHAR, 0, 5, MPI_COMM_WORLD, &requests[0]);
                    MPI_Barrier(MPI_COMM_WORLD);
                    CHECK_CLASS(MPI_Wait(&requests[0], &status), MPI_ERR_TRUNCATE);
                } else {
                    CHECK_CLASS(MPI_Recv(small, 4, MPI_CHAR, 0, 5, MPI_COMM_WORLD, &status), MPI_ERR_TRUNCATE);
                    MPI_Barrier(MPI_COMM_WORLD);
                }
            } else {
                MPI_Barrier(MPI_COMM_WORLD);
            }
        }
    }
    MPI_Isend(big, 100, MPI_CHAR, rank, 6, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(small, 4, MPI_CHAR, rank, 6, MPI_COMM_WORLD, &requests[1]);
    CHECK_CLASS(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
    CHECK(statuses[0].MPI_ERROR == MPI_SUCCESS && class_of(statuses[1].MPI_ERROR) == MPI_ERR_TRUNCATE);
}

static int heard;

static void hear(MPI_Comm *comm, int *code, ...) {
    (void)comm;
    heard = class_of(*code);
}

/* A handler hears of the operation that failed; the call says that the statuses tell (9.3.1). */
static void a_handler_hears_of_the_operation(int rank) {
    static char big[100], small[4];
    MPI_Errhandler handler;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Comm_create_errhandler(hear, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Isend(big, 100, MPI_CHAR, rank, 7, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(small, 4, MPI_CHAR, rank, 7, MPI_COMM_WORLD, &requests[1]);
    CHECK_CLASS(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
    CHECK(heard == MPI_ERR_TRUNCATE && class_of(statuses[1].MPI_ERROR) == MPI_ERR_TRUNCATE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler);
}

/* Of four requests the second fails: those before and behind it are completed all the same. */
static void one_of_four_fails(int rank) {
    static const int room[] = {8, 4, 0, 8}, length[] = {7, 4, 0, 6};
    char text[] = "message", in[4][8];
    MPI_Request requests[4];
    MPI_Status statuses[4];
    int count;
    for (int i = 0; i < 4; i++) {
        requests[i] = MPI_REQUEST_NULL;
        if (room[i])
            MPI_Irecv(in[i], room[i], MPI_CHAR, rank, 20 + i, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Send(text, 7, MPI_CHAR, rank, 20, MPI_COMM_WORLD);
    MPI_Send(text, 7, MPI_CHAR, rank, 21, MPI_COMM_WORLD);
    MPI_Send(text, 6, MPI_CHAR, rank, 23, MPI_COMM_WORLD);
    CHECK_CLASS(MPI_Waitall(4, requests, statuses), MPI_ERR_IN_STATUS);
    for (int i = 0; i < 4; i++) {
        CHECK(class_of(statuses[i].MPI_ERROR) == (i == 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS));
        CHECK(requests[i] == MPI_REQUEST_NULL);
        CHECK(statuses[i].MPI_SOURCE == (room[i] ? rank : MPI_ANY_SOURCE));
        CHECK(statuses[i].MPI_TAG == (room[i] ? 20 + i : MPI_ANY_TAG));
        MPI_Get_count(&statuses[i], MPI_CHAR, &count);
        CHECK(i == 1 || count == length[i]);
    }
    CHECK(!memcmp(in[0], text, 7) && !memcmp(in[3], text, 6));
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    handles();
    freed();
    ranks_tags_counts(size);
    truncation(rank);
    a_handler_hears_of_the_operation(rank);
    one_of_four_fails(rank);
    CHECK_CLASS(MPI_Init(&argc, &argv), MPI_ERR_OTHER);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    report("abuse", rank, size);
    return 0;
}
