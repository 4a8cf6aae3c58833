/* Few bytes that lie far apart, moved by aggregators because a hint says so: the rounds between
 * them are left out: `file_sparse FOLDER`. */
#include "tool.h"

enum { PIECES = 3 };

static const MPI_Aint APART = (MPI_Aint)64 << 30;

int main(int argc, char **argv) {
    int provided, rank, size, out[PIECES], in[PIECES];
    char name[4096];
    CHECK(argc == 2);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    OK(MPI_T_pvar_session_create(&session));
    MPI_T_pvar_handle rounds = pvar_handle("file_rounds", MPI_T_PVAR_CLASS_COUNTER);
    OK(MPI_T_pvar_start(session, rounds));
    snprintf(name, sizeof name, "%s/sparse", argv[1]);
    for (int aggregators = 1; aggregators <= size; aggregators++) {
        char number[16];
        MPI_Info info;
        MPI_File file;
        MPI_Datatype comb;
        snprintf(number, sizeof number, "%d", aggregators);
        MPI_Info_create(&info);
        MPI_Info_set(info, "romio_cb_write", "enable");
        MPI_Info_set(info, "romio_cb_read", "enable");
        MPI_Info_set(info, "cb_nodes", number);
        int amode = MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE;
        CHECK(MPI_File_open(MPI_COMM_WORLD, name, amode, info, &file) == MPI_SUCCESS);
        MPI_Info_free(&info);
        CHECK(MPI_Type_create_resized(MPI_INT, 0, APART, &comb) == 0 && MPI_Type_commit(&comb) == 0);
        CHECK(MPI_File_set_view(file, 4 * rank, MPI_INT, comb, "native", MPI_INFO_NULL) == MPI_SUCCESS);
        MPI_Type_free(&comb);
        for (int i = 0; i < PIECES; i++) {
            out[i] = aggregators << 16 | rank << 8 | i;
            in[i] = -1;
        }
        unsigned long long before = read_pvar(rounds);
        CHECK(MPI_File_write_at_all(file, 0, out, PIECES, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_File_read_at_all(file, 0, in, PIECES, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(memcmp(out, in, sizeof out) == 0);
        CHECK(read_pvar(rounds) - before <= 2 * PIECES);
        CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    }
    OK(MPI_T_pvar_session_free(&session));
    report("file_sparse", rank, size);
    MPI_Finalize();
    OK(MPI_T_finalize());
    return 0;
}
