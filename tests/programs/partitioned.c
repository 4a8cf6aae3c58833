/* Partitioned communication (MPI-5.0, 4.2) round a ring: other partitions on each side, early
 * arrival, threads, matching, and wrong use. */
#include "check.h"
#include <pthread.h>

static int rank, size, right, left;

static int value(int from, int round, int i) { return from * 1000003 + round * 101 + i; }

/* Ints side by side here, every second one there; `mine` partitions here and `theirs` there. */
static void divided(int mine, int theirs, int length) {
    MPI_Request requests[2];
    MPI_Datatype sparse;
    MPI_Status status;
    int *out = malloc(length * sizeof *out), *in = malloc(2 * length * sizeof *in), flag, count;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &sparse);
    MPI_Type_commit(&sparse);
    CHECK(MPI_Psend_init(out, mine, length / mine, MPI_INT, right, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]) == MPI_SUCCESS);
    CHECK(MPI_Precv_init(in, theirs, length / theirs, sparse, left, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]) == MPI_SUCCESS);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < length; i++) {
            out[i] = value(rank, round, i);
            in[2 * i] = in[2 * i + 1] = -1;
        }
        CHECK(MPI_Parrived(requests[1], 0, &flag) == MPI_SUCCESS && flag); /* inactive */
        CHECK(MPI_Startall(2, requests) == MPI_SUCCESS);
        CHECK(MPI_Request_get_status(requests[0], &flag, &status) == MPI_SUCCESS && !flag);
        if (round == 0)
            for (int i = mine - 1; i >= 0; i--)
                CHECK(MPI_Pready(i, requests[0]) == MPI_SUCCESS);
        else
            CHECK(MPI_Pready_range(0, mine - 1, requests[0]) == MPI_SUCCESS);
        for (int i = 0; i < theirs; i++) {
            for (flag = 0; !flag;)
                CHECK(MPI_Parrived(requests[1], i, &flag) == MPI_SUCCESS);
            for (int j = i * (length / theirs); j < (i + 1) * (length / theirs); j++)
                CHECK(in[2 * j] == value(left, round, j) && in[2 * j + 1] == -1);
        }
        CHECK(MPI_Wait(&requests[1], &status) == MPI_SUCCESS);
        CHECK(status.MPI_SOURCE == left && status.MPI_TAG == 7);
        CHECK(MPI_Get_count(&status, MPI_INT, &count) == MPI_SUCCESS && count == length);
        CHECK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(requests[0] != MPI_REQUEST_NULL && requests[1] != MPI_REQUEST_NULL);
    }
    CHECK(MPI_Request_free(&requests[0]) == MPI_SUCCESS && MPI_Request_free(&requests[1]) == MPI_SUCCESS);
    CHECK(requests[0] == MPI_REQUEST_NULL);
    CHECK(MPI_Parrived(MPI_REQUEST_NULL, 0, &flag) == MPI_SUCCESS && flag);
    MPI_Type_free(&sparse);
    free(out);
    free(in);
}

/* The sender makes nothing more ready before the receiver has said that the first part is there:
 * whoever sends only whole messages hangs here. */
