/* closes_files FILE another|same|fatal: a program that closes the descriptor of a file that MPI has
 * open, and opens a file of its own, which gets the number: another one, or the same by name. Every
 * access of MPI fails, and the program's file keeps its bytes and stays open. With `fatal` the
 * file's error handler ends the job at the first access. */
#include "check.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST = 3, LAST = 127 };
static const char precious[] = "precious precious precious";
static int failures;

/* The numbers that are taken; -1 ends them. */
static int open_numbers(int *numbers) {
    int count = 0;
    for (int fd = FIRST; fd <= LAST; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            numbers[count++] = fd;
    numbers[count] = -1;
    return count;
}

/* The number that is taken now and was not before. */
static int new_number(const int *before) {
    int now[LAST + 1], at = 0;
    open_numbers(now);
    while (now[at] == before[at])
        at++;
    return now[at];
}

static void count_failure(MPI_File *file, int *code, ...) {
    CHECK(*file != MPI_FILE_NULL && class_of(*code) == MPI_ERR_IO);
    failures++;
}

/* Opens a file of MPI, writes to it if `write_first`, and gives its number to another. */
static int open_and_lose(MPI_File *file, const char *name, const char *own, int write_first) {
    int before[LAST + 1];
    open_numbers(before);
    CHECK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, file) == 0);
    int number = new_number(before);
    if (write_first)
        CHECK(MPI_File_write_at(*file, 0, "written", 8, MPI_CHAR, MPI_STATUS_IGNORE) == 0);
    CHECK(close(number) == 0);
    int fd = open(own, O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(fd == number && write(fd, precious, sizeof precious) == sizeof precious);
    return fd;
}

static void check_own(int fd) {
    char bytes[100];
    struct stat stat;
    CHECK(fstat(fd, &stat) == 0 && stat.st_size == sizeof precious);
    CHECK(pread(fd, bytes, sizeof bytes, 0) == sizeof precious && !memcmp(bytes, precious, sizeof precious));
}

int main(int argc, char **argv) {
    char name[1024], own[1024 + 8], bytes[8] = "ZZZZZZZ";
    int rank, size, fd;
    MPI_File file;
    MPI_Request request;
    MPI_Offset length;
    MPI_Errhandler counting;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(name, sizeof name, "%s.%d", argv[1], rank);
    snprintf(own, sizeof own, "%s%s", name, !strcmp(argv[2], "same") ? "" : ".own");
    MPI_File_create_errhandler(count_failure, &counting);
    fd = open_and_lose(&file, name, own, 0);
    MPI_File_set_errhandler(file, !strcmp(argv[2], "fatal") ? MPI_ERRORS_ARE_FATAL : counting);
    CHECK_CLASS(MPI_File_write_at(file, 0, bytes, 8, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_IO);
    CHECK_CLASS(MPI_File_write_all(file, bytes, 8, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_IO);
    CHECK_CLASS(MPI_File_iwrite(file, bytes, 8, MPI_CHAR, &request), MPI_SUCCESS);
    CHECK_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_IO);
    CHECK_CLASS(MPI_File_read_at(file, 0, bytes, 8, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_IO);
    CHECK_CLASS(MPI_File_set_size(file, 4), MPI_ERR_IO);
    CHECK_CLASS(MPI_File_preallocate(file, 4000), MPI_ERR_IO);
    CHECK_CLASS(MPI_File_get_size(file, &length), MPI_ERR_IO);
    CHECK_CLASS(MPI_File_seek(file, 0, MPI_SEEK_END), MPI_ERR_IO);
    CHECK_CLASS(MPI_File_set_atomicity(file, 1), MPI_ERR_IO);
    CHECK_CLASS(MPI_File_write_at(file, 0, bytes, 8, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_IO);
    CHECK(failures == 10);
    check_own(fd);
    /* What was to be written is not on the device: closing says so once. */
    CHECK_CLASS(MPI_File_close(&file), MPI_ERR_IO);
    CHECK(MPI_File_close(&file) == 0);
    check_own(fd);
    CHECK(close(fd) == 0);
    /* What was written and not synchronised may be lost: closing says so once. */
    fd = open_and_lose(&file, name, own, 1);
    CHECK_CLASS(MPI_File_sync(file), MPI_ERR_IO);
    CHECK(MPI_File_close(&file) == 0);
    fd = open_and_lose(&file, name, own, 1);
    CHECK_CLASS(MPI_File_close(&file), MPI_ERR_IO);
    CHECK(MPI_File_close(&file) == 0);
    check_own(fd);
    CHECK(unlink(name) == 0);
    MPI_Errhandler_free(&counting);
    MPI_Finalize();
    if (strcmp(name, own))
        CHECK(unlink(own) == 0);
    report("closes_files", rank, size);
    return 0;
}
