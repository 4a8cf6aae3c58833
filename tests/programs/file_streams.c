/* Files that are pipes: bytes in the order of ranks, and of calls in one rank; a pipe without bytes
 * keeps no other file waiting: `file_streams FOLDER`. */
#include "check.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PIECE = 6000, TIMES = 20 };

static int rank, size, fd;
static char name[4096], plain[4096];
static unsigned char *read_bytes;
static size_t expected;

/* The time, in microseconds, that a write takes to begin. */
static useconds_t delay_us;

/* The library finds this in the place of the C library's. */
ssize_t write(int file, const void *memory, size_t bytes) {
    if (delay_us)
        usleep(delay_us);
    return syscall(SYS_write, file, memory, bytes);
}

/* Reads all that is to come. */
static void *take(void *unused) {
    (void)unused;
    for (size_t n = 0; n < expected;) {
        ssize_t more = read(fd, read_bytes + n, expected - n);
        CHECK(more > 0);
        n += (size_t)more;
    }
    return NULL;
}

/* Opens the pipe to write in all ranks; rank 0 reads it. */
static MPI_File open_pipe(size_t bytes, pthread_t *reader) {
    MPI_File file;
    if (rank == 0) {
        CHECK(mkfifo(name, 0600) == 0 && (fd = open(name, O_RDWR)) >= 0);
        expected = bytes;
        CHECK((read_bytes = malloc(bytes)) && pthread_create(reader, NULL, take, NULL) == 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &file) == 0);
    return file;
}

static void close_pipe(MPI_File *file, pthread_t reader) {
    CHECK(MPI_File_close(file) == 0);
    if (rank == 0)
        CHECK(pthread_join(reader, NULL) == 0 && close(fd) == 0 && unlink(name) == 0);
}

static void in_the_order_of_ranks(void) {
    pthread_t reader;
    unsigned char data[PIECE];
    MPI_File file = open_pipe((size_t)PIECE * TIMES * (size_t)size, &reader);
    memset(data, rank, PIECE);
    /* The first ranks are the slowest. */
    delay_us = (useconds_t)(2000 * (size - rank));
    for (int i = 0; i < TIMES; i++) {
        if (i % 2) {
            CHECK(MPI_File_write_ordered(file, data, PIECE, MPI_BYTE, MPI_STATUS_IGNORE) == 0);
        } else {
            CHECK(MPI_File_write_ordered_begin(file, data, PIECE, MPI_BYTE) == 0);
            CHECK(MPI_File_write_ordered_end(file, data, MPI_STATUS_IGNORE) == 0);
        }
    }
    delay_us = 0;
    close_pipe(&file, reader);
    for (size_t i = 0; rank == 0 && i < expected; i++)
        CHECK(read_bytes[i] == i / PIECE % (size_t)size);
    free(rank == 0 ? read_bytes : NULL);
}

/* Writes of one rank, some of which go on beside it. */
static void in_the_order_of_calls(void) {
    pthread_t reader;
    static unsigned char data[TIMES][PIECE];
    MPI_Request requests[TIMES];
    MPI_File file = open_pipe((size_t)PIECE * TIMES, &reader);
    for (int i = 0; i < TIMES && rank == 0; i++) {
        memset(data[i], i, PIECE);
        requests[i] = MPI_REQUEST_NULL;
        CHECK((i % 5 ? MPI_File_iwrite_shared(file, data[i], PIECE, MPI_BYTE, &requests[i])
                     : MPI_File_write_shared(file, data[i], PIECE, MPI_BYTE, MPI_STATUS_IGNORE)) == 0);
    }
    CHECK(rank != 0 || MPI_Waitall(TIMES, requests, MPI_STATUSES_IGNORE) == 0);
    close_pipe(&file, reader);
    for (size_t i = 0; rank == 0 && i < expected; i++)
        CHECK(read_bytes[i] == i / PIECE);
    free(rank == 0 ? read_bytes : NULL);
}

/* The reader has gone: each call fails, and the signal of the system ends nobody. */
static void a_reader_that_is_gone_is_an_error(void) {
    MPI_File file;
    MPI_Request request;
    char data[PIECE] = "something";
    if (rank != 0)
        return;
    CHECK(mkfifo(name, 0600) == 0 && (fd = open(name, O_RDWR)) >= 0);
    CHECK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &file) == 0);
    CHECK(MPI_File_write_shared(file, data, PIECE, MPI_CHAR, MPI_STATUS_IGNORE) == 0);
    CHECK(close(fd) == 0);
    CHECK_CLASS(MPI_File_write_shared(file, data, PIECE, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_IO);
    CHECK_CLASS(MPI_File_write_ordered(file, data, PIECE, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_IO);
    CHECK(MPI_File_iwrite_shared(file, data, PIECE, MPI_CHAR, &request) == 0);
    CHECK_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_IO);
    CHECK(MPI_File_close(&file) == 0 && unlink(name) == 0);
}

/* More reads of empty pipes than there are threads, then a write to a file. */
static void nobody_waits_for_an_empty_pipe(void) {
    enum { PIPES = 6 };
    MPI_File pipes[PIPES], file;
    MPI_Request reads[PIPES], request;
    int ends[PIPES], flag = 0, value = 7;
    char bytes[PIPES], path[4200];
    if (rank != 0)
        return;
    for (int i = 0; i < PIPES; i++) {
        snprintf(path, sizeof path, "%s-%d", name, i);
        CHECK(mkfifo(path, 0600) == 0 && (ends[i] = open(path, O_RDWR)) >= 0);
        CHECK(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &pipes[i]) == 0);
        CHECK(MPI_File_iread_shared(pipes[i], &bytes[i], 1, MPI_CHAR, &reads[i]) == 0);
        CHECK(unlink(path) == 0);
    }
    int amode = MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE;
    CHECK(MPI_File_open(MPI_COMM_SELF, plain, amode, MPI_INFO_NULL, &file) == 0);
    CHECK(MPI_File_iwrite_at(file, 0, &value, 1, MPI_INT, &request) == 0);
    for (double start = MPI_Wtime(); !flag && MPI_Wtime() - start < 60;)
        CHECK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE) == 0);
    CHECK(flag);
    CHECK(MPI_Testall(PIPES, reads, &flag, MPI_STATUSES_IGNORE) == 0 && !flag);
    for (int i = 0; i < PIPES; i++)
        CHECK(write(ends[i], "x", 1) == 1);
    CHECK(MPI_Waitall(PIPES, reads, MPI_STATUSES_IGNORE) == 0);
    for (int i = 0; i < PIPES; i++)
        CHECK(bytes[i] == 'x' && MPI_File_close(&pipes[i]) == 0 && close(ends[i]) == 0);
    CHECK(MPI_File_close(&file) == 0);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 2);
    snprintf(name, sizeof name, "%s/pipe", argv[1]);
    snprintf(plain, sizeof plain, "%s/plain", argv[1]);
    in_the_order_of_ranks();
    in_the_order_of_calls();
    a_reader_that_is_gone_is_an_error();
    nobody_waits_for_an_empty_pipe();
    report("file_streams", rank, size);
    MPI_Finalize();
    return 0;
}
