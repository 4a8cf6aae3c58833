/* The kinds of memory that calls take (MPI-5.0, 12.4.3). The first argument is the list that is
   expected; with a second one a process is spawned that asks for it. */
#include "check.h"

static void told(MPI_Info info, const char *expected) {
    char value[MPI_MAX_INFO_VAL + 1] = "";
    int flag = 0, length = sizeof value;
    MPI_Info_get_string(info, "mpi_memory_alloc_kinds", &length, value, &flag);
    if (!flag || strcmp(value, expected))
        fprintf(stderr, "\"%s\" instead of \"%s\"\n", value, expected);
    CHECK(flag && !strcmp(value, expected));
    if (info != MPI_INFO_ENV)
        MPI_Info_free(&info);
}

/* A communicator, a window, and a file. */
static void objects(const char *expected) {
    MPI_Info info;
    MPI_Comm_get_info(MPI_COMM_WORLD, &info);
    told(info, expected);
    MPI_Win win;
    void *memory;
    MPI_Win_allocate(8, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    MPI_Win_get_info(win, &info);
    told(info, expected);
    MPI_Win_free(&win);
    MPI_File file;
    CHECK(MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_RDONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    MPI_File_get_info(file, &info);
    told(info, expected);
    MPI_File_close(&file);
}

static void session(const char *asked, const char *expected) {
    MPI_Session session;
    MPI_Info info = MPI_INFO_NULL;
    if (asked) {
        MPI_Info_create(&info);
        MPI_Info_set(info, "mpi_memory_alloc_kinds", asked);
    }
    CHECK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
    if (asked)
        MPI_Info_free(&info);
    MPI_Session_get_info(session, &info);
    told(info, expected);
    MPI_Session_finalize(&session);
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Comm parent;
    CHECK(argc >= 2);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    told(MPI_INFO_ENV, argv[1]);
    objects(argv[1]);
    session(NULL, argv[1]);
    session("cuda:device,mpi:win_allocate", "mpi,system,mpi:win_allocate");
    if (argc > 2) {
        char expected[200];
        char *arguments[] = {expected, NULL};
        MPI_Info info;
        snprintf(expected, sizeof expected, "mpi,system,%s", argv[2]);
        MPI_Info_create(&info);
        MPI_Info_set(info, "mpi_memory_alloc_kinds", argv[2]);
        CHECK(MPI_Comm_spawn(argv[0], arguments, 1, info, 0, MPI_COMM_WORLD, &parent, MPI_ERRCODES_IGNORE) == 0);
        MPI_Info_free(&info);
    }
    if (parent != MPI_COMM_NULL)
        MPI_Comm_disconnect(&parent);
    report("memory_kinds", rank, size);
    MPI_Finalize();
    return 0;
}
