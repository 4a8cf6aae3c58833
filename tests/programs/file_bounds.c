/* What the system refuses for a reason of its own is an error with that reason, and no death: a
 * limit on the size of files (whose signal ends a program), no descriptor left, memory that is not
 * there: `file_bounds FOLDER`. */
#include "check.h"
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LIMIT = 1 << 20, PIECES = 64 };

static int rank, size;
static char name[4096];

/* Whether the error says this. */
static int says(int code, const char *what) {
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(code, text, &length);
    return strstr(text, what) != NULL;
}

static MPI_File open_file(MPI_Comm comm) {
    MPI_File file;
    int amode = MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE;
    CHECK(MPI_File_open(comm, name, amode, MPI_INFO_NULL, &file) == 0);
    return file;
}

static void limit(void) {
    struct rlimit before, small;
    char *data = calloc(2, LIMIT);
    MPI_Request request;
    MPI_Datatype comb;
    CHECK(data && getrlimit(RLIMIT_FSIZE, &before) == 0);
    small = before;
    small.rlim_cur = LIMIT;
    CHECK(setrlimit(RLIMIT_FSIZE, &small) == 0);
    MPI_File file = open_file(MPI_COMM_WORLD);
    MPI_Offset at = LIMIT / 2 + 4 * rank;
    CHECK_CLASS(MPI_File_write_at(file, at, data, LIMIT, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE);
    CHECK_CLASS(MPI_File_write_at(file, LIMIT, data, 1, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE);
    CHECK_CLASS(MPI_File_write_at_all(file, LIMIT, data, 1, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE);
    CHECK(MPI_File_iwrite_at(file, at, data, LIMIT, MPI_CHAR, &request) == 0);
    CHECK_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE);
    CHECK_CLASS(MPI_File_set_size(file, LIMIT + 1), MPI_ERR_NO_SPACE);
    CHECK_CLASS(MPI_File_preallocate(file, LIMIT + 1), MPI_ERR_NO_SPACE);
    CHECK(MPI_File_set_size(file, LIMIT) == 0 && MPI_File_set_size(file, 10) == 0);
    /* Many pieces, as io_uring would move them. */
    MPI_Type_create_resized(MPI_CHAR, 0, LIMIT / 32, &comb);
    MPI_Type_commit(&comb);
    CHECK(MPI_File_set_view(file, rank, MPI_CHAR, comb, "native", MPI_INFO_NULL) == 0);
    CHECK_CLASS(MPI_File_write_at(file, 0, data, PIECES, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE);
    /* The program may lift the limit. */
    CHECK(setrlimit(RLIMIT_FSIZE, &before) == 0);
    CHECK(MPI_File_write_at(file, 0, data, PIECES, MPI_CHAR, MPI_STATUS_IGNORE) == 0);
    MPI_Type_free(&comb);
    CHECK(MPI_File_close(&file) == 0);
    free(data);
}

static void memory(void) {
    char *gone = mmap(NULL, LIMIT, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(gone != MAP_FAILED);
    MPI_File file = open_file(MPI_COMM_WORLD);
    int code = MPI_File_write_at(file, 0, gone, 4096, MPI_CHAR, MPI_STATUS_IGNORE);
    CHECK_CLASS(code, MPI_ERR_BUFFER);
    CHECK(says(code, "memory"));
    CHECK(MPI_File_close(&file) == 0);
}

static void descriptors(void) {
    struct rlimit before, small;
    int fds[64], n = 0;
    MPI_File file;
    if (rank == 0) {
        CHECK(getrlimit(RLIMIT_NOFILE, &before) == 0);
        int next = dup(0);
        CHECK(next >= 0 && close(next) == 0);
        small = before;
        small.rlim_cur = (rlim_t)next + 32;
        CHECK(setrlimit(RLIMIT_NOFILE, &small) == 0);
        while (n < 64 && (fds[n] = dup(0)) >= 0)
            n++;
    }
    int code = MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file);
    CHECK_CLASS(code, MPI_ERR_IO);
    CHECK(rank != 0 || says(code, "as many files open as it may"));
    if (rank == 0) {
        while (n > 0)
            close(fds[--n]);
        CHECK(setrlimit(RLIMIT_NOFILE, &before) == 0);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 2);
    snprintf(name, sizeof name, "%s/bounds", argv[1]);
    limit();
    memory();
    descriptors();
    report("file_bounds", rank, size);
    MPI_Finalize();
    return 0;
}
