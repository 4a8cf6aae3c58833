/* Files where the system refuses threads to rank 0: `file_threadless FOLDER none|one`. With `one`,
 * the library has got one thread before, which waits for an empty pipe. */
#include "check.h"
#include "seccomp.h"
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 1000, TIMES = 40, LONG = 2 << 20 };

static int rank, size, ends;
static char pipe_name[4096], plain[4096], taken[4];
static unsigned char data[TIMES][PIECE], back[TIMES][PIECE];

static void *nothing(void *unused) { return unused; }

static void refuse_threads(void) {
    pthread_t thread;
    CHECK(refuse(SYS_clone, SYS_clone3, SECCOMP_RET_ERRNO | EAGAIN) == 0);
    CHECK(pthread_create(&thread, NULL, nothing, NULL) == EAGAIN);
}

static MPI_File open_alone(int amode) {
    MPI_File file;
    CHECK(MPI_File_open(MPI_COMM_SELF, pipe_name, amode | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &file) == 0);
    return file;
}

/* Many writes at once, alone and together, and a long one. */
static void write_all_of_it(MPI_File file) {
    MPI_Request requests[TIMES];
    MPI_Offset mine = (MPI_Offset)rank * LONG;
    unsigned char *bytes = malloc(LONG);
    CHECK(bytes);
    for (int i = 0; i < TIMES; i++) {
        memset(data[i], 10 * rank + i, PIECE);
        CHECK(MPI_File_iwrite_at(file, mine + i * PIECE, data[i], PIECE, MPI_BYTE, &requests[i]) == 0);
    }
    CHECK(MPI_Waitall(TIMES, requests, MPI_STATUSES_IGNORE) == 0);
    CHECK(MPI_File_iread_at_all(file, mine, back, sizeof back, MPI_BYTE, &requests[0]) == 0);
    CHECK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE) == 0 && memcmp(data, back, sizeof back) == 0);
    memset(bytes, 77, LONG);
    CHECK(MPI_File_iwrite_at_all(file, mine, bytes, LONG, MPI_BYTE, &requests[0]) == 0);
    CHECK(MPI_Wait(&requests[0], MPI_STATUS_IGNORE) == 0);
    CHECK(MPI_File_read_at_all_begin(file, mine, back, sizeof back, MPI_BYTE) == 0);
    CHECK(MPI_File_read_at_all_end(file, back, MPI_STATUS_IGNORE) == 0);
    for (size_t i = 0; i < sizeof back; i++)
        CHECK(((unsigned char *)back)[i] == 77);
    free(bytes);
}

int main(int argc, char **argv) {
    MPI_File file, reader = MPI_FILE_NULL, writer;
    MPI_Request read, write;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 3);
    snprintf(pipe_name, sizeof pipe_name, "%s/pipe", argv[1]);
    snprintf(plain, sizeof plain, "%s/plain", argv[1]);
    if (rank == 0) {
        CHECK(mkfifo(pipe_name, 0600) == 0 && (ends = open(pipe_name, O_RDWR)) >= 0);
        reader = open_alone(MPI_MODE_RDONLY);
        if (strcmp(argv[2], "one") == 0)
            CHECK(MPI_File_iread_shared(reader, taken, 4, MPI_CHAR, &read) == 0);
        refuse_threads();
    }
    int amode = MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE;
    CHECK(MPI_File_open(MPI_COMM_WORLD, plain, amode, MPI_INFO_NULL, &file) == 0);
    write_all_of_it(file);
    CHECK(MPI_File_close(&file) == 0);
    if (rank == 0) {
        /* The other end of the pipe, by the calling thread. */
        writer = open_alone(MPI_MODE_WRONLY);
        CHECK(MPI_File_iwrite_shared(writer, "abcd", 4, MPI_CHAR, &write) == 0);
        if (strcmp(argv[2], "one") != 0)
            CHECK(MPI_File_iread_shared(reader, taken, 4, MPI_CHAR, &read) == 0);
        CHECK(MPI_Wait(&write, MPI_STATUS_IGNORE) == 0 && MPI_Wait(&read, MPI_STATUS_IGNORE) == 0);
        CHECK(memcmp(taken, "abcd", 4) == 0);
        CHECK(MPI_File_close(&reader) == 0 && MPI_File_close(&writer) == 0);
        CHECK(close(ends) == 0 && unlink(pipe_name) == 0);
    }
    report("file_threadless", rank, size);
    MPI_Finalize();
    return 0;
}
