/* Functions that are not written yet raise MPI_ERR_UNSUPPORTED_OPERATION through the error
 * handler of the call's object. WAY: fatal (all ranks), one (rank 1 alone), or return (what
 * handlers get). A function that has been written since must be replaced here by one that has
 * not: see docs/COVERAGE.md. */
#include "check.h"

static int calls, last_code;
static MPI_Comm last_comm;

static void noted(MPI_Comm *comm, int *code, ...) {
    calls++;
    last_comm = *comm;
    last_code = *code;
}

static int accept_others(MPI_Comm comm) {
    MPI_Comm others;
    return MPI_Comm_accept("nowhere", MPI_INFO_NULL, 0, comm, &others);
}

static int spawn(MPI_Comm comm) {
    MPI_Comm children;
    return MPI_Comm_spawn("true", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, comm, &children, MPI_ERRCODES_IGNORE);
}

/* Each communicator's own handler gets the error, and the caller its class. */
static void handlers(void) {
    MPI_Errhandler handler;
    MPI_Comm copy;
    MPI_Comm_create_errhandler(noted, &handler);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_set_errhandler(copy, handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_CLASS(accept_others(MPI_COMM_WORLD), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK_CLASS(spawn(MPI_COMM_WORLD), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(calls == 0);
    CHECK_CLASS(accept_others(copy), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(calls == 1 && last_comm == copy && class_of(last_code) == MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK_CLASS(spawn(copy), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(calls == 2);
    MPI_Comm_free(&copy);
    MPI_Errhandler_free(&handler);
}

int main(int argc, char **argv) {
    int rank, size;
    const char *way = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!strcmp(way, "fatal"))
        accept_others(MPI_COMM_WORLD);
    else if (!strcmp(way, "one") && rank == 1)
        spawn(MPI_COMM_WORLD);
    else if (!strcmp(way, "return"))
        handlers();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    report("unwritten", rank, size);
    return 0;
}
