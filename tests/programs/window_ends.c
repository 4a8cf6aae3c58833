/* Windows of which somebody does not take part. WAY: unfreed (MPI_Finalize comes first), killed (a
   rank dies with a lock that the others wait for), computes (the target calls nothing), calls (it calls MPI now and
   then), dynamic (nor
   does that of a dynamic window), many (nor does that of one with many pieces). */
#include "check.h"
#include <signal.h>
#include <unistd.h>

static int rank, size;

static void unfreed(void) {
    static int memory[4];
    int *allocated, number = rank + 1;
    MPI_Win created, dynamic, other;
    MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &created);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &dynamic);
    MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &allocated, &other);
    MPI_Win_fence(0, created);
    MPI_Accumulate(&number, 1, MPI_INT, 0, 2, 1, MPI_INT, MPI_SUM, created);
    MPI_Win_fence(0, created);
    CHECK(rank != 0 || memory[2] == size * (size + 1) / 2);
}

static void killed(void) {
    int *memory;
    MPI_Win win;
    MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    if (rank == 1)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        usleep(100000);
        raise(SIGKILL);
    }
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    CHECK(!"a dead rank gave its lock back");
}

/* Rank 0 computes for a second, and what all others do meanwhile must not wait for it. */
static void computes(int is_dynamic, int others) {
    static int memory[4], further[2 * 1000];
    double start, slowest = 0, mine = 0;
    int one = 1, got = 0;
    MPI_Aint at = 1;
    MPI_Win win;
    if (is_dynamic) {
        MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        /* Apart from each other, so that each is a piece of its own. */
        for (int i = 0; i < others; i++)
            MPI_Win_attach(win, further + 2 * i, sizeof *further);
        MPI_Win_attach(win, memory, sizeof memory);
        MPI_Get_address(memory + 1, &at);
        MPI_Bcast(&at, 1, MPI_AINT, 0, MPI_COMM_WORLD);
    } else
        MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    if (rank == 0)
        while (MPI_Wtime() < start + 1)
            continue;
    else {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Accumulate(&one, 1, MPI_INT, 0, at, 1, MPI_INT, MPI_SUM, win);
        MPI_Get(&got, 1, MPI_INT, 0, at, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
        mine = MPI_Wtime() - start;
    }
    MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    CHECK(rank != 0 || (slowest < 0.8 && memory[1] == size - 1));
    MPI_Win_free(&win);
}

/* Rank 0 computes, and calls MPI every two milliseconds, which keeps away a thread of the library
   that would serve the others. They are served all the same, and in time. */
static void calls(void) {
    static int memory[4];
    double start, mine = 0, slowest = 0;
    const int updates = 50;
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Barrier(MPI_COMM_WORLD);
    start = MPI_Wtime();
    if (rank == 0) {
        int flag;
        for (double now = start; now < start + 2; now = MPI_Wtime()) {
            while (MPI_Wtime() < now + 0.002)
                continue;
            MPI_Iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        }
    } else {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        for (int one = 1, i = 0; i < updates; i++) {
            MPI_Accumulate(&one, 1, MPI_INT, 0, 1, 1, MPI_INT, MPI_SUM, win);
            MPI_Win_flush(0, win);
        }
        MPI_Win_unlock(0, win);
        mine = MPI_Wtime() - start;
    }
    MPI_Reduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    CHECK(rank != 0 || (slowest < 1.5 && memory[1] == updates * (size - 1)));
    MPI_Win_free(&win);
}

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(way, "unfreed") == 0)
        unfreed();
    if (strcmp(way, "killed") == 0)
        killed();
    if (strcmp(way, "computes") == 0)
        computes(0, 0);
    if (strcmp(way, "calls") == 0)
        calls();
    if (strcmp(way, "dynamic") == 0)
        computes(1, 0);
    if (strcmp(way, "many") == 0)
        computes(1, 1000);
    MPI_Finalize();
    report("window_ends", rank, size);
    return 0;
}
