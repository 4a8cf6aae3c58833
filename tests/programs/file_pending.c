/* Nonblocking collective accesses under way: the hints change meanwhile, and functions of the
 * program convert their elements: `file_pending FOLDER`. */
#include "check.h"

enum { ACCESSES = 32, INTS = 1000, TURNS = 40 };

static int rank, size;
static char name[4096];

static MPI_File open_file(void) {
    MPI_File file;
    int amode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &file) == 0);
    return file;
}

/* Each access is as the hints say that were in use when it began. */
static void hints_change(void) {
    static int data[ACCESSES][INTS], back[ACCESSES][INTS];
    MPI_Request requests[ACCESSES];
    MPI_File file = open_file();
    MPI_Datatype comb;
    MPI_Info infos[2];
    CHECK(MPI_Type_create_resized(MPI_INT, 0, 4 * size, &comb) == 0 && MPI_Type_commit(&comb) == 0);
    CHECK(MPI_File_set_view(file, 4 * rank, MPI_INT, comb, "native", MPI_INFO_NULL) == 0);
    for (int i = 0; i < 2; i++) {
        MPI_Info_create(&infos[i]);
        MPI_Info_set(infos[i], "romio_cb_write", i ? "enable" : "disable");
        MPI_Info_set(infos[i], "cb_nodes", i ? "1" : "2");
        MPI_Info_set(infos[i], "cb_buffer_size", i ? "5120" : "8192");
    }
    for (int turn = 0; turn < TURNS; turn++) {
        CHECK(MPI_File_set_info(file, infos[turn % 2]) == 0);
        for (int i = 0; i < ACCESSES; i++) {
            for (int k = 0; k < INTS; k++)
                data[i][k] = turn << 24 | rank << 20 | i << 12 | k;
            CHECK(MPI_File_iwrite_at_all(file, i * INTS, data[i], INTS, MPI_INT, &requests[i]) == 0);
        }
        CHECK(MPI_File_set_info(file, infos[(turn + 1) % 2]) == 0);
        CHECK(MPI_Waitall(ACCESSES, requests, MPI_STATUSES_IGNORE) == 0);
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == 0);
        CHECK(MPI_File_read_at(file, 0, back, ACCESSES * INTS, MPI_INT, MPI_STATUS_IGNORE) == 0);
        CHECK(memcmp(data, back, sizeof data) == 0);
    }
    for (int i = 0; i < 2; i++)
        MPI_Info_free(&infos[i]);
    MPI_Type_free(&comb);
    CHECK(MPI_File_close(&file) == 0);
}

static int same_extent(MPI_Datatype type, MPI_Aint *extent, void *fails) {
    int bytes;
    (void)fails;
    MPI_Type_size(type, &bytes);
    *extent = bytes;
    return 0;
}

static int to_memory(void *memory, MPI_Datatype type, int count, void *file, MPI_Offset at, void *fails) {
    int bytes;
    MPI_Type_size(type, &bytes);
    memcpy((char *)memory + at * bytes, file, (size_t)count * (size_t)bytes);
    return *(int *)fails;
}

static int to_file(void *memory, MPI_Datatype type, int count, void *file, MPI_Offset at, void *fails) {
    int bytes;
    MPI_Type_size(type, &bytes);
    memcpy(file, (char *)memory + at * bytes, (size_t)count * (size_t)bytes);
    return *(int *)fails;
}

/* A call that starts an access waits for no other rank, which may wait for this one. */
static void converted_by_the_program(void) {
    static int fails;
    int value = 100 + rank, back = -1;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Offset place = -1;
    CHECK(MPI_Register_datarep("same", to_memory, to_file, same_extent, &fails) == 0);
    MPI_File file = open_file();
    CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "same", MPI_INFO_NULL) == 0);
    for (int reads = 0; reads < 2; reads++) {
        if (rank > 0)
            CHECK(MPI_Recv(NULL, 0, MPI_INT, rank - 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == 0);
        CHECK((reads ? MPI_File_iread_at_all(file, rank, &back, 1, MPI_INT, &request)
                     : MPI_File_iwrite_at_all(file, rank, &value, 1, MPI_INT, &request)) == 0);
        if (rank + 1 < size)
            CHECK(MPI_Send(NULL, 0, MPI_INT, rank + 1, 5, MPI_COMM_WORLD) == 0);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == 0);
    }
    CHECK(back == value);
    /* One that failed leaves the file pointer where it was; the next one begins there. */
    fails = rank == size - 1;
    CHECK(MPI_File_seek(file, size + rank, MPI_SEEK_SET) == 0);
    int code = MPI_File_iwrite_all(file, &value, 1, MPI_INT, &request);
    code = code ? code : MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_CLASS(code, fails ? MPI_ERR_CONVERSION : MPI_SUCCESS);
    CHECK(MPI_File_get_position(file, &place) == 0 && place == size + rank + !fails);
    CHECK(MPI_File_close(&file) == 0);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 2);
    snprintf(name, sizeof name, "%s/pending", argv[1]);
    hints_change();
    converted_by_the_program();
    report("file_pending", rank, size);
    MPI_Finalize();
    return 0;
}
