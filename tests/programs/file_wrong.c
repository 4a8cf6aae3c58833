/* A wrong argument of the last rank in every call on a file that all ranks make together: nobody
 * waits for it. Where each rank moves its own bytes it fails alone; where all must agree, all do:
 * `file_wrong FOLDER`. */
#include "check.h"

enum { WAYS = 10, MISTAKES = 4 };

static int rank, size, last;
static char name[4096];
static MPI_File file;
static MPI_Datatype uncommitted;
static const char *ways[WAYS] = {"write_at_all",       "read_all",        "iwrite_at_all",   "iread_all",
                                 "write_at_all_begin", "read_all_begin",  "write_ordered",   "read_ordered",
                                 "write_ordered_begin", "read_ordered_begin"};

/* Makes a call; returns its error. */
static int call(int way, int *data, int count, MPI_Datatype type, MPI_Status *status) {
    MPI_Request request = MPI_REQUEST_NULL;
    int code;
    switch (way) {
    case 0:
        return MPI_File_write_at_all(file, rank, data, count, type, status);
    case 1:
        return MPI_File_read_all(file, data, count, type, status);
    case 2:
    case 3:
        code = way == 2 ? MPI_File_iwrite_at_all(file, rank, data, count, type, &request)
                        : MPI_File_iread_all(file, data, count, type, &request);
        CHECK(code == MPI_SUCCESS || request == MPI_REQUEST_NULL);
        return code ? code : MPI_Wait(&request, status);
    case 4:
        code = MPI_File_write_at_all_begin(file, rank, data, count, type);
        return code ? code : MPI_File_write_at_all_end(file, data, status);
    case 5:
        code = MPI_File_read_all_begin(file, data, count, type);
        return code ? code : MPI_File_read_all_end(file, data, status);
    case 6:
        return MPI_File_write_ordered(file, data, count, type, status);
    case 7:
        return MPI_File_read_ordered(file, data, count, type, status);
    case 8:
        code = MPI_File_write_ordered_begin(file, data, count, type);
        return code ? code : MPI_File_write_ordered_end(file, data, status);
    default:
        code = MPI_File_read_ordered_begin(file, data, count, type);
        return code ? code : MPI_File_read_ordered_end(file, data, status);
    }
}

