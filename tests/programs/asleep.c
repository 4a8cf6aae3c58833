/* A thread that waits beside pending tasks sleeps: each look at a nonblocking collective or a
   partitioned message in the last round before the sleep must not wake the thread itself. Rank 0
   comes 0.3 s late to each wait of the others; one sleep lasts at most 0.1 s. With the argument
   "once" there is one such wait, and rank 1 prints how often it slept. */
#include "tool.h"
#include <pthread.h>

#define LATE_US 300000
/* A wait of 0.3 s sleeps 3 times, plus once for each message that wakes it; one that wakes itself
   "sleeps" ten thousand times. */
#define SLEEPS_MAX 200

static int rank, size;

static void late(void) {
    if (rank == 0)
        usleep(LATE_US);
}

static void barrier(void) {
    MPI_Request request;
    late();
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void allreduce(void) {
    MPI_Request request;
    int mine = rank + 1, sum = 0;
    late();
    MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(sum == size * (size + 1) / 2);
}

/* A blocking receive beside a barrier that is under way. */
static void receive(void) {
    MPI_Request request;
    int value = 0;
    if (rank != 0) {
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Recv(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(value == 7);
    } else {
        late();
        value = 7;
        for (int to = 1; to < size; to++)
            MPI_Send(&value, 1, MPI_INT, to, 1, MPI_COMM_WORLD);
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void partitioned(void) {
    MPI_Request request = MPI_REQUEST_NULL;
    int values[4] = {1, 2, 3, 4}, got[4] = {0};
    if (rank == 0) {
        late();
        MPI_Psend_init(values, 4, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Pready_range(0, 3, request);
    } else if (rank == 1) {
        MPI_Precv_init(got, 4, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
    }
    if (request == MPI_REQUEST_NULL)
        return;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    CHECK(rank == 0 || !memcmp(values, got, sizeof got));
}

/* Two threads of a rank wait at once: neither wakes the other. */
static MPI_Comm other_comm;

static void *wait_beside(void *unused) {
    MPI_Request request;
    late();
    MPI_Ibarrier(other_comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return unused;
}

static void two_threads(void) {
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, wait_beside, NULL) == 0);
    barrier();
    pthread_join(thread, NULL);
}

int main(int argc, char **argv) {
    void (*const waits[])(void) = {barrier, allreduce, receive, partitioned, two_threads};
    const char *const names[] = {"barrier", "allreduce", "receive", "partitioned", "two threads"};
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    OK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_dup(MPI_COMM_WORLD, &other_comm);
    OK(MPI_T_pvar_session_create(&session));
    MPI_T_pvar_handle slept = pvar_handle("waits_slept", MPI_T_PVAR_CLASS_COUNTER);
    OK(MPI_T_pvar_start(session, slept));
    int once = argc > 1 && strcmp(argv[1], "once") == 0;
    for (size_t i = 0; i < (once ? 1 : sizeof waits / sizeof *waits); i++) {
        unsigned long long before = read_pvar(slept);
        waits[i]();
        unsigned long long sleeps = read_pvar(slept) - before;
        if (sleeps > SLEEPS_MAX)
            fprintf(stderr, "%s: rank %d slept %llu times\n", names[i], rank, sleeps);
        CHECK(sleeps <= SLEEPS_MAX);
        if (once && rank == 1)
            printf("slept %llu times\n", sleeps);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    OK(MPI_T_pvar_handle_free(session, &slept));
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    MPI_Comm_free(&other_comm);
    report("asleep", rank, size);
    MPI_Finalize();
    return 0;
}
