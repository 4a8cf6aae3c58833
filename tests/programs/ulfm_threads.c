/* Communicators that are revoked while threads send on them, and one whose handle a rank has freed.
   Nobody dies. Each thread has a communicator of its own, of whose messages many are long: a send
   may begin just when the news comes. */
#include "check.h"
#include <pthread.h>
#include <unistd.h>

enum { THREADS = 4, TIMES = 12, LONG = 200000 };
static int rank, size;
static MPI_Comm comms[THREADS];

static int is_revoked(int code) {
    return class_of(code) == MPIX_ERR_REVOKED;
}

/* Sends and receives until the communicator is revoked. Then what is under way ends, too. */
static void *talk(void *argument) {
    MPI_Comm comm = comms[(long)argument];
    int right = (rank + 1) % size, left = (rank + size - 1) % size, code = MPI_SUCCESS;
    int *out = calloc(LONG, sizeof *out), *in = calloc(LONG, sizeof *in);
    for (int round = 0; code == MPI_SUCCESS; round++) {
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        int length = round % 3 ? 10 : LONG;
        code = MPI_Irecv(in, length, MPI_INT, left, 1, comm, &requests[0]);
        if (code == MPI_SUCCESS)
            code = MPI_Isend(out, length, MPI_INT, right, 1, comm, &requests[1]);
        for (int i = 0; i < 2; i++) {
            int ended = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
            if (ended != MPI_SUCCESS)
                code = ended;
        }
    }
    CHECK(is_revoked(code));
    free(out);
    free(in);
    return NULL;
}

static void revoke_while_threads_send(int time) {
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++) {
        CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]) == MPI_SUCCESS);
        MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
    }
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, talk, (void *)i);
    if (rank == time % size) {
        usleep(2000 + 700 * (useconds_t)time);
        for (int i = 0; i < THREADS; i++)
            CHECK(MPIX_Comm_revoke(comms[i]) == MPI_SUCCESS);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < THREADS; i++)
        MPI_Comm_free(&comms[i]);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
}

/* Rank 0 frees its handle while a receive waits. */
static void revoke_what_is_freed(void) {
    MPI_Comm comm;
    MPI_Request request;
    int word;
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (rank == 0) {
        CHECK(MPI_Irecv(&word, 1, MPI_INT, 1, 0, comm, &request) == MPI_SUCCESS);
        MPI_Comm_free(&comm);
    }
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    if (rank == 0) {
        CHECK(is_revoked(MPI_Wait(&request, MPI_STATUS_IGNORE)));
        return;
    }
    if (rank == 1)
        CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
    MPI_Comm_free(&comm);
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int time = 0; time < TIMES; time++)
        revoke_while_threads_send(time);
    revoke_what_is_freed();
    MPI_Finalize();
    report("ulfm_threads", rank, size);
    return 0;
}
