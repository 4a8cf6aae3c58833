/* Point-to-point between all pairs: every send mode, sizes around every protocol's border,
 * wildcards, probes, persistent requests, cancel. */
#include "check.h"

static const int sizes[] = {0, 1, 8, 24, 25, 64, 1000, 4096, 16384, 16385, 65536, 65537, 300000, 1 << 20};
enum { SIZES = sizeof sizes / sizeof *sizes, LARGEST = 1 << 20 };
static int rank, size;

static void fill(unsigned char *data, int count, int seed) {
    for (int i = 0; i < count; i++)
        data[i] = (unsigned char)(i * 7 + seed * 31 + (i >> 8));
}

static int holds(const unsigned char *data, int count, int seed) {
    for (int i = 0; i < count; i++)
        if (data[i] != (unsigned char)(i * 7 + seed * 31 + (i >> 8)))
            return 0;
    return 1;
}

static void ring(int mode) {
    unsigned char *out = malloc(LARGEST), *in = malloc(LARGEST);
    int right = (rank + 1) % size, left = (rank + size - 1) % size, count;
    MPI_Request requests[2];
    MPI_Status status;
    for (int s = 0; s < SIZES; s++) {
        fill(out, sizes[s], rank + s);
        memset(in, 0xee, LARGEST);
        MPI_Irecv(in, LARGEST, MPI_BYTE, left, s, MPI_COMM_WORLD, &requests[0]);
        switch (mode) {
        case 0: MPI_Isend(out, sizes[s], MPI_BYTE, right, s, MPI_COMM_WORLD, &requests[1]); break;
        case 1: MPI_Issend(out, sizes[s], MPI_BYTE, right, s, MPI_COMM_WORLD, &requests[1]); break;
        case 2: MPI_Ibsend(out, sizes[s], MPI_BYTE, right, s, MPI_COMM_WORLD, &requests[1]); break;
        default:
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_Irsend(out, sizes[s], MPI_BYTE, right, s, MPI_COMM_WORLD, &requests[1]);
        }
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[0], &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK(count == sizes[s] && status.MPI_SOURCE == left && status.MPI_TAG == s);
        CHECK(holds(in, count, left + s));
    }
    free(out);
    free(in);
}

static void wildcards(void) {
    int value, got = 0, sum = 0;
    if (rank == 0) {
        for (int i = 1; i < size; i++) {
            MPI_Status status;
            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            CHECK(status.MPI_TAG == status.MPI_SOURCE + 100);
            MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            CHECK(value == status.MPI_SOURCE);
            sum += value;
            got++;
        }
        CHECK(got == size - 1 && sum == size * (size - 1) / 2);
    } else {
        MPI_Send(&rank, 1, MPI_INT, 0, rank + 100, MPI_COMM_WORLD);
    }
}

static void matched_probe(void) {
    int right = (rank + 1) % size, value = rank * 3, got = -1;
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    MPI_Isend(&value, 1, MPI_INT, right, 7, MPI_COMM_WORLD, &request);
    MPI_Mprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &message, &status);
    MPI_Mrecv(&got, 1, MPI_INT, &message, &status);
    CHECK(message == MPI_MESSAGE_NULL && got == status.MPI_SOURCE * 3);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void persistent(void) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size, out, in;
    MPI_Request requests[2];
    MPI_Send_init(&out, 1, MPI_INT, right, 9, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(&in, 1, MPI_INT, left, 9, MPI_COMM_WORLD, &requests[1]);
    for (int round = 0; round < 5; round++) {
        out = rank * 100 + round;
        in = -1;
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK(in == left * 100 + round);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    CHECK(requests[0] == MPI_REQUEST_NULL);
}

static void cancel(void) {
    int value = 0, cancelled = 0;
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 4242, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(cancelled);
}

/* Many messages before the first receive: tags in reverse order, so that each is unexpected and
   found by tag. */
static void reversed(void) {
    enum { MANY = 2000 };
    int right = (rank + 1) % size, left = (rank + size - 1) % size, value;
    MPI_Request *requests = malloc(MANY * sizeof *requests);
    int *values = malloc(MANY * sizeof *values);
    for (int i = 0; i < MANY; i++) {
        values[i] = rank * MANY + i;
        MPI_Isend(&values[i], 1, MPI_INT, right, i, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = MANY - 1; i >= 0; i--) {
        MPI_Recv(&value, 1, MPI_INT, left, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(value == left * MANY + i);
    }
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    free(requests);
    free(values);
}

int main(int argc, char **argv) {
    int room = 4 << 20;
    void *buffer;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    buffer = malloc(room);
    MPI_Buffer_attach(buffer, room);
    for (int mode = 0; mode < 4; mode++)
        ring(mode);
    MPI_Buffer_detach(&buffer, &room);
    wildcards();
    MPI_Barrier(MPI_COMM_WORLD);
    matched_probe();
    persistent();
    cancel();
    reversed();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    free(buffer);
    report("point", rank, size);
    return 0;
}
