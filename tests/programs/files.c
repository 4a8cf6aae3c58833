/* What a file of MPI is beside its bytes: representations of the program, sequential files, hints,
 * split collectives out of turn, errors and whom they reach: `files FOLDER`. */
#include "check.h"
#include <sys/stat.h>

static int rank, size;
static char name[4096];
static MPI_File file;

static void open_as(int amode, MPI_Info info) {
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, amode, info, &file) == MPI_SUCCESS);
}

static void close_file(void) { CHECK(MPI_File_close(&file) == MPI_SUCCESS && file == MPI_FILE_NULL); }

static void start(const char *folder, const char *what) {
    snprintf(name, sizeof name, "%s/files-%s", folder, what);
    if (rank == 0)
        remove(name);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- a representation of the program: every element takes 3 bytes, the first one a mark ---- */

static int reads, writes, asked;

static int extent(MPI_Datatype type, MPI_Aint *bytes, void *state) {
    int native;
    CHECK(state == &asked && MPI_Type_size(type, &native) == 0 && native <= 4);
    asked++;
    *bytes = 3;
    return MPI_SUCCESS;
}

static int shrink(void *user, MPI_Datatype type, int count, void *bytes, MPI_Offset position, void *state) {
    CHECK(state == &asked && position == 0 && type == MPI_INT);
    for (int i = 0; i < count; i++) {
        unsigned value = ((unsigned *)user)[i];
        unsigned char *at = (unsigned char *)bytes + 3 * i;
        at[0] = 0xab, at[1] = (unsigned char)(value >> 8), at[2] = (unsigned char)value;
    }
    writes++;
    return MPI_SUCCESS;
}

static int grow(void *user, MPI_Datatype type, int count, void *bytes, MPI_Offset position, void *state) {
    CHECK(state == &asked && position == 0 && type == MPI_INT);
    for (int i = 0; i < count; i++) {
        const unsigned char *at = (unsigned char *)bytes + 3 * i;
        if (at[0] != 0xab)
            return 12345; /* no class of MPI */
        ((int *)user)[i] = at[1] << 8 | at[2];
    }
    reads++;
    return MPI_SUCCESS;
}

static void representation(void) {
    int data[4] = {rank, 1000 + rank, 2, 3}, back[4] = {9, 9, 9, 9};
    MPI_Aint bytes;
    MPI_Status status;
    int got;
    char datarep[MPI_MAX_DATAREP_STRING];
    MPI_Offset disp;
    MPI_Datatype etype, filetype;
    CHECK(MPI_Register_datarep("three", grow, shrink, extent, &asked) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Register_datarep("three", grow, shrink, extent, &asked), MPI_ERR_DUP_DATAREP);
    CHECK_CLASS(MPI_Register_datarep("native", grow, shrink, extent, &asked), MPI_ERR_DUP_DATAREP);
    CHECK(MPI_Register_datarep("same", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, extent, &asked) == MPI_SUCCESS);
    open_as(MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL);
    CHECK_CLASS(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "four", MPI_INFO_NULL), MPI_ERR_UNSUPPORTED_DATAREP);
    CHECK(MPI_File_set_view(file, 5, MPI_INT, MPI_INT, "three", MPI_INFO_NULL) == MPI_SUCCESS && asked > 0);
    CHECK(MPI_File_get_view(file, &disp, &etype, &filetype, datarep) == MPI_SUCCESS);
    CHECK(disp == 5 && etype == MPI_INT && filetype == MPI_INT && strcmp(datarep, "three") == 0);
    CHECK(MPI_File_get_type_extent(file, MPI_INT, &bytes) == MPI_SUCCESS && bytes == 3);
    CHECK(MPI_File_write_at_all(file, 4 * rank, data, 4, MPI_INT, &status) == MPI_SUCCESS && writes > 0);
    CHECK(MPI_Get_count(&status, MPI_INT, &got) == MPI_SUCCESS && got == 4);
    CHECK(MPI_File_sync(file) == MPI_SUCCESS);
    CHECK(MPI_File_get_size(file, &disp) == MPI_SUCCESS && disp == 5 + 12 * size);
    CHECK(MPI_File_get_byte_offset(file, 2, &disp) == MPI_SUCCESS && disp == 11);
    MPI_Request request;
    CHECK(MPI_File_iread_at(file, 4 * rank, back, 4, MPI_INT, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && reads > 0 && memcmp(data, back, sizeof data) == 0);
    CHECK(MPI_File_read_at(file, 4 * size - 1, back, 4, MPI_INT, &status) == MPI_SUCCESS);
    CHECK(MPI_Get_count(&status, MPI_INT, &got) == MPI_SUCCESS && got == 1 && back[0] == 3);
    CHECK(MPI_File_set_view(file, 4, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_set_view(file, 6, MPI_INT, MPI_INT, "three", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK_CLASS(MPI_File_read_at(file, 0, back, 1, MPI_INT, &status), MPI_ERR_CONVERSION);
    /* Nothing converts, and an element has another length in the file. */
    CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "same", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK_CLASS(MPI_File_write_at_all(file, 0, data, 4, MPI_INT, &status), MPI_ERR_CONVERSION);
    CHECK_CLASS(MPI_File_read_at_all(file, 0, back, 4, MPI_INT, &status), MPI_ERR_CONVERSION);
    CHECK_CLASS(MPI_File_iwrite(file, data, 4, MPI_INT, &request), MPI_ERR_CONVERSION);
    CHECK_CLASS(MPI_File_read_shared(file, back, 4, MPI_INT, &status), MPI_ERR_CONVERSION);
    close_file();
}

/* ---- while a call waits for a pipe, other operations go on: its writer waits for them ---- */

static void pipe_is_awaited(void) {
    static char much[30 << 20];
    char word[4];
    MPI_File end;
    MPI_Request request;
    if (rank == 0)
        CHECK(mkfifo(name, 0600) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR, MPI_INFO_NULL, &end) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    if (size > 1 && rank == 0) {
        MPI_Isend(much, sizeof much, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
        CHECK(MPI_File_read(end, word, 4, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(memcmp(word, "abcd", 4) == 0);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(much, sizeof much, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(MPI_File_write(end, "abcd", 4, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    CHECK(MPI_File_close(&end) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        remove(name);
}

/* ---- a sequential file has a shared pointer only ---- */

static void sequential(void) {
    int own = 100 + rank, all = 0;
    MPI_Offset position;
    open_as(MPI_MODE_WRONLY | MPI_MODE_CREATE | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL);
    CHECK_CLASS(MPI_File_write(file, &own, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK_CLASS(MPI_File_write_at_all(file, 0, &own, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK_CLASS(MPI_File_get_position(file, &position), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK_CLASS(MPI_File_get_position_shared(file, &position), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(MPI_File_get_byte_offset(file, 3, &position) == MPI_SUCCESS && position == 3);
    CHECK_CLASS(MPI_File_seek_shared(file, 0, MPI_SEEK_SET), MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(MPI_File_write_shared(file, &own, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_write_ordered(file, &own, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    close_file();
    open_as(MPI_MODE_RDONLY, MPI_INFO_NULL);
    CHECK_CLASS(MPI_File_set_view(file, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_ARG);
    for (int i = 0; i < size; i++) {
        CHECK(MPI_File_read(file, &own, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        all += own;
    }
    CHECK(all == 100 * size + size * (size - 1) / 2);
    for (int i = 0; i < size; i++)
        CHECK(MPI_File_read(file, &own, 1, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS && own == 100 + i);
    close_file();
}

/* ---- hints ---- */

static void expect(MPI_Info info, const char *key, const char *expected) {
    char value[100] = "";
    int length = sizeof value, flag;
    MPI_Info_get_string(info, key, &length, value, &flag);
    if (!flag || strcmp(value, expected)) {
        fprintf(stderr, "files: the hint %s is \"%s\", not \"%s\"\n", key, value, expected);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
}

/* Whether all ranks are on one node. */
static int on_one_node(void) {
    MPI_Comm node;
    MPI_Info info;
    int near, all;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_hw_resource_type", "hwloc://Machine");
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, info, &node);
    MPI_Info_free(&info);
    MPI_Comm_size(node, &near);
    MPI_Comm_free(&node);
    MPI_Allreduce(&near, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all == size;
}

static void hints(void) {
    MPI_Info given, used, again;
    int keys, more, flag, length = 0;
    MPI_Info_create(&given);
    MPI_Info_set(given, "cb_buffer_size", "65536");
    MPI_Info_set(given, "romio_cb_write", "enable");
    MPI_Info_set(given, "romio_ds_read", "perhaps");
    MPI_Info_set(given, "colour", "red");
    MPI_Info_set(given, "striping_factor", "4096");
    MPI_Info_set(given, "ind_wr_buffer_size", "1099511627776");
    open_as(MPI_MODE_RDWR | MPI_MODE_CREATE, given);
    CHECK(MPI_File_get_info(file, &used) == MPI_SUCCESS);
    expect(used, "cb_buffer_size", "65536");
    expect(used, "romio_cb_write", "enable");
    expect(used, "romio_ds_read", "automatic");
    /* A local file system is not the same on two nodes, unless they are but two names of one. */
    expect(used, "romio_visibility_immediate", on_one_node() ? "true" : "false");
    MPI_Info_get_string(used, "colour", &length, NULL, &flag);
    CHECK(!flag);
    MPI_Info_get_string(used, "striping_factor", &length, NULL, &flag);
    CHECK(!flag);
    expect(used, "ind_wr_buffer_size", "1073741824");
    MPI_Info_get_nkeys(used, &keys);
    close_file();
    open_as(MPI_MODE_RDWR, used);
    CHECK(MPI_File_get_info(file, &again) == MPI_SUCCESS);
    MPI_Info_get_nkeys(again, &more);
    CHECK(keys == more);
    /* The hints of the first process count for all. */
    MPI_Info_set(given, "cb_buffer_size", rank == 0 ? "4096" : "8192");
    CHECK(MPI_File_set_info(file, given) == MPI_SUCCESS);
    MPI_Info_free(&again);
    CHECK(MPI_File_get_info(file, &again) == MPI_SUCCESS);
    expect(again, "cb_buffer_size", "4096");
    MPI_Info_free(&given);
    MPI_Info_free(&used);
    MPI_Info_free(&again);
    close_file();
}

/* ---- hints of those who run the program, and names with the type of a file system ---- */

static void surroundings(void) {
    char path[4200], typed[4200];
    MPI_Info given, used;
    FILE *hints;
    snprintf(path, sizeof path, "%s-hints", name);
    snprintf(typed, sizeof typed, "ufs:%s", name);
    if (rank == 0) {
        CHECK((hints = fopen(path, "w")) != NULL);
        fprintf(hints, "cb_buffer_size 32768\n# ind_rd_buffer_size 1\nromio_no_indep_rw true\n");
        fclose(hints);
    }
    setenv("ROMIO_HINTS", path, 1);
    MPI_Info_create(&given);
    MPI_Info_set(given, "cb_buffer_size", "65536");
    MPI_Info_set(given, "ind_rd_buffer_size", "4096");
    CHECK(MPI_File_open(MPI_COMM_WORLD, typed, MPI_MODE_RDWR | MPI_MODE_CREATE, given, &file) == MPI_SUCCESS);
    unsetenv("ROMIO_HINTS");
    CHECK(MPI_File_get_info(file, &used) == MPI_SUCCESS);
    expect(used, "cb_buffer_size", "32768");
    expect(used, "ind_rd_buffer_size", "4096");
    expect(used, "romio_no_indep_rw", "true");
    MPI_Info_free(&given);
    MPI_Info_free(&used);
    close_file();
    CHECK((hints = fopen(name, "r")) != NULL);
    fclose(hints);
    snprintf(typed, sizeof typed, "daos:%s", name);
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, typed, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_ERR_IO);
    snprintf(typed, sizeof typed, "nfs:%s", name);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(rank != 0 || (MPI_File_delete(typed, MPI_INFO_NULL) == MPI_SUCCESS && remove(path) == 0));
}

/* ---- split collectives out of turn ---- */

static void split(void) {
    char data[10] = "something";
    MPI_Request request;
    MPI_Status status;
    int got;
    open_as(MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL);
    CHECK_CLASS(MPI_File_write_all_end(file, data, &status), MPI_ERR_IO);
    CHECK(MPI_File_write_at_all_begin(file, 10 * rank, data, 10, MPI_CHAR) == MPI_SUCCESS);
    CHECK_CLASS(MPI_File_read_at_all_begin(file, 0, data, 1, MPI_CHAR), MPI_ERR_IO);
    CHECK_CLASS(MPI_File_write_at_all_begin(file, 0, data, 1, MPI_CHAR), MPI_ERR_IO);
    CHECK_CLASS(MPI_File_write_all_begin(file, data, 1, MPI_CHAR), MPI_ERR_IO);
    CHECK_CLASS(MPI_File_write_ordered_begin(file, data, 1, MPI_CHAR), MPI_ERR_IO);
    CHECK_CLASS(MPI_File_iwrite_all(file, data, 1, MPI_CHAR, &request), MPI_ERR_IO);
    CHECK_CLASS(MPI_File_iread_at_all(file, 0, data, 1, MPI_CHAR, &request), MPI_ERR_IO);
    CHECK_CLASS(MPI_File_write_all_end(file, data, &status), MPI_ERR_IO);
    CHECK_CLASS(MPI_File_close(&file), MPI_ERR_IO);
    CHECK_CLASS(MPI_File_sync(file), MPI_ERR_IO);
    CHECK_CLASS(MPI_File_set_size(file, 100), MPI_ERR_IO);
    CHECK_CLASS(MPI_File_set_atomicity(file, 1), MPI_ERR_IO);
    CHECK_CLASS(MPI_File_seek_shared(file, 0, MPI_SEEK_SET), MPI_ERR_IO);
    CHECK_CLASS(MPI_File_write_ordered(file, data, 1, MPI_CHAR, &status), MPI_ERR_IO);
    CHECK_CLASS(MPI_File_write_at_all(file, 0, data, 1, MPI_CHAR, &status), MPI_ERR_IO);
    CHECK_CLASS(MPI_File_set_view(file, 0, MPI_CHAR, MPI_CHAR, "native", MPI_INFO_NULL), MPI_ERR_IO);
    CHECK(MPI_File_write_at_all_end(file, data, &status) == MPI_SUCCESS);
    CHECK(MPI_Get_count(&status, MPI_CHAR, &got) == MPI_SUCCESS && got == 10);
    close_file();
}

/* ---- errors ---- */

static int heard, last_code;
static MPI_File last_file;

static void note(MPI_File *which, int *code, ...) {
    heard++;
    last_file = *which;
    last_code = *code;
}

/* A device that is full: each process that writes to it hears so, and in a collective access whose
 * bytes one process moves, all do. */
static void full_device(void) {
    char data[64];
    MPI_Info info;
    MPI_Datatype comb;
    MPI_Errhandler handler;
    MPI_Request request;
    MPI_File full;
    memset(data, rank, sizeof data);
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", "enable");
    MPI_Info_set(info, "cb_nodes", "1");
    CHECK(MPI_File_open(MPI_COMM_WORLD, "/dev/full", MPI_MODE_WRONLY, info, &full) == MPI_SUCCESS);
    MPI_Info_free(&info);
    CHECK_CLASS(MPI_File_write_at(full, 0, data, 64, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE);
    MPI_Type_create_resized(MPI_CHAR, 0, size, &comb);
    MPI_Type_commit(&comb);
    CHECK(MPI_File_set_view(full, rank, MPI_CHAR, comb, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK_CLASS(MPI_File_write_at_all(full, 0, data, 64, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE);
    /* The error of an operation that goes on beside the program comes when it is waited for. */
    MPI_File_create_errhandler(note, &handler);
    MPI_File_set_errhandler(full, handler);
    MPI_Errhandler_free(&handler);
    CHECK(MPI_File_iwrite_at(full, 0, data, 64, MPI_CHAR, &request) == MPI_SUCCESS && heard == 0);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(heard == 1 && last_file == full && class_of(last_code) == MPI_ERR_NO_SPACE);
    CHECK(MPI_File_iwrite_at_all(full, 0, data, 64, MPI_CHAR, &request) == MPI_SUCCESS && heard == 1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(heard == 2 && last_file == full && class_of(last_code) == MPI_ERR_NO_SPACE);
    MPI_Type_free(&comb);
    MPI_File_close(&full);
}

/* A wrong argument of one process reaches that one, and nobody waits for it. */
static void one_wrong_rank(void) {
    int value = rank, got;
    MPI_Status status;
    open_as(MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL);
    int code = MPI_File_write_at_all(file, rank == size - 1 ? -1 : 4 * rank, &value, 1, MPI_INT, &status);
    if (rank == size - 1)
        CHECK_CLASS(code, MPI_ERR_ARG);
    else
        CHECK(code == MPI_SUCCESS && MPI_Get_count(&status, MPI_INT, &got) == MPI_SUCCESS && got == 1);
    CHECK_CLASS(MPI_File_seek_shared(file, size > 1 ? rank : -1, MPI_SEEK_SET), size > 1 ? MPI_ERR_NOT_SAME : MPI_ERR_ARG);
    CHECK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK_CLASS(MPI_File_write_at(file, 0, &value, 3, MPI_CHAR, &status), MPI_ERR_IO);
    close_file();
}

/* A write is done when the wait returns: another process sees it. */
static void done_when_waited_for(void) {
    enum { BYTES = 8 << 20 };
    char *data = malloc(BYTES), *back = malloc(BYTES);
    MPI_Request requests[4];
    memset(data, 'a' + rank, BYTES);
    open_as(MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL);
    for (int i = 0; i < 4; i++)
        CHECK(MPI_File_iwrite_at(file, (MPI_Offset)rank * BYTES + i * (BYTES / 4), data + i * (BYTES / 4), BYTES / 4,
                                 MPI_CHAR, &requests[i]) == MPI_SUCCESS);
    CHECK(MPI_Waitall(4, requests, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_sync(file) == MPI_SUCCESS);
    int other = (rank + 1) % size;
    FILE *plain = fopen(name, "rb");
    CHECK(plain && fseek(plain, (long)other * BYTES, SEEK_SET) == 0 && fread(back, 1, BYTES, plain) == BYTES);
    fclose(plain);
    for (int i = 0; i < BYTES; i += 4093)
        CHECK(back[i] == 'a' + other);
    MPI_Barrier(MPI_COMM_WORLD);
    close_file();
    CHECK((plain = fopen(name, "rb")) == NULL);
    free(data);
    free(back);
}

/* In atomic mode nobody sees half of an access, though it is many calls of the system: even ranks
 * write, odd ones read. FILES_NOT_ATOMIC leaves the mode out, to show that the test sees it. */
static void atomic(void) {
    enum { PIECES = 256, TIMES = 100 };
    int data[PIECES], flag, mixed = 0;
    MPI_Datatype comb;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_ds_read", "disable");
    open_as(MPI_MODE_RDWR | MPI_MODE_CREATE, info);
    MPI_Info_free(&info);
    MPI_Type_create_resized(MPI_INT, 0, 12, &comb);
    MPI_Type_commit(&comb);
    CHECK(MPI_File_set_view(file, 0, MPI_INT, comb, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Type_free(&comb);
    CHECK(MPI_File_set_atomicity(file, getenv("FILES_NOT_ATOMIC") == NULL) == MPI_SUCCESS);
    CHECK(MPI_File_get_atomicity(file, &flag) == MPI_SUCCESS && flag == (getenv("FILES_NOT_ATOMIC") == NULL));
    for (int i = 0; i < PIECES; i++)
        data[i] = 0;
    CHECK(MPI_File_write_at_all(file, 0, data, rank == 0 ? PIECES : 0, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int time = 0; time < TIMES; time++) {
        for (int i = 0; i < PIECES && rank % 2 == 0; i++)
            data[i] = rank * TIMES + time;
        CHECK((rank % 2 ? MPI_File_read_at(file, 0, data, PIECES, MPI_INT, MPI_STATUS_IGNORE)
                        : MPI_File_write_at(file, 0, data, PIECES, MPI_INT, MPI_STATUS_IGNORE)) == MPI_SUCCESS);
        for (int i = 1; i < PIECES; i++)
            mixed += data[i] != data[0];
    }
    CHECK(mixed == 0);
    close_file();
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 2);
    start(argv[1], "representation");
    representation();
    start(argv[1], "sequential");
    sequential();
    start(argv[1], "pipe");
    pipe_is_awaited();
    start(argv[1], "hints");
    hints();
    start(argv[1], "surroundings");
    surroundings();
    start(argv[1], "split");
    split();
    full_device();
    start(argv[1], "wrong");
    one_wrong_rank();
    start(argv[1], "atomic");
    atomic();
    start(argv[1], "waited");
    done_when_waited_for();
    report("files", rank, size);
    MPI_Finalize();
    return 0;
}
