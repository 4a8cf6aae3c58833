/* The performance variables of windows say what the program did, and which way it went. The
   arguments are the ways that are expected: of puts and gets in a window that was allocated, of
   those on memory of the program, of atomic operations, and the variable of contended locks. */
#include "tool.h"
#include <stdint.h>

#define KINDS 5
#define WAYS 3
static const char *kinds[KINDS] = {"puts", "gets", "accumulates", "fetches", "swaps"};
static const char *ways[WAYS] = {"mapped", "neighbor", "messages"};
static const unsigned long long calls[KINDS] = {3, 2, 4, 5, 6};

static int rank, size;
static MPI_T_pvar_handle handles[KINDS][WAYS], requests;

static MPI_T_pvar_handle started(const char *name) {
    MPI_T_pvar_handle handle = pvar_handle(name, MPI_T_PVAR_CLASS_COUNTER);
    OK(MPI_T_pvar_start(session, handle));
    return handle;
}

static void start_all(void) {
    char name[64];
    for (int kind = 0; kind < KINDS; kind++)
        for (int way = 0; way < WAYS; way++) {
            snprintf(name, sizeof name, "window_%s_%s", kinds[kind], ways[way]);
            handles[kind][way] = started(name);
        }
    requests = started("window_requests");
}

/* Every operation at the next rank, as often as `calls` says. */
static void operate(MPI_Win win) {
    int next = (rank + 1) % size;
    int64_t one = 1, none = 0, was[2];
    MPI_Win_lock_all(0, win);
    for (unsigned i = 0; i < calls[0]; i++)
        MPI_Put(&one, 1, MPI_INT64_T, next, 8, 1, MPI_INT64_T, win);
    for (unsigned i = 0; i < calls[1]; i++)
        MPI_Get(&was[0], 1, MPI_INT64_T, next, 16, 1, MPI_INT64_T, win);
    for (unsigned i = 0; i < calls[2]; i++)
        MPI_Accumulate(&one, 1, MPI_INT64_T, next, 0, 1, MPI_INT64_T, MPI_SUM, win);
    for (unsigned i = 0; i < calls[3]; i++)
        MPI_Fetch_and_op(&one, &was[1], MPI_INT64_T, next, 0, MPI_SUM, win);
    for (unsigned i = 0; i < calls[4]; i++)
        MPI_Compare_and_swap(&one, &none, &was[1], MPI_INT64_T, next, 24, win);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* What is counted of operations in this window was called, and it went the expected ways. */
static void count(MPI_Win win, const int64_t *memory, const char *plain, const char *atomic) {
    unsigned long long before[KINDS][WAYS], served = read_pvar(requests);
    for (int kind = 0; kind < KINDS; kind++)
        for (int way = 0; way < WAYS; way++)
            before[kind][way] = read_pvar(handles[kind][way]);
    MPI_Barrier(MPI_COMM_WORLD);
    operate(win);
    unsigned long long sent = 0;
    for (int kind = 0; kind < KINDS; kind++)
        for (int way = 0; way < WAYS; way++) {
            int is_expected = !strcmp(ways[way], kind < 2 ? plain : atomic);
            unsigned long long more = read_pvar(handles[kind][way]) - before[kind][way];
            CHECK(more == (is_expected ? calls[kind] : 0));
            sent += way == 2 ? more : 0;
        }
    CHECK(read_pvar(requests) - served >= sent && (sent > 0 || read_pvar(requests) == served));
    CHECK(memory[0] == (int64_t)(calls[2] + calls[3]) && memory[1] == 1 && memory[2] == 0 && memory[3] == 1);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 1 asks for the lock that rank 0 holds, until one of its requests had to wait. */
static void contend(MPI_Win win, const char *name) {
    MPI_T_pvar_handle contended = started(name);
    int counts_here = rank == (strcmp(name, "window_locks_awaited") ? 0 : 1);
    for (int waited = 0; !waited;) {
        if (rank == 0) {
            int flag;
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
            MPI_Send(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
            for (int i = 0; i < 100; i++) {
                MPI_Iprobe(1, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
                usleep(100);
            }
            MPI_Win_unlock(0, win);
        } else if (rank == 1) {
            MPI_Recv(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
            MPI_Win_unlock(0, win);
        }
        int own = counts_here && read_pvar(contended) > 0;
        MPI_Allreduce(&own, &waited, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv) {
    int64_t *allocated, created[4] = {0};
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int provided;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    CHECK(argc == 5 && size > 1);
    start_all();

    MPI_Win_allocate(32, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &allocated, &win);
    memset(allocated, 0, 32);
    MPI_Barrier(MPI_COMM_WORLD);
    count(win, allocated, argv[1], strcmp(argv[3], "plain") ? argv[3] : argv[1]);
    contend(win, argv[4]);
    MPI_Win_free(&win);

    MPI_Win_create(created, 32, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    count(win, created, argv[2], strcmp(argv[3], "plain") ? argv[3] : argv[2]);
    MPI_Win_free(&win);

    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    report("window_counts", rank, size);
    MPI_Finalize();
    return 0;
}
