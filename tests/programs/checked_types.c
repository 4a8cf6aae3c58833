/* With VERBENA_CHECK_TYPES=1 a message says what its elements are, and a receive of others fails
 * with MPI_ERR_TYPE: in every mode, by eager and long messages, early and late receives, to
 * oneself, probed and persistent. What matches, bytes and shorter messages go on. Argument
 * "off": without the setting nothing is compared. */
#include "check.h"

enum { LONG = 200000, TAG = 3 };
static int ints[LONG], rank, size, expected;
static float floats[LONG];

/* To the next rank and from the one before, which may be the same. */
static void pass(int count, MPI_Datatype sent, void *from, MPI_Datatype wanted, void *into, int class) {
    int to = (rank + 1) % size, source = (rank + size - 1) % size, there;
    MPI_Request request;
    MPI_Status status;
    MPI_Message message;
    /* Early receive. */
    MPI_Irecv(into, count, wanted, source, TAG, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Send(from, count, sent, to, TAG, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Wait(&request, &status), class);
    CHECK(status.MPI_SOURCE == source && status.MPI_TAG == TAG);
    /* Late receive of a synchronous message. */
    MPI_Issend(from, count, sent, to, TAG, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CLASS(MPI_Recv(into, count, wanted, source, TAG, MPI_COMM_WORLD, &status), class);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    /* Probed. */
    MPI_Isend(from, count, sent, to, TAG, MPI_COMM_WORLD, &request);
    MPI_Mprobe(source, TAG, MPI_COMM_WORLD, &message, &status);
    CHECK_CLASS(MPI_Mrecv(into, count, wanted, &message, &status), class);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    /* Both at once. */
    CHECK_CLASS(MPI_Sendrecv(from, count, sent, to, TAG, into, count, wanted, source, TAG, MPI_COMM_WORLD, &status),
                class);
    /* Persistent. */
    MPI_Recv_init(into, count, wanted, source, TAG, MPI_COMM_WORLD, &request);
    for (int round = 0; round < 2; round++) {
        MPI_Start(&request);
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(MPI_Send(from, count, sent, to, TAG, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK_CLASS(MPI_Wait(&request, &status), class);
    }
    MPI_Request_free(&request);
    /* Nothing of it is left. */
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    CHECK(!there);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    int counts[] = {1, 300, LONG};
    MPI_Datatype strided;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    /* For MPI_Mrecv, which has no communicator. */
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    expected = argc > 1 && !strcmp(argv[1], "off") ? MPI_SUCCESS : MPI_ERR_TYPE;
    MPI_Type_vector(1, 1, 1, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    for (int i = 0; i < 3; i++) {
        pass(counts[i], MPI_FLOAT, floats, MPI_INT, ints, expected);
        ints[0] = -1;
        floats[0] = 1;
        pass(counts[i], MPI_INT, ints, MPI_FLOAT, floats, expected);
        CHECK((floats[0] == 1) == (expected != MPI_SUCCESS));
        pass(counts[i] / 2, MPI_INT, ints, strided, ints + LONG / 2, MPI_SUCCESS);
        pass(4 * counts[i], MPI_BYTE, floats, MPI_BYTE, ints, MPI_SUCCESS);
    }
    MPI_Type_free(&strided);
    MPI_Finalize();
    report("checked_types", rank, size);
    return 0;
}
