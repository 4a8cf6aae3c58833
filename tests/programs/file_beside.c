/* A long MPI_File_iwrite beside a computation: `file_beside FOLDER MIB [held|pinned|bound]`, with
 * two ranks. Rank 0 writes and computes; rank 1 looks into the file by calls of the system as soon
 * as it hears that the wait has returned. With `held`, the system's write lasts until the program
 * has computed: a call that waits for it would never return. With `pinned`, the program's thread
 * keeps to one core: the write must use another one. With `bound`, OpenMP has kept it to one core
 * before `main`, and its parent has more. Else it says what the computation lost. */
#include "check.h"
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { ROUNDS = 5, CELLS = 1 << 15, HELD_MS_MAX = 20000, SLOW_US = 100000 };

/* The system's writes wait while it is set, and are slow then. */
static atomic_int held, is_slow, writes, core_of_write;

ssize_t pwrite(int fd, const void *memory, size_t n, off_t at) {
    atomic_fetch_add(&writes, 1);
    atomic_store(&core_of_write, sched_getcpu());
    for (int ms = 0; atomic_load(&held); ms++) {
        if (ms == HELD_MS_MAX) {
            fprintf(stderr, "file_beside: the call waits for the disk\n");
            _exit(3);
        }
        usleep(1000);
    }
    if (atomic_load(&is_slow))
        usleep(SLOW_US);
    return syscall(SYS_pwrite64, fd, memory, n, at);
}

ssize_t pwrite64(int fd, const void *memory, size_t n, off64_t at) { return pwrite(fd, memory, n, at); }

static double cells[CELLS];
static char name[4096];
static uint64_t *words;
static long count;

/* Computes in memory of its own that fits a core's cache. */
static double compute(long turns) {
    double start = MPI_Wtime();
    for (long turn = 0; turn < turns; turn++)
        for (int i = 1; i < CELLS; i++)
            cells[i] = cells[i] * 0.75 + cells[i - 1] * 0.25 + 1e-9 * (double)turn;
    CHECK(cells[CELLS - 1] < 1e300);
    return MPI_Wtime() - start;
}

static uint64_t word(long i, int round) { return (uint64_t)(i + 1) * 0x9e3779b97f4a7c15ull + (uint64_t)round; }

static void fill(int round) {
    for (long i = 0; i < count; i++)
        words[i] = word(i, round);
}

/* What lies in the file now, for a process that did not write it. */
static void look(int round) {
    enum { PIECE = 1 << 16 };
    static uint64_t piece[PIECE];
    int file = open(name, O_RDONLY);
    CHECK(file >= 0);
    for (long at = 0; at < count; at += PIECE) {
        long n = count - at < PIECE ? count - at : PIECE;
        CHECK(pread(file, piece, (size_t)n * 8, at * 8) == n * 8);
        for (long i = 0; i < n; i++)
            CHECK(piece[i] == word(at + i, round));
    }
    CHECK(pread(file, piece, 8, count * 8) == 0);
    close(file);
}

/* Keeps this thread on the core where it is, unless it is kept there already, and looks where a
 * write goes on. */
static void write_while_pinned(MPI_File file, int is_bound) {
    cpu_set_t all, one;
    MPI_Request request;
    int core = sched_getcpu();
    CHECK(sched_getaffinity(is_bound ? getppid() : 0, sizeof all, &all) == 0);
    CHECK(sched_getaffinity(0, sizeof one, &one) == 0 && (!is_bound || CPU_COUNT(&one) == 1));
    printf("cores %d\n", CPU_COUNT(&all));
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    for (int round = 0; round < ROUNDS; round++) {
        CHECK(MPI_File_iwrite_at(file, 0, words, (int)count, MPI_UINT64_T, &request) == MPI_SUCCESS);
        compute(10);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK((core_of_write != core) == (CPU_COUNT(&all) > 1));
    }
    CHECK(sched_setaffinity(0, sizeof all, &all) == 0);
}

static double least(const double *values) {
    double least = values[0];
    for (int i = 1; i < ROUNDS; i++)
        least = values[i] < least ? values[i] : least;
    return least;
}

/* The computation lasts as long as the write does alone. */
static void measure(MPI_File file) {
    double alone[ROUNDS], beside[ROUNDS], write[ROUNDS], start;
    long turns = 1;
    MPI_Request request;
    for (int round = 0; round < 2; round++) {
        start = MPI_Wtime();
        CHECK(MPI_File_write_at(file, 0, words, (int)count, MPI_UINT64_T, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        write[0] = MPI_Wtime() - start;
    }
    while (compute(turns) < write[0] / 4)
        turns *= 2;
    turns = (long)((double)turns * write[0] / compute(turns)) + 1;
    for (int round = 0; round < ROUNDS; round++) {
        alone[round] = compute(turns);
        start = MPI_Wtime();
        CHECK(MPI_File_iwrite_at(file, 0, words, (int)count, MPI_UINT64_T, &request) == MPI_SUCCESS);
        double started = MPI_Wtime() - start;
        beside[round] = started + compute(turns);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        write[round] = MPI_Wtime() - start;
    }
    printf("alone_us %.0f\nbeside_us %.0f\nboth_us %.0f\nlost_percent %.1f\n", least(alone) * 1e6,
           least(beside) * 1e6, least(write) * 1e6, (least(beside) / least(alone) - 1) * 100);
}

int main(int argc, char **argv) {
    int rank, size, flag;
    MPI_Request request;
    MPI_Status status;
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc >= 3 && size == 2);
    snprintf(name, sizeof name, "%s/beside", argv[1]);
    count = atol(argv[2]) << 17;
    words = malloc((size_t)count * 8);
    CHECK(words);
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    const char *mode = argc > 3 ? argv[3] : "";
    int is_held = strcmp(mode, "held") == 0, is_bound = strcmp(mode, "bound") == 0;
    int is_pinned = is_bound || strcmp(mode, "pinned") == 0;
    if (rank == 0 && is_pinned)
        write_while_pinned(file, is_bound);
    for (int round = 0; round < 2; round++) {
        if (rank == 0) {
            int got;
            fill(round);
            held = is_slow = is_held;
            CHECK(MPI_File_iwrite_at(file, 0, words, (int)count, MPI_UINT64_T, &request) == MPI_SUCCESS);
            if (is_held) {
                CHECK(MPI_Test(&request, &flag, &status) == MPI_SUCCESS && !flag);
                compute(10);
                held = 0;
            }
            CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
            CHECK(MPI_Get_count(&status, MPI_UINT64_T, &got) == MPI_SUCCESS && got == count);
            CHECK(atomic_load(&writes) > 0);
            CHECK(MPI_Send(&round, 1, MPI_INT, 1, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
        } else {
            CHECK(MPI_Recv(&round, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
            look(round);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    is_slow = 0;
    if (rank == 0 && !is_held && !is_pinned) {
        fill(0);
        measure(file);
        CHECK(MPI_Send(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    } else if (!is_held && !is_pinned) {
        CHECK(MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
    }
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    if (rank == 0)
        remove(name);
    free(words);
    report("file_beside", rank, size);
    MPI_Finalize();
    return 0;
}
