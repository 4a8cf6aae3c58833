/* Processes that call MPI_Finalize while those of another job, which they have spawned or which
   spawned them, have yet to receive what they sent. The argument says what is tried. */
#include "check.h"
#include <signal.h>
#include <unistd.h>

enum { LONG = 1 << 19, TAG = 4 };

static int data[LONG];
static const char *way;

static int is(const char *name) { return strcmp(way, name) == 0; }

static void start(int count, MPI_Comm comm, int synchronous) {
    MPI_Request request;
    if (synchronous)
        MPI_Issend(data, count, MPI_INT, 0, TAG, comm, &request);
    else
        MPI_Isend(data, count, MPI_INT, 0, TAG, comm, &request);
    MPI_Request_free(&request);
}

/* All that may be under way when a process leaves. */
static void send_all(MPI_Comm comm) {
    static char room[4 * LONG + MPI_BSEND_OVERHEAD];
    for (int i = 0; i < LONG; i++)
        data[i] = i + 1;
    MPI_Send(data, 1, MPI_INT, 0, TAG, comm);
    start(1, comm, 1);
    start(LONG, comm, 0);
    start(LONG, comm, 1);
    MPI_Buffer_attach(room, sizeof room);
    MPI_Bsend(data, LONG, MPI_INT, 0, TAG, comm);
}

static void receive_all(MPI_Comm comm) {
    const int counts[] = {1, 1, LONG, LONG, LONG};
    usleep(700000);
    for (int i = 0; i < 5; i++) {
        MPI_Status status;
        int count;
        memset(data, 0, sizeof data);
        CHECK(MPI_Recv(data, LONG, MPI_INT, MPI_ANY_SOURCE, TAG, comm, &status) == MPI_SUCCESS);
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK(count == counts[i] && data[0] == 1 && data[count - 1] == count);
    }
    printf("all is received\n");
}

int main(int argc, char **argv) {
    MPI_Comm parent, other;
    int rank, size;
    MPI_Init(&argc, &argv);
    CHECK(argc == 2);
    way = argv[1];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    int is_child = parent != MPI_COMM_NULL;
    if (is_child)
        other = parent;
    else
        MPI_Comm_spawn(argv[0], argv + 1, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
    if (is("child") || is("parent") || is("freed") || is("merged")) {
        if (is("merged")) {
            /* Rank 0 is the one who receives. */
            MPI_Comm all;
            MPI_Intercomm_merge(other, !is_child, &all);
            other = all;
        }
        /* Others leave at once, or wait in MPI_Finalize for the two. */
        if (rank == 0 && is_child == is("child"))
            send_all(other);
        else if (rank == 0)
            receive_all(other);
        if (is("freed") && !is_child)
            MPI_Comm_free(&other);
    } else if (is("never")) {
        /* Both have sent what the other one does not take. */
        if (rank == 0)
            start(LONG, other, is_child);
    } else if (is("told")) {
        /* The other one has not taken it and is gone, which a call of this one says. */
        MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN);
        if (rank == 0 && !is_child)
            CHECK(MPI_Ssend(data, LONG, MPI_INT, 0, TAG, other) != MPI_SUCCESS);
    } else if (is("killed")) {
        /* Nobody will take it. */
        if (rank == 0 && !is_child)
            start(LONG, other, 0);
        if (is_child) {
            usleep(500000);
            raise(SIGKILL);
        }
    } else
        CHECK(!"a known way");
    MPI_Finalize();
    if (rank == 0 && !is_child)
        printf("leaves: ok with %d ranks\n", size);
    return 0;
}
