/* An argument of a spawn that is wrong at the root alone fails the call on all ranks. A right one
   works afterwards. */
#include "check.h"

int main(int argc, char **argv) {
    char *self = argv[0];
    char *commands[] = {self, self}, *torn[] = {self, NULL};
    int rank, size, one[] = {1, 1}, none[] = {1, 0};
    MPI_Info freed, infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm parent, child;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        MPI_Comm_disconnect(&parent);
        MPI_Finalize();
        return 0;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Info_create(&freed);
    MPI_Info twin = freed, half[] = {MPI_INFO_NULL, freed};
    MPI_Info_free(&freed);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int root = 0; root < size; root++) {
        int bad = rank == root;
        MPI_Comm world = MPI_COMM_WORLD, inter;
        CHECK_CLASS(MPI_Comm_spawn(self, NULL, 1, bad ? twin : MPI_INFO_NULL, root, world, &inter, NULL), MPI_ERR_INFO);
        CHECK_CLASS(MPI_Comm_spawn(bad ? NULL : self, NULL, 1, MPI_INFO_NULL, root, world, &inter, NULL), MPI_ERR_ARG);
        CHECK_CLASS(MPI_Comm_spawn(bad ? "" : self, NULL, 1, MPI_INFO_NULL, root, world, &inter, NULL), MPI_ERR_ARG);
        CHECK_CLASS(MPI_Comm_spawn(self, NULL, bad ? -1 : 1, MPI_INFO_NULL, root, world, &inter, NULL), MPI_ERR_ARG);
        struct {
            int count, *processes;
            char **commands;
            MPI_Info *infos;
            int class;
        } calls[] = {
            {-1, one, commands, infos, MPI_ERR_ARG},  {0, one, commands, infos, MPI_ERR_ARG},
            {2, NULL, commands, infos, MPI_ERR_ARG},  {2, none, commands, infos, MPI_ERR_ARG},
            {2, one, NULL, infos, MPI_ERR_ARG},       {2, one, torn, infos, MPI_ERR_ARG},
            {2, one, commands, NULL, MPI_ERR_ARG},    {2, one, commands, half, MPI_ERR_INFO},
        };
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
            int right = rank != root;
            CHECK_CLASS(MPI_Comm_spawn_multiple(right ? 2 : calls[i].count, right ? commands : calls[i].commands, NULL,
                                                right ? one : calls[i].processes, right ? infos : calls[i].infos, root,
                                                world, &inter, NULL),
                        calls[i].class);
        }
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    CHECK(MPI_Comm_spawn(self, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &child, MPI_ERRCODES_IGNORE) ==
          MPI_SUCCESS);
    MPI_Comm_disconnect(&child);
    report("spawn_errors", rank, size);
    MPI_Finalize();
    return 0;
}
