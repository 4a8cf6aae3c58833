/* A job on several hosts that loses the last one: a rank there kills its agent. The argument says
   what the others do. */
#include "check.h"
#include <signal.h>
#include <unistd.h>

static int rank, size;
static char *self;

/* The communicator of those that are left, which all have noticed the deaths. */
static MPI_Comm shrink(void) {
    MPI_Comm left;
    CHECK(MPIX_Comm_revoke(MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &left) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(left, MPI_ERRORS_RETURN);
    return left;
}

/* All of a communicator talk with each other; returns their number. */
static int talk(MPI_Comm comm) {
    int one = 1, sum = 0;
    CHECK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS);
    return sum;
}

/* As many new processes as are missing. */
static void replace(MPI_Comm left, int missing) {
    MPI_Comm inter, all;
    CHECK(MPI_Comm_spawn(self, MPI_ARGV_NULL, missing, MPI_INFO_NULL, 0, left, &inter, MPI_ERRCODES_IGNORE) ==
          MPI_SUCCESS);
    CHECK(MPI_Intercomm_merge(inter, 0, &all) == MPI_SUCCESS);
    CHECK(talk(all) == size);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&inter);
}

static void join(MPI_Comm parent) {
    MPI_Comm all;
    CHECK(MPI_Intercomm_merge(parent, 1, &all) == MPI_SUCCESS);
    talk(all);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&parent);
}

int main(int argc, char **argv) {
    MPI_Comm parent, left;
    int lost = 0, failed = 0;
    self = argv[0];
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        join(parent);
        MPI_Finalize();
        return 0;
    }
    const char *what = argc > 1 ? argv[1] : "";
    lost = argc > 2 ? atoi(argv[2]) : 1;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    /* All have left the barrier before anybody dies. */
    if (rank == size - 1) {
        for (int other = 0; other < rank; other++)
            CHECK(MPI_Recv(NULL, 0, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        kill(getppid(), SIGKILL);
    } else
        CHECK(MPI_Send(NULL, 0, MPI_INT, size - 1, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    if (rank >= size - lost)
        for (;;)
            pause();
    int code = MPI_Barrier(MPI_COMM_WORLD);
    CHECK(class_of(code) == MPIX_ERR_PROC_FAILED || class_of(code) == MPIX_ERR_REVOKED);
    if (strcmp(what, "unnoticed") == 0) {
        /* The others hear of it by the error alone. */
        MPIX_Comm_revoke(MPI_COMM_WORLD);
    } else {
        left = shrink();
        CHECK(talk(left) == size - lost);
        /* All deaths are known by now, and acknowledged by one call. */
        CHECK(MPIX_Comm_ack_failed(MPI_COMM_WORLD, size, &failed) == MPI_SUCCESS && failed == lost);
        if (strcmp(what, "replaced") == 0)
            replace(left, lost);
        MPI_Comm_free(&left);
    }
    report("ulfm_host", rank, size);
    MPI_Finalize();
    return 0;
}
