/* Many buffered sends that wait for their receiver. What one costs does not grow with their number.
   The sizes differ, and so does the order in which they are received, so that the buffer has gaps
   of all lengths. */
#include "check.h"

enum { FEW = 5000, MANY = 40000, TAGS = 7, BYTES_MAX = 200, ROUNDS = 3, BYTES_LONG = 1 << 20 };

static int rank, size;

static int length_of(int message) {
    return message * 13 % (BYTES_MAX + 1);
}

/* Returns the seconds that the sends of `count` messages took. */
static double send_and_receive(int count) {
    char data[BYTES_MAX];
    double began = 0;
    if (rank == 0) {
        began = MPI_Wtime();
        for (int i = 0; i < count; i++) {
            memset(data, 'a' + i % 26, sizeof data);
            CHECK(MPI_Bsend(data, length_of(i), MPI_CHAR, size - 1, i % TAGS, MPI_COMM_WORLD) == MPI_SUCCESS);
        }
        began = MPI_Wtime() - began;
    }
    if (size > 1)
        MPI_Barrier(MPI_COMM_WORLD);
    for (int tag = TAGS - 1; rank == size - 1 && tag >= 0; tag--) {
        for (int i = tag; i < count; i += TAGS) {
            MPI_Status status;
            int length;
            MPI_Recv(data, sizeof data, MPI_CHAR, 0, tag, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_CHAR, &length);
            CHECK(length == length_of(i));
            for (int at = 0; at < length; at++)
                CHECK(data[at] == 'a' + i % 26);
        }
    }
    return began;
}

/* A flush ends once what was sent before it has gone, though more has been sent since. */
static void flush_between(void) {
    static char data[BYTES_LONG];
    char *buffer = malloc(2 * (BYTES_LONG + MPI_BSEND_OVERHEAD)), token = 0;
    void *detached;
    int bytes, last = size - 1;
    MPI_Request request;
    if (rank == 0) {
        MPI_Buffer_attach(buffer, 2 * (BYTES_LONG + MPI_BSEND_OVERHEAD));
        MPI_Bsend(data, BYTES_LONG, MPI_CHAR, last, 0, MPI_COMM_WORLD);
        MPI_Buffer_iflush(&request);
        MPI_Bsend(data, BYTES_LONG, MPI_CHAR, last, 1, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Send(&token, 1, MPI_CHAR, last, 2, MPI_COMM_WORLD);
    } else if (rank == last) {
        MPI_Recv(data, BYTES_LONG, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&token, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(data, BYTES_LONG, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 0) {
        MPI_Buffer_detach(&detached, &bytes);
        CHECK(detached == buffer);
    }
    free(buffer);
}

int main(void) {
    size_t bytes = (size_t)MANY * (BYTES_MAX + MPI_BSEND_OVERHEAD);
    void *buffer = malloc(bytes), *detached;
    double few, many;
    int detached_bytes;
    CHECK(MPI_Init(NULL, NULL) == MPI_SUCCESS);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Buffer_attach(NULL, (int)bytes), MPI_ERR_BUFFER);
    CHECK(MPI_Buffer_attach(&few, 0) == MPI_SUCCESS && MPI_Buffer_detach(&detached, &detached_bytes) == MPI_SUCCESS);
    CHECK(detached == &few && detached_bytes == 0);
    if (size > 1)
        flush_between();
    CHECK(MPI_Buffer_attach(buffer, (int)bytes) == MPI_SUCCESS);
    few = send_and_receive(FEW);
    many = send_and_receive(MANY);
    /* Eight times as many; 64 times as long if each looks at all others. */
    if (rank == 0 && many > 20 * few && many > 1) {
        fprintf(stderr, "%d sends took %.3f s, %d took %.3f s\n", FEW, few, MANY, many);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    for (int round = 0; round < ROUNDS; round++) /* in the same buffer, without detaching it */
        send_and_receive(FEW);
    CHECK(MPI_Buffer_detach(&detached, &detached_bytes) == MPI_SUCCESS);
    CHECK(detached == buffer && (size_t)detached_bytes == bytes);
    report("buffered", rank, size);
    return MPI_Finalize();
}
