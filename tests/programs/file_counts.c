/* Accesses to a file by all ranks, and what rank 0 counted: lines of a name and a number.
 *
 * Arguments: a folder; hints as key=value, or "-"; names of counters. With FILE_COUNTS_STRIPED the
 * file system passes for one with stripes. */
#include "tool.h"
#include "file_system.h"

enum { PIECE = 64, PIECES = 2048, BYTES = PIECE * PIECES, WRITES = 24, LONG = 1 << 20 };

static int rank, size;
static char name[4096];
static MPI_File file;

static void open_file(const char *folder, char *hints) {
    MPI_Info info;
    snprintf(name, sizeof name, "%s/counts-%d", folder, size);
    MPI_Info_create(&info);
    for (char *hint = strtok(hints, ","); hint; hint = strtok(NULL, ",")) {
        char *value = strchr(hint, '=');
        if (value) {
            *value = 0;
            MPI_Info_set(info, hint, value + 1);
        }
    }
    int mode = MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE;
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, mode, info, &file) == MPI_SUCCESS);
    MPI_Info_free(&info);
}

/* Pieces of all ranks in turn: by one collective call, and by each rank alone. */
static void pieces(void) {
    MPI_Datatype piece, comb;
    char *out = malloc(BYTES), *in = malloc(BYTES);
    CHECK(out && in);
    MPI_Type_contiguous(PIECE, MPI_CHAR, &piece);
    /* Twice as far apart as they need to be: there are gaps. */
    MPI_Type_create_resized(piece, 0, 2 * PIECE * size, &comb);
    MPI_Type_commit(&comb);
    CHECK(MPI_File_set_view(file, PIECE * rank, MPI_CHAR, comb, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    for (int alone = 0; alone < 2; alone++) {
        memset(out, 'a' + 2 * rank + alone, BYTES);
        memset(in, 0, BYTES);
        MPI_Offset at = alone * (MPI_Offset)BYTES;
        CHECK((alone ? MPI_File_write_at(file, at, out, BYTES, MPI_CHAR, MPI_STATUS_IGNORE)
                     : MPI_File_write_at_all(file, at, out, BYTES, MPI_CHAR, MPI_STATUS_IGNORE)) == MPI_SUCCESS);
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK((alone ? MPI_File_read_at(file, at, in, BYTES, MPI_CHAR, MPI_STATUS_IGNORE)
                     : MPI_File_read_at_all(file, at, in, BYTES, MPI_CHAR, MPI_STATUS_IGNORE)) == MPI_SUCCESS);
        CHECK(memcmp(out, in, BYTES) == 0);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Type_free(&piece);
    MPI_Type_free(&comb);
    free(out);
    free(in);
}

/* Many long writes at once. */
static void many(void) {
    MPI_Request requests[WRITES];
    char *out = malloc(LONG);
    CHECK(out && MPI_File_set_view(file, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    memset(out, 'z', LONG);
    for (int i = 0; i < WRITES; i++) {
        MPI_Offset at = (MPI_Offset)LONG * (i * size + rank);
        CHECK(MPI_File_iwrite_at(file, at, out, LONG, MPI_CHAR, &requests[i]) == MPI_SUCCESS);
    }
    CHECK(MPI_Waitall(WRITES, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    free(out);
}

int main(int argc, char **argv) {
    int provided;
    CHECK(argc >= 4);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    OK(MPI_T_pvar_session_create(&session));
    MPI_T_pvar_handle counters[16];
    int names = argc - 3;
    CHECK(names <= 16);
    for (int i = 0; i < names; i++) {
        counters[i] = pvar_handle(argv[3 + i], MPI_T_PVAR_CLASS_COUNTER);
        OK(MPI_T_pvar_start(session, counters[i]));
    }
    file_system_kind = getenv("FILE_COUNTS_STRIPED") ? LUSTRE : 0;
    open_file(argv[1], argv[2]);
    pieces();
    many();
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < names && rank == 0; i++)
        printf("%s %llu\n", argv[3 + i], read_pvar(counters[i]));
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    OK(MPI_T_pvar_session_free(&session));
    MPI_Finalize();
    OK(MPI_T_finalize());
    return 0;
}
