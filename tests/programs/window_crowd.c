/* Many ranks and one target: locks of both kinds, fences, post and start in a ring, accumulates and
   fetches by all to rank 0. The result of each is compared with what it must be. */
#include "check.h"
#include <stdint.h>

enum { WORDS = 16, ROUNDS = 10, LONG = 512 };

static int rank, size;
static MPI_Win win;
static int64_t *memory;

static void clear(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    memset(memory, 0, (WORDS + LONG) * sizeof *memory);
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
}

static int64_t own(int word) {
    int64_t value;
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    value = memory[word];
    MPI_Win_unlock(rank, win);
    return value;
}

/* A counter that is fetched and stored under the lock loses no count; readers see whole rounds. */
static void lock_one(void) {
    clear();
    for (int round = 0; round < ROUNDS; round++) {
        int64_t counts[2] = {-1, -2};
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Get(counts, 2, MPI_INT64_T, 0, 0, 2, MPI_INT64_T, win);
        MPI_Win_flush(0, win);
        CHECK(counts[0] == counts[1]);
        counts[0] = ++counts[1];
        MPI_Put(counts, 2, MPI_INT64_T, 0, 0, 2, MPI_INT64_T, win);
        MPI_Win_unlock(0, win);
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Get(counts, 2, MPI_INT64_T, 0, 0, 2, MPI_INT64_T, win);
        MPI_Win_unlock(0, win);
        CHECK(counts[0] == counts[1] && counts[0] > round);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(rank != 0 || own(0) == (int64_t)size * ROUNDS);
}

static void fence_all(void) {
    clear();
    for (int round = 0; round < ROUNDS; round++) {
        int64_t number = 100 * round + rank;
        MPI_Win_fence(0, win);
        MPI_Put(&number, 1, MPI_INT64_T, (rank + round) % size, 2, 1, MPI_INT64_T, win);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        CHECK(memory[2] == 100 * round + (rank + size - round % size) % size);
    }
}

static void post_and_start(void) {
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    MPI_Group world, from, to;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &left, &from);
    MPI_Group_incl(world, 1, &right, &to);
    clear();
    for (int round = 0; round < ROUNDS; round++) {
        int64_t number = 1000 * round + rank;
        MPI_Win_post(from, 0, win);
        MPI_Win_start(to, 0, win);
        MPI_Put(&number, 1, MPI_INT64_T, right, 3, 1, MPI_INT64_T, win);
        MPI_Win_complete(win);
        MPI_Win_wait(win);
        CHECK(memory[3] == 1000 * round + left);
    }
    MPI_Group_free(&world);
    MPI_Group_free(&from);
    MPI_Group_free(&to);
}

/* Every number of a ticket is given once: their sum tells. Long sums are done in pieces. */
static void accumulate_to_one(void) {
    static int64_t many[LONG];
    int64_t one = 1, ticket, drawn = 0, sum, total = (int64_t)size * ROUNDS;
    for (int i = 0; i < LONG; i++)
        many[i] = rank + i;
    clear();
    MPI_Win_lock_all(0, win);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Fetch_and_op(&one, &ticket, MPI_INT64_T, 0, 4, MPI_SUM, win);
        MPI_Accumulate(many, LONG, MPI_INT64_T, 0, WORDS, LONG, MPI_INT64_T, MPI_SUM, win);
        MPI_Win_flush(0, win);
        drawn += ticket;
    }
    MPI_Win_unlock_all(win);
    MPI_Reduce(&drawn, &sum, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    CHECK(rank != 0 || (own(4) == total && sum == total * (total - 1) / 2));
    for (int i = 0; rank == 0 && i < LONG; i++)
        CHECK(own(WORDS + i) == ROUNDS * (int64_t)size * ((size - 1) + 2 * i) / 2);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate((WORDS + LONG) * sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    lock_one();
    fence_all();
    post_and_start();
    accumulate_to_one();
    MPI_Win_free(&win);
    report("window_crowd", rank, size);
    MPI_Finalize();
    return 0;
}
