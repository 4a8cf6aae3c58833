/* The error handler that a program begins with: the first argument names it, as mpiexec's option or
   the key of the spawn does. With a second one the last rank dies. */
#include "check.h"
#include <signal.h>
#include <unistd.h>

static MPI_Errhandler named(const char *name) {
    if (!strcmp(name, "mpi_errors_return"))
        return MPI_ERRORS_RETURN;
    return strcmp(name, "mpi_errors_abort") ? MPI_ERRORS_ARE_FATAL : MPI_ERRORS_ABORT;
}

static void begins_with(MPI_Comm comm, MPI_Errhandler expected) {
    MPI_Errhandler own;
    CHECK(MPI_Comm_get_errhandler(comm, &own) == MPI_SUCCESS && own == expected);
    MPI_Errhandler_free(&own);
}

static void spawn(char *self, char *key, char *expected) {
    char *arguments[] = {expected, NULL};
    MPI_Comm child;
    MPI_Info info;
    MPI_Info_create(&info);
    if (key != NULL)
        MPI_Info_set(info, "mpi_initial_errhandler", key);
    CHECK(MPI_Comm_spawn(self, arguments, 1, info, 0, MPI_COMM_WORLD, &child, MPI_ERRCODES_IGNORE) == MPI_SUCCESS);
    /* It has that of the communicator of the call. */
    begins_with(child, MPI_ERRORS_RETURN);
    MPI_Comm_disconnect(&child);
    MPI_Info_free(&info);
}

/* Nobody has set an error handler. */
static void survive(int rank, int size) {
    MPI_Comm left;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1)
        kill(getpid(), SIGKILL);
    CHECK(class_of(MPI_Barrier(MPI_COMM_WORLD)) == MPIX_ERR_PROC_FAILED);
    CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &left) == MPI_SUCCESS);
    MPI_Comm_free(&left);
}

int main(int argc, char **argv) {
    CHECK(argc >= 2);
    MPI_Errhandler expected = named(argv[1]);
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int rank, size, flag = 0, length = sizeof value;
    /* Before initialisation it is asked too. */
    if (expected == MPI_ERRORS_RETURN)
        CHECK(MPI_Comm_size(MPI_COMM_WORLD, &size) != MPI_SUCCESS);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    begins_with(MPI_COMM_WORLD, expected);
    begins_with(MPI_COMM_SELF, expected);
    MPI_Info_get_string(MPI_INFO_ENV, "mpi_initial_errhandler", &length, value, &flag);
    CHECK(flag && !strcmp(value, argv[1]));
    if (expected == MPI_ERRORS_RETURN)
        CHECK(MPI_Comm_call_errhandler(MPI_COMM_WORLD, MPI_ERR_OTHER) == MPI_SUCCESS);
    MPI_Comm parent, twin;
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    begins_with(twin, expected);
    MPI_Comm_free(&twin);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        begins_with(parent, expected);
        MPI_Comm_disconnect(&parent);
        MPI_Finalize();
        return 0;
    }
    if (argc > 2) {
        survive(rank, size);
    } else {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        spawn(argv[0], "mpi_errors_return", "mpi_errors_return");
        spawn(argv[0], "mpi_errors_abort", "mpi_errors_abort");
        spawn(argv[0], "mpi_errors_are_fatal", "mpi_errors_are_fatal");
        /* The option of mpiexec is about its own program. */
        spawn(argv[0], NULL, "mpi_errors_are_fatal");
        MPI_Info info;
        MPI_Comm child;
        MPI_Info_create(&info);
        MPI_Info_set(info, "mpi_initial_errhandler", "mpi_errors_ignored");
        int code = MPI_Comm_spawn(argv[0], argv + 1, 1, info, 0, MPI_COMM_WORLD, &child, MPI_ERRCODES_IGNORE);
        CHECK(class_of(code) == MPI_ERR_INFO_VALUE || (rank > 0 && code != MPI_SUCCESS));
        MPI_Info_free(&info);
    }
    report("initial_errors", rank, size);
    MPI_Finalize();
    return 0;
}
