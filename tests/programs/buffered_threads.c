/* Buffered sends while the buffer is full, and while another thread detaches it. */
#include "check.h"
#include <pthread.h>
#include <time.h>

enum { BYTES = 1 << 20, MESSAGES = 20, ROOM = 2 * (BYTES + MPI_BSEND_OVERHEAD), MORE = 0, END = 1 };
static const double SECONDS_MAX = 10;
static char data[BYTES], room[ROOM];
static int rank, size;

static void pause_shortly(void) {
    nanosleep(&(struct timespec){0, 1000000}, NULL);
}

/* The receiver waits for all messages. Only the sends themselves can make room. */
static void sends_make_progress(void) {
    void *detached;
    int bytes;
    if (rank == 0)
        CHECK(MPI_Buffer_attach(room, ROOM) == MPI_SUCCESS);
    for (int i = 0; i < MESSAGES; i++) {
        if (rank == 0) {
            double began = MPI_Wtime();
            int class = MPI_ERR_BUFFER;
            memset(data, i, BYTES);
            while (class == MPI_ERR_BUFFER && MPI_Wtime() - began < SECONDS_MAX) {
                class = class_of(MPI_Bsend(data, BYTES, MPI_CHAR, 1, 0, MPI_COMM_WORLD));
                pause_shortly();
            }
            CHECK(class == MPI_SUCCESS);
        } else {
            MPI_Recv(data, BYTES, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(data[0] == i && data[BYTES - 1] == i);
        }
    }
    if (rank == 0) {
        CHECK(MPI_Buffer_detach(&detached, &bytes) == MPI_SUCCESS);
        CHECK(detached == room && bytes == ROOM);
    }
}

static void *detach(void *buffer) {
    void *detached;
    int bytes;
    CHECK(MPI_Buffer_detach(&detached, &bytes) == MPI_SUCCESS);
    CHECK(detached == buffer && bytes == (buffer == MPI_BUFFER_AUTOMATIC ? 0 : ROOM));
    return NULL;
}

/* Another thread detaches the buffer and waits for a message in it. Meanwhile sends find no buffer,
   and none is attached. */
static void detach_meanwhile(void *buffer) {
    char token = MORE;
    if (rank == 0) {
        double began = MPI_Wtime();
        int class = MPI_SUCCESS;
        pthread_t thread;
        CHECK(MPI_Buffer_attach(buffer, ROOM) == MPI_SUCCESS);
        CHECK(MPI_Bsend(data, BYTES, MPI_CHAR, 1, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
        pthread_create(&thread, NULL, detach, buffer);
        while (class == MPI_SUCCESS && MPI_Wtime() - began < SECONDS_MAX) {
            class = class_of(MPI_Bsend(&token, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD));
            pause_shortly();
        }
        CHECK(class == MPI_ERR_BUFFER);
        CHECK_CLASS(MPI_Buffer_attach(room, ROOM), MPI_ERR_BUFFER);
        token = END;
        MPI_Send(&token, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
        pthread_join(thread, NULL);
    } else {
        while (token == MORE)
            MPI_Recv(&token, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(data, BYTES, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

int main(void) {
    int provided;
    CHECK(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size == 2);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    sends_make_progress();
    detach_meanwhile(room);
    detach_meanwhile(MPI_BUFFER_AUTOMATIC);
    report("buffered_threads", rank, size);
    return MPI_Finalize();
}
