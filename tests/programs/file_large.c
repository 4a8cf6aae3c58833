/* More than 2 GiB in one call, by one process: `file_large FOLDER`. A few bytes are marks, in
 * memory and so in the file; all others are zeros. */
#include "check.h"
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MARKS = 9, PART = 1 << 21 };
static const int64_t BYTES = (INT64_C(1) << 31) + (1 << 20) + 5;

/* The first byte, the last, and those around the limits of 32 bits and of a call of the system. */
static int64_t mark(int i) {
    const int64_t marks[MARKS] = {0,          4096,          0x7ffff000 - 1, 0x7ffff000, 0x7fffffff,
                                  0x80000000, 0x80000000 + 9, BYTES - 2,     BYTES - 1};
    return marks[i];
}

static unsigned char value(int i) { return (unsigned char)(17 * i + 3); }

/* Memory of which all parts without a mark are the same one: it takes little room. */
static unsigned char *memory(void) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, both = PROT_READ | PROT_WRITE;
    int one = memfd_create("zeros", MFD_CLOEXEC);
    unsigned char *bytes = mmap(NULL, (size_t)BYTES, both, flags, -1, 0);
    CHECK(bytes != MAP_FAILED && one >= 0 && ftruncate(one, PART) == 0);
    for (int64_t at = 0; at + PART <= BYTES; at += PART) {
        int has_mark = 0;
        for (int i = 0; i < MARKS; i++)
            has_mark |= mark(i) >= at && mark(i) < at + PART;
        CHECK(has_mark || mmap(bytes + at, PART, both, MAP_SHARED | MAP_FIXED, one, 0) == bytes + at);
    }
    close(one);
    return bytes;
}

static void check_marks(unsigned char *bytes) {
    for (int i = 0; i < MARKS; i++)
        CHECK(bytes[mark(i)] == value(i));
    for (int64_t at = 1; at < BYTES - 2; at += 1 << 20)
        CHECK(bytes[at] == 0);
    munmap(bytes, (size_t)BYTES);
}

static void check_status(MPI_Status *status) {
    int count;
    MPI_Count large;
    CHECK(MPI_Get_count(status, MPI_BYTE, &count) == MPI_SUCCESS && count == MPI_UNDEFINED);
    CHECK(MPI_Get_count_c(status, MPI_BYTE, &large) == MPI_SUCCESS && large == BYTES);
    CHECK(MPI_Get_elements_c(status, MPI_BYTE, &large) == MPI_SUCCESS && large == BYTES);
}

int main(int argc, char **argv) {
    char name[4096];
    MPI_File file;
    MPI_Request request;
    MPI_Status status;
    MPI_Datatype all;
    MPI_Offset size, position;
    MPI_Init(&argc, &argv);
    CHECK(argc == 2);
    snprintf(name, sizeof name, "%s/large", argv[1]);
    CHECK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                        &file) == MPI_SUCCESS);
    unsigned char *bytes = memory();
    for (int i = 0; i < MARKS; i++)
        bytes[mark(i)] = value(i);
    CHECK(MPI_File_iwrite_c(file, bytes, BYTES, MPI_BYTE, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
    check_status(&status);
    munmap(bytes, (size_t)BYTES);
    CHECK(MPI_File_get_size(file, &size) == MPI_SUCCESS && size == BYTES);
    CHECK(MPI_File_get_position(file, &position) == MPI_SUCCESS && position == BYTES);
    /* One element of one datatype. */
    CHECK(MPI_Type_contiguous_c(BYTES, MPI_BYTE, &all) == MPI_SUCCESS && MPI_Type_commit(&all) == MPI_SUCCESS);
    CHECK(MPI_File_seek(file, 0, MPI_SEEK_SET) == MPI_SUCCESS);
    bytes = memory();
    CHECK(MPI_File_read_all(file, bytes, 1, all, &status) == MPI_SUCCESS);
    check_status(&status);
    check_marks(bytes);
    CHECK(MPI_File_get_position(file, &position) == MPI_SUCCESS && position == BYTES);
    CHECK(MPI_Type_free(&all) == MPI_SUCCESS);
    /* By the shared pointer, from a place within. */
    bytes = memory();
    CHECK(MPI_File_set_size(file, BYTES + 7) == MPI_SUCCESS);
    CHECK(MPI_File_seek_shared(file, 7, MPI_SEEK_SET) == MPI_SUCCESS);
    CHECK(MPI_File_read_shared_c(file, bytes + 7, BYTES - 7, MPI_BYTE, &status) == MPI_SUCCESS);
    bytes[0] = value(0);
    check_marks(bytes);
    CHECK(MPI_File_get_position_shared(file, &position) == MPI_SUCCESS && position == BYTES);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    report("file_large", 0, 1);
    MPI_Finalize();
    return 0;
}
