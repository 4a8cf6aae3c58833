/* Generalized requests (MPI-5.0, 13.2) that are freed before they are complete: the program's free
   function runs in the last of MPI_Request_free and MPI_Grequest_complete, and nothing else may use
   the handle in between. */
#include "check.h"
#include <pthread.h>
#include <stdatomic.h>

enum { ROUNDS = 300 };

static atomic_int queried, freed, cancelled;

static int on_query(void *state, MPI_Status *status) {
    (void)state;
    queried++;
    MPI_Status_set_elements(status, MPI_INT, 3);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

static int on_free(void *state) {
    MPI_Request other;
    freed++;
    if (state) { /* the function may call MPI, and begin and complete others */
        CHECK(MPI_Grequest_start(on_query, on_free, NULL, NULL, &other) == MPI_SUCCESS);
        CHECK(MPI_Grequest_complete(other) == MPI_SUCCESS && MPI_Request_free(&other) == MPI_SUCCESS);
    }
    return MPI_SUCCESS;
}

static int on_cancel(void *state, int complete) {
    (void)state, (void)complete;
    cancelled++;
    return MPI_SUCCESS;
}

static MPI_Request begin(void *state) {
    MPI_Request request;
    CHECK(MPI_Grequest_start(on_query, on_free, on_cancel, state, &request) == MPI_SUCCESS);
    freed = queried = cancelled = 0;
    return request;
}

static void freed_first(void) {
    MPI_Request request = begin(NULL), copy = request, stale = request;
    int flag;
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS && request == MPI_REQUEST_NULL && freed == 0);
    CHECK_CLASS(MPI_Wait(&stale, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Test(&stale, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Request_get_status(stale, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Cancel(&stale), MPI_ERR_REQUEST);
    CHECK_CLASS(MPI_Request_free(&stale), MPI_ERR_REQUEST);
    CHECK(freed == 0 && queried == 0 && cancelled == 0);
    CHECK(MPI_Grequest_complete(copy) == MPI_SUCCESS && freed == 1 && queried == 0);
    CHECK_CLASS(MPI_Grequest_complete(copy), MPI_ERR_REQUEST);
    CHECK(freed == 1);
}

static void completed_first(void) {
    MPI_Request request = begin(NULL);
    CHECK(MPI_Grequest_complete(request) == MPI_SUCCESS && freed == 0);
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS && request == MPI_REQUEST_NULL && freed == 1);
    request = begin(NULL);
    CHECK(MPI_Cancel(&request) == MPI_SUCCESS && cancelled == 1);
    CHECK(MPI_Grequest_complete(request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS && freed == 1 && queried == 1);
}

static void free_calls_mpi(void) {
    MPI_Request request = begin(&freed), copy = request;
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS && freed == 0);
    CHECK(MPI_Grequest_complete(copy) == MPI_SUCCESS && freed == 2);
}

static void *complete(void *request) {
    CHECK(MPI_Grequest_complete(*(MPI_Request *)request) == MPI_SUCCESS);
    return NULL;
}

static void two_threads(void) {
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request request = begin(NULL), copy = request;
        pthread_t thread;
        CHECK(pthread_create(&thread, NULL, complete, &copy) == 0);
        CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
        CHECK(pthread_join(thread, NULL) == 0 && freed == 1);
    }
}

int main(void) {
    int rank, size, provided;
    CHECK(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    freed_first();
    completed_first();
    free_calls_mpi();
    two_threads();
    report("generalized", rank, size);
    return MPI_Finalize();
}
