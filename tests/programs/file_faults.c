/* A disk that fails once, below the calls of the library: `file_faults FOLDER`. The rank whose
 * bytes were to move hears of it; where one rank moves the bytes of all, every rank does. The next
 * access works. */
#include "check.h"
#include "disk.h"

enum { BYTES = 4096, WAYS = 13 };

static int rank, size;
static char name[4096];
static MPI_File file;
static char memory[BYTES];

static const char *names[WAYS] = {"at",     "individual", "iat",          "i",       "at_all",        "all",    "iat_all",
                                  "i_all",  "at_all_begin", "all_begin", "ordered", "ordered_begin", "shared"};

/* Returns whether a way is collective in moving the bytes: one rank may do so for all. */
static int is_together(int way) { return way >= 4 && way <= 9; }

static int run(int way, int r) {
    MPI_Request q = MPI_REQUEST_NULL;
    MPI_Status *s = MPI_STATUS_IGNORE;
    int code;
    CHECK(MPI_File_seek(file, 0, MPI_SEEK_SET) == 0);
    switch (way) {
    case 0:
        return r ? MPI_File_read_at(file, 0, memory, BYTES, MPI_CHAR, s)
                 : MPI_File_write_at(file, 0, memory, BYTES, MPI_CHAR, s);
    case 1:
        return r ? MPI_File_read(file, memory, BYTES, MPI_CHAR, s) : MPI_File_write(file, memory, BYTES, MPI_CHAR, s);
    case 2:
        code = r ? MPI_File_iread_at(file, 0, memory, BYTES, MPI_CHAR, &q)
                 : MPI_File_iwrite_at(file, 0, memory, BYTES, MPI_CHAR, &q);
        break;
    case 3:
        code = r ? MPI_File_iread(file, memory, BYTES, MPI_CHAR, &q) : MPI_File_iwrite(file, memory, BYTES, MPI_CHAR, &q);
        break;
    case 4:
        return r ? MPI_File_read_at_all(file, 0, memory, BYTES, MPI_CHAR, s)
                 : MPI_File_write_at_all(file, 0, memory, BYTES, MPI_CHAR, s);
    case 5:
        return r ? MPI_File_read_all(file, memory, BYTES, MPI_CHAR, s)
                 : MPI_File_write_all(file, memory, BYTES, MPI_CHAR, s);
    case 6:
        code = r ? MPI_File_iread_at_all(file, 0, memory, BYTES, MPI_CHAR, &q)
                 : MPI_File_iwrite_at_all(file, 0, memory, BYTES, MPI_CHAR, &q);
        break;
    case 7:
        code = r ? MPI_File_iread_all(file, memory, BYTES, MPI_CHAR, &q)
                 : MPI_File_iwrite_all(file, memory, BYTES, MPI_CHAR, &q);
        break;
    case 8:
        CHECK((r ? MPI_File_read_at_all_begin(file, 0, memory, BYTES, MPI_CHAR)
                 : MPI_File_write_at_all_begin(file, 0, memory, BYTES, MPI_CHAR)) == 0);
        return r ? MPI_File_read_at_all_end(file, memory, s) : MPI_File_write_at_all_end(file, memory, s);
    case 9:
        CHECK((r ? MPI_File_read_all_begin(file, memory, BYTES, MPI_CHAR)
                 : MPI_File_write_all_begin(file, memory, BYTES, MPI_CHAR)) == 0);
        return r ? MPI_File_read_all_end(file, memory, s) : MPI_File_write_all_end(file, memory, s);
    case 10:
        return r ? MPI_File_read_ordered(file, memory, BYTES, MPI_CHAR, s)
                 : MPI_File_write_ordered(file, memory, BYTES, MPI_CHAR, s);
    case 11:
        CHECK((r ? MPI_File_read_ordered_begin(file, memory, BYTES, MPI_CHAR)
                 : MPI_File_write_ordered_begin(file, memory, BYTES, MPI_CHAR)) == 0);
        return r ? MPI_File_read_ordered_end(file, memory, s) : MPI_File_write_ordered_end(file, memory, s);
    default:
        return r ? MPI_File_read_shared(file, memory, BYTES, MPI_CHAR, s)
                 : MPI_File_write_shared(file, memory, BYTES, MPI_CHAR, s);
    }
    CHECK(code == MPI_SUCCESS);
    return MPI_Wait(&q, s);
}

static void open_file(const char *how, const char *nodes, const char *bytes) {
    MPI_Info info;
    MPI_Datatype comb;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_write", how);
    MPI_Info_set(info, "romio_cb_read", how);
    MPI_Info_set(info, "cb_nodes", nodes);
    MPI_Info_set(info, "cb_buffer_size", bytes);
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, info, &file) == MPI_SUCCESS);
    MPI_Info_free(&info);
    MPI_Type_create_resized(MPI_CHAR, 0, size, &comb);
    MPI_Type_commit(&comb);
    CHECK(MPI_File_set_view(file, rank, MPI_CHAR, comb, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    MPI_Type_free(&comb);
    for (int way = 4; way < 5; way++)
        CHECK(run(way, 0) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The disk of one rank fails in its first or a later call. */
static void try_way(int way, int is_read, int broken, int later, int is_moved_by_first) {
    static const struct {
        int error, class;
    } errors[] = {{EIO, MPI_ERR_IO}, {ENOSPC, MPI_ERR_NO_SPACE}, {EDQUOT, MPI_ERR_QUOTA}};
    int which = (way + broken) % 3, expected = MPI_SUCCESS;
    CHECK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == broken) {
        disk_error = errors[which].error;
        disk_fails_in = later;
    }
    int class = class_of(run(way, is_read));
    /* A blocking access that failed has not moved the pointer. */
    if (class != MPI_SUCCESS && (way == 1 || way == 5)) {
        MPI_Offset position;
        CHECK(MPI_File_get_position(file, &position) == MPI_SUCCESS && position == 0);
    }
    int met = rank == broken && disk_fails_in == 0;
    MPI_Bcast(&met, 1, MPI_INT, broken, MPI_COMM_WORLD);
    disk_fails_in = 0;
    if (is_moved_by_first && is_together(way))
        CHECK(met == (broken == 0));
    if (met && (rank == broken || (is_moved_by_first && is_together(way))))
        expected = errors[which].class;
    if (class != expected) {
        fprintf(stderr, "file_faults: %s %s: rank %d got class %d, expected %d (rank %d is broken)\n", names[way],
                is_read ? "read" : "write", rank, class, expected, broken);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    CHECK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK(run(way, is_read) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 2);
    snprintf(name, sizeof name, "%s/faults-%d", argv[1], size);
    /* Every rank moves its own bytes. */
    open_file("disable", "1", "1048576");
    for (int way = 0; way < WAYS; way++)
        for (int is_read = 0; is_read < 2; is_read++)
            try_way(way, is_read, size - 1, 1, 0);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    /* The first moves those of all, in one round and in several. */
    for (int rounds = 0; rounds < 2; rounds++) {
        open_file("enable", "1", rounds ? "3000" : "1048576");
        for (int way = 4; way <= 9; way++)
            for (int is_read = 0; is_read < 2; is_read++)
                for (int broken = 0; broken < size; broken++)
                    try_way(way, is_read, broken, 1, 1);
        CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    }
    CHECK(rank != 0 || disk_faults > 0);
    if (rank == 0)
        remove(name);
    report("file_faults", rank, size);
    MPI_Finalize();
    return 0;
}
