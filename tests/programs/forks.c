/* forks WHAT: each rank forks after MPI_Init. Its child has a copy of MPI, and is no process of the
 * job: what it does with MPI harms nobody, and fails.
 *
 *   finalize   the child of rank 1 finalises, as functions at exit do; then the parents communicate
 *   calls      the child's calls fail
 *   fatal      the child's call ends the child
 *   abort      MPI_Abort ends the child
 *   leave      like finalize, but rank 1 exits without MPI_Finalize: the launcher must notice */
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

static int rank, size;

static void finalize_at_exit(void) {
    int done = 0;
    MPI_Finalized(&done);
    if (!done)
        MPI_Finalize();
    MPI_Finalized(&done);
    if (!done)
        _exit(41);
}

/* In the child there is no job to end, so failed checks are codes. */
#define EXPECT(condition)                                                                                              \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: failed in the child: %s\n", __FILE__, __LINE__, #condition);                       \
            _exit(40);                                                                                                 \
        }                                                                                                              \
    } while (0)
#define FAILS(call) EXPECT(class_of(call) == MPI_ERR_OTHER)

static void call_in_vain(void) {
    int flag = 0, one = 1, sum = 0, right = (rank + 1) % size, provided;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm comm;
    MPI_Session session;
    EXPECT(MPI_Initialized(&flag) == 0 && flag);
    EXPECT(MPI_Finalized(&flag) == 0 && !flag);
    FAILS(MPI_Send(&one, 1, MPI_INT, right, 1, MPI_COMM_WORLD));
    FAILS(MPI_Isend(&one, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &request));
    FAILS(MPI_Recv(&one, 1, MPI_INT, right, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    FAILS(MPI_Irecv(&one, 1, MPI_INT, right, 1, MPI_COMM_WORLD, &request));
    FAILS(MPI_Wait(&request, MPI_STATUS_IGNORE));
    FAILS(MPI_Barrier(MPI_COMM_WORLD));
    FAILS(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    FAILS(MPI_Ibarrier(MPI_COMM_WORLD, &request));
    FAILS(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    FAILS(MPI_Init(NULL, NULL));
    FAILS(MPI_Init_thread(NULL, NULL, MPI_THREAD_MULTIPLE, &provided));
    FAILS(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
}

static int is(const char *what, const char *word) { return !strcmp(what, word); }

static void be_child(const char *what) {
    if (is(what, "finalize") && rank != 1)
        _exit(0);
    if (is(what, "calls"))
        call_in_vain();
    if (is(what, "fatal"))
        MPI_Barrier(MPI_COMM_WORLD);
    if (is(what, "abort"))
        MPI_Abort(MPI_COMM_WORLD, 7);
    exit(0);
}

static void communicate(void) {
    int sum, right = (rank + 1) % size, left = (rank + size - 1) % size, got;
    for (int round = 0; round < 100; round++) {
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        CHECK(sum == size * (size - 1) / 2);
        MPI_Sendrecv(&rank, 1, MPI_INT, right, 0, &got, 1, MPI_INT, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(got == left);
    }
}

int main(int argc, char **argv) {
    const char *what = argv[1];
    int status, expected = is(what, "fatal") ? MPI_ERR_OTHER : is(what, "abort") ? 7 : 0;
    MPI_Init(&argc, &argv);
    atexit(finalize_at_exit);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!is(what, "fatal"))
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    communicate();
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        be_child(what);
    communicate();
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == expected);
    communicate();
    if (is(what, "leave") && rank == 1)
        _exit(0);
    if (is(what, "leave"))
        sleep(10);
    report("forks", rank, size);
    return 0;
}
