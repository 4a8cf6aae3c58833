/* outlived CALL [AFTER]: a spawned process dies, of which one rank here hears before all make a
   call that it would take part in. The call ends with an error on every rank, also on those that
   wait for the one that has heard, or send it a long message.

   With AFTER, in microseconds, all make such calls until the death ends one, on every rank: it may
   come when some have left a call and others are in the next one. */
#include "check.h"
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

enum { BYTES = 1 << 20, TAG = 9 };

/* The processes of both jobs: the child has rank 1. */
static MPI_Comm merged(MPI_Comm other, int is_child, int rank) {
    MPI_Comm all, ordered;
    MPI_Intercomm_merge(other, is_child, &all);
    MPI_Comm_split(all, 0, is_child ? 1 : 2 * rank, &ordered);
    MPI_Comm_free(&all);
    return ordered;
}

static int call_of(const char *name, MPI_Comm all, MPI_Comm other, int size) {
    static char own[BYTES];
    MPI_Comm made;
    if (!strcmp(name, "dup"))
        return MPI_Comm_dup(other, &made);
    if (!strcmp(name, "create_group")) {
        MPI_Group group;
        MPI_Comm_group(all, &group);
        return MPI_Comm_create_group(all, group, TAG, &made);
    }
    if (!strcmp(name, "split")) {
        int code = MPI_Comm_split(all, 0, 0, &made);
        return code ? code : MPI_Comm_free(&made);
    }
    if (!strcmp(name, "window")) {
        static int memory;
        MPI_Win window;
        int code = MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, all, &window);
        if (code)
            return code;
        MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
        return MPI_Win_free(&window);
    }
    if (!strcmp(name, "left")) {
        /* Rank 0 takes part in nothing more once this has failed. */
        MPI_Comm parents;
        int number = 0, rank, code = MPI_Comm_dup(all, &made);
        MPI_Comm_dup(MPI_COMM_WORLD, &parents);
        MPI_Comm_rank(parents, &rank);
        if (rank != 0 || code == MPI_SUCCESS)
            MPI_Bcast(&number, 1, MPI_INT, 1, parents);
        return code;
    }
    CHECK(!strcmp(name, "gather"));
    return MPI_Gather(own, BYTES, MPI_BYTE, malloc((size_t)size * BYTES), BYTES, MPI_BYTE, 0, all);
}

static void die(int signal) {
    (void)signal;
    raise(SIGKILL);
}

static void die_after(int microseconds) {
    struct itimerval when = {{0, 0}, {0, microseconds}};
    signal(SIGALRM, die);
    setitimer(ITIMER_REAL, &when, NULL);
}

int main(int argc, char **argv) {
    MPI_Comm parent, other, all;
    int rank, size, flag, code = MPI_SUCCESS;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    int is_child = parent != MPI_COMM_NULL;
    if (!is_child)
        MPI_Comm_spawn(argv[0], argv + 1, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
    all = merged(is_child ? parent : other, is_child, rank);
    MPI_Barrier(all);
    MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    if (argc > 2) {
        if (is_child)
            die_after(atoi(argv[2]));
        while (!call_of(argv[1], all, other, size + 1))
            ;
        printf("rank %d: an error\n", rank);
        MPI_Finalize();
        return 0;
    }
    if (is_child)
        raise(SIGKILL);
    MPI_Comm_set_errhandler(other, MPI_ERRORS_RETURN);
    while (rank == 0 && code == MPI_SUCCESS)
        code = MPI_Iprobe(1, TAG, all, &flag, MPI_STATUS_IGNORE);
    if (rank != 0)
        usleep(200000);
    printf("rank %d: %s\n", rank, call_of(argv[1], all, other, size + 1) ? "an error" : "success");
    MPI_Finalize();
    return 0;
}