/* The last rank makes a mistake in a call; then all make it rightly. */
static void access_so(int way, int mistake) {
    static const int classes[MISTAKES] = {MPI_ERR_COUNT, MPI_ERR_TYPE, MPI_ERR_TYPE, MPI_ERR_BUFFER};
    int data = 1000 + rank, got = -1, is_wrong = rank == last;
    MPI_Status status;
    MPI_Datatype type = !is_wrong ? MPI_INT : mistake == 1 ? uncommitted : mistake == 2 ? MPI_DATATYPE_NULL : MPI_INT;
    CHECK(MPI_File_seek(file, rank, MPI_SEEK_SET) == 0);
    int code = call(way, is_wrong && mistake == 3 ? NULL : &data, is_wrong && mistake == 0 ? -1 : 1, type, &status);
    if (is_wrong || way >= 6)
        CHECK_CLASS(code, classes[mistake]);
    else
        CHECK(code == MPI_SUCCESS && MPI_Get_count(&status, MPI_INT, &got) == MPI_SUCCESS && got == 1);
    CHECK(MPI_File_seek(file, rank, MPI_SEEK_SET) == 0);
    CHECK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == 0);
    data = 1000 + rank;
    if (call(way, &data, 1, MPI_INT, &status) || MPI_Get_count(&status, MPI_INT, &got) || got != 1 || data != 1000 + rank) {
        fprintf(stderr, "file_wrong: rank %d: after mistake %d in %s\n", rank, mistake, ways[way]);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* A begin that failed in the last rank alone: the next begin of all is one too many in the others,
 * which keep the last one waiting no more. */
static void begun_by_some(void) {
    int data = 1000 + rank, next = 2000 + rank, got = -1, is_wrong = rank == last;
    MPI_Status status;
    int code = MPI_File_write_at_all_begin(file, rank, &data, is_wrong ? -1 : 1, MPI_INT);
    CHECK(is_wrong ? code != MPI_SUCCESS : code == MPI_SUCCESS);
    code = MPI_File_write_at_all_begin(file, size + rank, &next, 1, MPI_INT);
    if (is_wrong)
        CHECK(code == MPI_SUCCESS);
    else
        CHECK_CLASS(code, MPI_ERR_IO);
    CHECK(MPI_File_write_at_all_end(file, is_wrong ? &next : &data, &status) == MPI_SUCCESS);
    CHECK(MPI_Get_count(&status, MPI_INT, &got) == MPI_SUCCESS && got == 1);
    CHECK(MPI_File_read_at(file, is_wrong ? size + rank : rank, &got, 1, MPI_INT, &status) == MPI_SUCCESS);
    CHECK(got == (is_wrong ? next : data));
    CHECK_CLASS(MPI_File_write_at_all_end(file, &data, &status), MPI_ERR_IO);
}

/* Some rank moves the bytes of all: the others write theirs. */
static void aggregated(void) {
    enum { PIECES = 64 };
    int data[PIECES], back[PIECES];
    MPI_Datatype comb;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", "enable");
    MPI_Type_create_resized(MPI_INT, 0, 4 * size, &comb);
    MPI_Type_commit(&comb);
    CHECK(MPI_File_set_view(file, 4 * rank, MPI_INT, comb, "native", info) == 0);
    MPI_Info_free(&info);
    MPI_Type_free(&comb);
    for (int i = 0; i < PIECES; i++)
        data[i] = rank * PIECES + i;
    int code = MPI_File_write_at_all(file, 0, data, rank == last ? -1 : PIECES, MPI_INT, MPI_STATUS_IGNORE);
    if (rank == last)
        CHECK_CLASS(code, MPI_ERR_COUNT);
    else
        CHECK(code == MPI_SUCCESS && MPI_File_read_at(file, 0, back, PIECES, MPI_INT, MPI_STATUS_IGNORE) == 0 &&
              memcmp(data, back, sizeof data) == 0);
    CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == 0);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 2);
    last = size - 1;
    snprintf(name, sizeof name, "%s/wrong", argv[1]);
    MPI_Type_contiguous(1, MPI_INT, &uncommitted);
    int amode = MPI_MODE_RDWR | MPI_MODE_CREATE, wrong = rank == last;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info freed = info;
    MPI_Info_free(&info);
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, name, amode, wrong ? freed : MPI_INFO_NULL, &file), MPI_ERR_INFO);
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, wrong ? NULL : name, amode, MPI_INFO_NULL, &file), MPI_ERR_ARG);
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, amode | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file) == 0);
    CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == 0);
    for (int way = 0; way < WAYS; way++)
        for (int mistake = 0; mistake < MISTAKES; mistake++)
            access_so(way, mistake);
    begun_by_some();
    MPI_Info_create(&info);
    CHECK_CLASS(MPI_File_set_info(file, wrong ? MPI_INFO_NULL : info), MPI_ERR_INFO);
    MPI_Info_free(&info);
    CHECK_CLASS(MPI_File_set_view(file, 0, wrong ? uncommitted : MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_File_set_view(file, 0, MPI_INT, wrong ? uncommitted : MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, wrong ? NULL : "native", MPI_INFO_NULL), MPI_ERR_ARG);
    CHECK_CLASS(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", wrong ? freed : MPI_INFO_NULL), MPI_ERR_INFO);
    aggregated();
    CHECK(MPI_File_close(&file) == 0);
    MPI_Type_free(&uncommitted);
    report("file_wrong", rank, size);
    MPI_Finalize();
    return 0;
}
