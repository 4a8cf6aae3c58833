/* Small messages and one-sided operations between two ranks, for `cargo xtask instructions`: rank 0
   runs under callgrind and switches its counting on around the calls that are meant; rank 1 runs as
   it is.

   The two meet outside MPI, by words in the file that the first argument names, so that everything which rank 0
   is to find has arrived before it looks: no count depends on time. */
#include <fcntl.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

enum { ROUNDS = 40, WINDOW = 16, TAG = 7 };

static atomic_int *words;
static int rank, meetings;

/* Both ranks get here before either goes on. */
static void meet(void) {
    atomic_store(&words[rank], ++meetings);
    while (atomic_load(&words[1 - rank]) < meetings) usleep(50);
}

#define COUNTED(...)              \
    do {                          \
        CALLGRIND_TOGGLE_COLLECT; \
        __VA_ARGS__;              \
        CALLGRIND_TOGGLE_COLLECT; \
    } while (0)

static char out[WINDOW][1024], in[WINDOW][1024];
static MPI_Request requests[WINDOW];
static MPI_Status status, statuses[WINDOW];
static int flag;

#define ISEND(i) MPI_Isend(out[i], 8, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[i])
#define IRECV(i) MPI_Irecv(in[i], 8, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &requests[i])
#define WAIT(i) MPI_Wait(&requests[i], &status)
#define WAITALL() MPI_Waitall(WINDOW, requests, statuses)
#define EACH(call)                               \
    do {                                         \
        for (int i = 0; i < WINDOW; i++) call(i); \
    } while (0)

/* What rank 0 does is counted; rank 1 is the other end. */
static void receive_all(int bytes, int number) {
    for (int i = 0; i < number; i++)
        MPI_Recv(in[0], bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void send_all(int bytes, int number) {
    for (int i = 0; i < number; i++) MPI_Send(out[0], bytes, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
}

/* A section: `mine` for rank 0, `theirs` for rank 1, ROUNDS times; its counts are written out
   under its name. The first round is not counted: it makes tables grow and meets code for the
   first time. */
#define SECTION(name, before, counted, after, theirs)                    \
    do {                                                                 \
        for (int round = 0; round <= ROUNDS; round++) {                  \
            if (round == 1) CALLGRIND_ZERO_STATS;                        \
            if (rank == 0) {                                             \
                before;                                                  \
                COUNTED(counted);                                        \
                after;                                                   \
            } else {                                                     \
                theirs;                                                  \
            }                                                            \
            meet();                                                      \
        }                                                                \
        if (rank == 0) CALLGRIND_DUMP_STATS_AT(name);                    \
    } while (0)

#define NOTHING \
    do {        \
    } while (0)

static void sends(void) {
    SECTION("isend", NOTHING, EACH(ISEND), EACH(WAIT), receive_all(8, WINDOW));
    SECTION("wait_sent", EACH(ISEND), EACH(WAIT), NOTHING, receive_all(8, WINDOW));
    SECTION("isend_wait", NOTHING, (ISEND(0), WAIT(0)), NOTHING, receive_all(8, 1));
    SECTION("isend_waitall", NOTHING, EACH(ISEND); WAITALL(), NOTHING, receive_all(8, WINDOW));
    SECTION("send", NOTHING, MPI_Send(out[0], 8, MPI_BYTE, 1, TAG, MPI_COMM_WORLD), NOTHING, receive_all(8, 1));
    SECTION("send_1k", NOTHING, MPI_Send(out[0], 1024, MPI_BYTE, 1, TAG, MPI_COMM_WORLD), NOTHING,
            receive_all(1024, 1));
}

static void receives(void) {
    SECTION("irecv", NOTHING, EACH(IRECV), meet(); EACH(WAIT), (meet(), send_all(8, WINDOW)));
    SECTION("wait_received", EACH(IRECV); meet(); meet(), EACH(WAIT), NOTHING,
            (meet(), send_all(8, WINDOW), meet()));
    SECTION("irecv_wait_expected", COUNTED(IRECV(0)); meet(); meet(), WAIT(0), NOTHING, (meet(), send_all(8, 1), meet()));
    SECTION("irecv_wait_there", meet(), (IRECV(0), WAIT(0)), NOTHING, (send_all(8, 1), meet()));
    SECTION("irecv_wait_unexpected",
            meet(); MPI_Iprobe(1, TAG + 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE), (IRECV(0), WAIT(0)), NOTHING,
            (send_all(8, 1), meet()));
    SECTION("irecv_waitall", meet(), EACH(IRECV); WAITALL(), NOTHING, (send_all(8, WINDOW), meet()));
    SECTION("recv", meet(), MPI_Recv(in[0], 8, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &status), NOTHING,
            (send_all(8, 1), meet()));
    SECTION("recv_1k", meet(), MPI_Recv(in[0], 1024, MPI_BYTE, 1, TAG, MPI_COMM_WORLD, &status), NOTHING,
            (send_all(1024, 1), meet()));
    SECTION("iprobe_empty", NOTHING, MPI_Iprobe(1, TAG, MPI_COMM_WORLD, &flag, &status), NOTHING, NOTHING);
    SECTION("test_pending", IRECV(0), MPI_Test(&requests[0], &flag, &status),
            meet(); WAIT(0), (meet(), send_all(8, 1)));
}

/* The MPICH face translates windows in the general way: only the standard one is counted. */
#ifdef MPI_WIN_NULL
static void windows(void) {
    static double row[64];
    long one = 1, was;
    char *memory;
    MPI_Win win;
    MPI_Win_allocate(4096, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_lock_all(0, win);
    SECTION("put_flush", NOTHING, MPI_Put(out[0], 8, MPI_BYTE, 1, 0, 8, MPI_BYTE, win); MPI_Win_flush(1, win), NOTHING,
            NOTHING);
    SECTION("get_flush", NOTHING, MPI_Get(in[0], 8, MPI_BYTE, 1, 0, 8, MPI_BYTE, win); MPI_Win_flush(1, win), NOTHING,
            NOTHING);
    SECTION("fetch_and_op_flush", NOTHING, MPI_Fetch_and_op(&one, &was, MPI_LONG, 1, 8, MPI_SUM, win);
            MPI_Win_flush(1, win), NOTHING, NOTHING);
    SECTION("accumulate_64_flush", NOTHING, MPI_Accumulate(row, 64, MPI_DOUBLE, 1, 64, 64, MPI_DOUBLE, MPI_SUM, win);
            MPI_Win_flush(1, win), NOTHING, NOTHING);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    /* The same beside a window on which nothing happens, though messages may come for it. */
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    SECTION("test_pending_beside_window", IRECV(0), MPI_Test(&requests[0], &flag, &status),
            meet(); WAIT(0), (meet(), send_all(8, 1)));
    MPI_Win_free(&win);
}
#endif

int main(int argc, char **argv) {
    int file = argc == 2 ? open(argv[1], O_RDWR) : -1;
    words = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (words == MAP_FAILED) {
        perror("the first argument must name a file of 4096 bytes");
        return 1;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    SECTION("nothing", NOTHING, NOTHING, NOTHING, NOTHING);
    sends();
    receives();
#ifdef MPI_WIN_NULL
    windows();
#endif
    MPI_Finalize();
    return 0;
}
