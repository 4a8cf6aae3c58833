/* Errors of every rank: what MPI_Error_string says of them, and mpiexec of fatal ones. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_error(const char *what, int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int length, class;
    MPI_Error_string(code, text, &length);
    MPI_Error_class(code, &class);
    printf("%s (class %d, %d letters): %s\n", what, class == code, length == (int)strlen(text), text);
}

/* Errors with predefined handles and strings, of MPI_COMM_SELF, which has those without object. */
static void print_names(void)
{
    char port[MPI_MAX_PORT_NAME];
    int word = 0;
    MPI_Comm none;
    MPI_File file;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    print_error("lookup", MPI_Lookup_name("no such", MPI_INFO_NULL, port));
    print_error("open", MPI_File_open(MPI_COMM_SELF, "/no/such", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    print_error("type", MPI_Send(&word, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_SELF));
    print_error("comm", MPI_Send(&word, 1, MPI_INT, 0, 0, MPI_COMM_NULL));
    print_error("spawn", MPI_Comm_spawn("/no/such", MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_SELF, &none,
                                        MPI_ERRCODES_IGNORE));
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "return";
    int rank, words[4] = {0, 0, 0, 0};
    MPI_Comm mine;
    MPI_Request request;
    MPI_Status status;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!strcmp(mode, "names")) {
        print_names();
        MPI_Finalize();
        return 0;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &mine);
    MPI_Comm_set_name(mine, "mine");
    if (!strcmp(mode, "return")) {
        MPI_Comm_set_errhandler(mine, MPI_ERRORS_RETURN);
        print_error("before", MPI_ERR_TRUNCATE);
    }
    if (!strcmp(mode, "rank") || !strcmp(mode, "return")) {
        int code = MPI_Send(words, 4, MPI_INT, 77, 5, mine);
        if (rank == 0)
            print_error("rank", code);
    }
    MPI_Irecv(words, 2, MPI_INT, rank, 3, mine, &request);
    MPI_Send(words, 4, MPI_INT, rank, 3, mine);
    int code = MPI_Wait(&request, &status);
    if (rank == 0)
        print_error("truncated", code);
    MPI_Comm_free(&mine);
    MPI_Finalize();
    return 0;
}
