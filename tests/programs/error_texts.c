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

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "return";
    int rank, words[4] = {0, 0, 0, 0};
    MPI_Comm mine;
    MPI_Request request;
    MPI_Status status;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
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