static void early(int length) {
    enum { MINE = 6, THEIRS = 3 };
    MPI_Request out_request, in_request;
    char *out = malloc(MINE * length), *in = calloc(THEIRS, 2 * length);
    int flag;
    MPI_Precv_init(in, THEIRS, 2 * length, MPI_CHAR, left, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &in_request);
    MPI_Start(&in_request); /* before the other side is known */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Psend_init(out, MINE, length, MPI_CHAR, right, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &out_request);
    MPI_Start(&out_request);
    memset(out, 'a' + rank % 20, MINE * length);
    MPI_Pready_list(2, (int[]){3, 2}, out_request);
    for (flag = 0; !flag;)
        MPI_Parrived(in_request, 1, &flag);
    CHECK(in[2 * length] == 'a' + left % 20 && in[4 * length - 1] == 'a' + left % 20);
    CHECK(MPI_Parrived(in_request, 0, &flag) == MPI_SUCCESS && !flag);
    CHECK(MPI_Parrived(in_request, 2, &flag) == MPI_SUCCESS && !flag);
    CHECK(MPI_Test(&in_request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag);
    MPI_Sendrecv(NULL, 0, MPI_CHAR, left, 2, NULL, 0, MPI_CHAR, right, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Pready_range(0, 1, out_request);
    MPI_Pready_range(4, 5, out_request);
    /* The receives go on in any call. */
    MPI_Wait(&out_request, MPI_STATUS_IGNORE);
    MPI_Sendrecv(NULL, 0, MPI_CHAR, right, 2, NULL, 0, MPI_CHAR, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&in_request, MPI_STATUS_IGNORE);
    for (int i = 0; i < MINE * length; i++)
        CHECK(in[i] == 'a' + left % 20);
    MPI_Request_free(&out_request);
    MPI_Request_free(&in_request);
    free(out);
    free(in);
}

/* Pairs with one tag are matched in the order of their initialisation, and not with other
   messages. */
static void matching(void) {
    MPI_Request requests[6], ordinary;
    int out[3] = {rank, rank + 100, rank + 200}, in[3] = {-1, -1, -1}, plain = -1, flag;
    MPI_Isend(&(int){rank + 300}, 1, MPI_INT, right, 5, MPI_COMM_WORLD, &ordinary);
    for (int i = 0; i < 3; i++)
        MPI_Psend_init(&out[i], 1, 1, MPI_INT, right, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
    for (int i = 0; i < 3; i++)
        MPI_Precv_init(&in[i], 1, 1, MPI_INT, left, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[3 + i]);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Iprobe(left, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag);
    MPI_Recv(&plain, 1, MPI_INT, left, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(plain == left + 300);
    MPI_Wait(&ordinary, MPI_STATUS_IGNORE);
    for (int i = 2; i >= 0; i--) { /* started in another order */
        MPI_Start(&requests[i]);
        MPI_Start(&requests[5 - i]);
        MPI_Pready(0, requests[i]);
    }
    CHECK(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && !flag);
    MPI_Waitall(6, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 3; i++)
        CHECK(in[i] == left + 100 * i);
    for (int i = 0; i < 6; i++)
        MPI_Request_free(&requests[i]);
}

/* Given up before they were matched, and between rounds. */
static void freed(void) {
    MPI_Request send, receive;
    int out = rank, in = -1;
    MPI_Psend_init(&out, 1, 1, MPI_INT, right, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
    MPI_Request_free(&send);
    MPI_Precv_init(&in, 1, 1, MPI_INT, left, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
    MPI_Request_free(&receive);
    MPI_Psend_init(&out, 1, 1, MPI_INT, right, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &send);
    MPI_Precv_init(&in, 1, 1, MPI_INT, left, 6, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
    MPI_Start(&send);
    MPI_Start(&receive);
    MPI_Pready(0, send);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Request_free(&send);
    CHECK(in == left);
    MPI_Request_free(&receive);
}

enum { THREADS = 4, EACH = 16, ROUNDS = 20 };
static MPI_Request shared;
static double *shared_buffer;
static int shared_length;

static void *fill(void *argument) {
    int first = (int)(long)argument * EACH;
    for (int i = first; i < first + EACH; i++) {
        for (int j = 0; j < shared_length; j++)
            shared_buffer[i * shared_length + j] = rank + i;
        CHECK(MPI_Pready(i, shared) == MPI_SUCCESS);
    }
    return NULL;
}

static void threads(int length) {
    enum { ALL = THREADS * EACH };
    MPI_Request receive;
    pthread_t thread[THREADS];
    double *in = malloc(ALL * length * sizeof *in);
    shared_length = length;
    shared_buffer = calloc(ALL * length, sizeof *in);
    MPI_Psend_init(shared_buffer, ALL, length, MPI_DOUBLE, right, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &shared);
    MPI_Precv_init(in, ALL / 2, 2 * length, MPI_DOUBLE, left, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &receive);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Start(&shared);
        MPI_Start(&receive);
        for (long i = 0; i < THREADS; i++)
            pthread_create(&thread[i], NULL, fill, (void *)i);
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
        for (int i = 0; i < ALL; i++)
            for (int j = 0; j < length; j++)
                CHECK(in[i * length + j] == left + i);
        MPI_Wait(&shared, MPI_STATUS_IGNORE);
        for (int i = 0; i < THREADS; i++)
            pthread_join(thread[i], NULL);
    }
    MPI_Request_free(&shared);
    MPI_Request_free(&receive);
    free(in);
    free(shared_buffer);
}

/* A receive with more room than is sent: the status says what came, and the rest stays as it
   was. */
static void longer(int mine, int theirs, int sent, int room) {
    MPI_Request requests[2];
    MPI_Datatype sparse;
    MPI_Status status;
    int *out = malloc(sent * sizeof *out), *in = malloc(2 * room * sizeof *in), flag, count;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &sparse);
    MPI_Type_commit(&sparse);
    MPI_Psend_init(out, mine, sent / mine, MPI_INT, right, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(in, theirs, room / theirs, sparse, left, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    for (int i = 0; i < sent; i++)
        out[i] = value(rank, 9, i);
    for (int i = 0; i < 2 * room; i++)
        in[i] = -1;
    CHECK(MPI_Startall(2, requests) == MPI_SUCCESS);
    if (mine > 1)
        CHECK(MPI_Pready_range(1, mine - 1, requests[0]) == MPI_SUCCESS);
    /* What lies behind the message arrives with the whole, which no rank has before the barrier. */
    CHECK(MPI_Parrived(requests[1], theirs - 1, &flag) == MPI_SUCCESS && !flag);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_Pready(0, requests[0]) == MPI_SUCCESS);
    for (flag = 0; !flag;)
        CHECK(MPI_Parrived(requests[1], theirs - 1, &flag) == MPI_SUCCESS);
    CHECK(MPI_Wait(&requests[1], &status) == MPI_SUCCESS && status.MPI_SOURCE == left && status.MPI_TAG == 8);
    CHECK(MPI_Get_count(&status, MPI_INT, &count) == MPI_SUCCESS && count == sent);
    for (int i = 0; i < room; i++)
        CHECK(in[2 * i] == (i < sent ? value(left, 9, i) : -1) && in[2 * i + 1] == -1);
    CHECK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Type_free(&sparse);
    free(out);
    free(in);
}

static void nobody(void) {
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int flag;
    MPI_Psend_init(NULL, 4, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(NULL, 4, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    MPI_Startall(2, requests);
    CHECK(MPI_Testall(2, requests, &flag, statuses) == MPI_SUCCESS && !flag);
    MPI_Pready_range(0, 3, requests[0]);
    CHECK(MPI_Waitall(2, requests, statuses) == MPI_SUCCESS && statuses[1].MPI_SOURCE == MPI_PROC_NULL);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

static void wrong(void) {
    MPI_Request send, receive, other;
    int out[4] = {0}, in[6] = {0}, flag;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Psend_init(out, -1, 1, MPI_INT, 0, 0, comm, MPI_INFO_NULL, &send), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Psend_init(out, 0, 1, MPI_INT, 0, 0, comm, MPI_INFO_NULL, &send), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Psend_init(out, 4, -1, MPI_INT, 0, 0, comm, MPI_INFO_NULL, &send), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Psend_init(out, 4, 1LL << 62, MPI_INT, 0, 0, comm, MPI_INFO_NULL, &send), MPI_ERR_COUNT);
    CHECK_CLASS(MPI_Psend_init(out, 4, 1, MPI_INT, 1, 0, comm, MPI_INFO_NULL, &send), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Precv_init(in, 4, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm, MPI_INFO_NULL, &receive), MPI_ERR_RANK);
    CHECK_CLASS(MPI_Precv_init(in, 4, 1, MPI_INT, 0, MPI_ANY_TAG, comm, MPI_INFO_NULL, &receive), MPI_ERR_TAG);
    CHECK(MPI_Psend_init(out, 4, 1, MPI_INT, 0, 0, comm, MPI_INFO_NULL, &send) == MPI_SUCCESS);
    CHECK(MPI_Precv_init(in, 2, 3, MPI_INT, 0, 0, comm, MPI_INFO_NULL, &receive) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Pready(0, send), MPI_ERR_REQUEST); /* not started */
    MPI_Start(&send);
    MPI_Start(&receive);
    CHECK_CLASS(MPI_Start(&send), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Pready(4, send), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Pready(-1, send), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Pready_range(-5, 2, send), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Pready_range(3, 1, send), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Pready_range(2, 0x7fffffff, send), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Pready_list(3, (int[]){1, 2, 1}, send), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Pready_list(2, (int[]){3, 4}, send), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Pready(0, receive), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Pready(0, MPI_REQUEST_NULL), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Parrived(send, 0, &flag), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Parrived(receive, 2, &flag), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Cancel(&send), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Cancel(&receive), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Request_free(&send), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Request_free(&receive), MPI_ERR_REQUEST);
    CHECK(MPI_Pready_range(0, 3, send) == MPI_SUCCESS); /* what was refused marked none */
    CHECK_CLASS(MPI_Pready(3, send), MPI_ERR_ARG);
    CHECK(MPI_Wait(&receive, MPI_STATUS_IGNORE) == MPI_SUCCESS); /* 4 ints sent, room for 6 */
    CHECK(MPI_Wait(&send, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Pready(0, send), MPI_ERR_REQUEST);
    MPI_Send_init(out, 1, MPI_INT, 0, 0, comm, &other);
    CHECK_CLASS(MPI_Pready(0, other), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Parrived(other, 0, &flag), MPI_ERR_REQUEST);
    MPI_Request_free(&other);
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
    MPI_Psend_init(out, 2, 2, MPI_INT, 0, 0, comm, MPI_INFO_NULL, &send);
    MPI_Precv_init(in, 3, 1, MPI_INT, 0, 0, comm, MPI_INFO_NULL, &receive);
    MPI_Start(&send);
    MPI_Start(&receive);
    MPI_Pready_range(0, 1, send);
    CHECK_CLASS(MPI_Wait(&receive, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    right = (rank + 1) % size, left = (rank + size - 1) % size;
    divided(1, 1, 1);
    divided(4, 6, 12);
    divided(8, 3, 24 * 1000);
    divided(5, 20, 100000);
    divided(3, 2, 0);
    early(10);
    early(300000);
    matching();
    freed();
    threads(3);
    threads(2000);
    longer(1, 1, 1, 2);
    longer(4, 4, 512, 1024);
    longer(3, 5, 30000, 50000);
    nobody();
    wrong();
    MPI_Finalize();
    report("partitioned", rank, size);
    return 0;
}
