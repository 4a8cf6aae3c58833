/* The synchronisation of windows: what a call makes visible, and whom it waits for. Fences with all
   assertions, post and start with groups of all sizes, locks of both kinds, flushes, sync. */
#include "check.h"
#include <unistd.h>

enum { PLACES = 64, ROUNDS = 50 };

static int rank, size;
/* The requests that are under way at once; fewer where ranks share no memory: the processors of
   virtual nodes take minutes, and window_device has as many there. */
static int many;

static void fences(MPI_Win win, int *memory) {
    for (int round = 0; round < ROUNDS; round++) {
        int number = 1000 * round + rank, target = (rank + round) % size, from = (rank + size - round % size) % size;
        memory[0] = -1;
        MPI_Win_fence(MPI_MODE_NOPRECEDE | MPI_MODE_NOSTORE * (round % 2), win);
        MPI_Put(&number, 1, MPI_INT, target, 0, 1, MPI_INT, win);
        MPI_Win_fence(round % 2 ? MPI_MODE_NOSUCCEED : MPI_MODE_NOPUT, win);
        CHECK(memory[0] == 1000 * round + from);
        if (round % 2 == 0)
            MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    }
}

/* Each rank is the target of one neighbor and an origin for the other; then rank 0 of all. */
static void post_start(MPI_Win win, int *memory, MPI_Group world) {
    MPI_Group left, right, others, root;
    int from = (rank + size - 1) % size, target = (rank + 1) % size, zero = 0, flag;
    MPI_Group_incl(world, 1, &from, &left);
    MPI_Group_incl(world, 1, &target, &right);
    MPI_Group_incl(world, 1, &zero, &root);
    MPI_Group_excl(world, 1, &zero, &others);
    for (int round = 0; round < ROUNDS; round++) {
        int number = 7 * round + rank, got = -1;
        memory[1] = -round;
        memory[2] = -1;
        MPI_Win_post(left, round % 3 ? 0 : MPI_MODE_NOSTORE, win);
        MPI_Win_start(right, 0, win);
        MPI_Put(&number, 1, MPI_INT, target, 2, 1, MPI_INT, win);
        MPI_Get(&got, 1, MPI_INT, target, 1, 1, MPI_INT, win);
        MPI_Win_complete(win);
        CHECK(got == -round);
        if (round % 2)
            MPI_Win_wait(win);
        else
            for (flag = 0; !flag;)
                CHECK(MPI_Win_test(win, &flag) == MPI_SUCCESS);
        CHECK(memory[2] == 7 * round + from);
    }
    for (int round = 0; round < ROUNDS; round++) {
        if (rank == 0) {
            for (int r = 1; r < size; r++)
                memory[r] = -1;
            MPI_Win_post(others, 0, win);
            MPI_Win_wait(win);
            for (int r = 1; r < size; r++)
                CHECK(memory[r] == round + r);
        } else {
            int number = round + rank;
            MPI_Win_start(root, 0, win);
            MPI_Put(&number, 1, MPI_INT, 0, rank, 1, MPI_INT, win);
            MPI_Win_complete(win);
        }
    }
    /* Nobody accesses, and nobody hangs; without checks the program itself says when. */
    MPI_Win_post(world, 0, win);
    MPI_Win_start(world, 0, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    MPI_Win_post(world, MPI_MODE_NOCHECK, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_start(world, MPI_MODE_NOCHECK, win);
    MPI_Put(&rank, 1, MPI_INT, target, 3, 1, MPI_INT, win);
    MPI_Win_complete(win);
    MPI_Win_wait(win);
    CHECK(memory[3] == from);
    MPI_Win_post(MPI_GROUP_EMPTY, 0, win);
    MPI_Win_wait(win);
    MPI_Win_start(MPI_GROUP_EMPTY, 0, win);
    MPI_Win_complete(win);
    MPI_Group_free(&left);
    MPI_Group_free(&right);
    MPI_Group_free(&others);
    MPI_Group_free(&root);
}

/* A counter that is read and written under an exclusive lock loses no count. */
static void exclusive(MPI_Win win, int *memory) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    memory[4] = memory[5] = 0;
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < ROUNDS; round++) {
        int counter = -1, target = round % size;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
        MPI_Get(&counter, 1, MPI_INT, target, 4, 1, MPI_INT, win);
        MPI_Win_flush(target, win);
        counter++;
        MPI_Put(&counter, 1, MPI_INT, target, 4, 1, MPI_INT, win);
        MPI_Win_unlock(target, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int expected = 0;
    for (int round = 0; round < ROUNDS; round++)
        expected += round % size == rank ? size : 0;
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    CHECK(memory[4] == expected);
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Readers are inside together, and a writer waits for all of them. */
static void readers_and_writers(MPI_Win win, int *memory) {
    int one = 1, got;
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Accumulate(&one, 1, MPI_INT, 0, 5, 1, MPI_INT, MPI_SUM, win);
    for (got = 0; got != size;) {
        MPI_Fetch_and_op(&one, &got, MPI_INT, 0, 5, MPI_NO_OP, win);
        MPI_Win_flush(0, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1) {
        usleep(20000);
        got = 77;
        MPI_Put(&got, 1, MPI_INT, 0, 5, 1, MPI_INT, win);
    }
    MPI_Win_unlock(0, win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Get(&got, 1, MPI_INT, 0, 5, 1, MPI_INT, win);
    MPI_Win_flush(0, win);
    CHECK(got >= 77);
    got++;
    MPI_Put(&got, 1, MPI_INT, 0, 5, 1, MPI_INT, win);
    MPI_Win_unlock(0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(rank != 0 || memory[5] == 77 + size);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Everybody to everybody within one epoch, and a rank that waits for another's word. */
static void all_locked(MPI_Win win, int *memory) {
    int one = 1, got, assert = 0;
    MPI_Request requests[4];
    memory[6] = memory[7] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int pass = 0; pass < 2; pass++, assert = MPI_MODE_NOCHECK) {
        MPI_Win_lock_all(assert, win);
        for (int r = 0; r < size; r++)
            MPI_Accumulate(&one, 1, MPI_INT, r, 6, 1, MPI_INT, MPI_SUM, win);
        MPI_Win_flush_all(win);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Fetch_and_op(&one, &got, MPI_INT, (rank + 1) % size, 6, MPI_NO_OP, win);
        MPI_Win_flush((rank + 1) % size, win);
        CHECK(got == size * (pass + 1));
        MPI_Win_flush_local((rank + 1) % size, win);
        MPI_Win_flush_local_all(win);
        /* Rank r tells rank r + 1, which polls its own memory. */
        if (rank == 0) {
            memory[7] = pass + 1;
            MPI_Win_sync(win);
        }
        do {
            MPI_Fetch_and_op(&one, &got, MPI_INT, rank, 7, MPI_NO_OP, win);
            MPI_Win_flush(rank, win);
        } while (got != pass + 1);
        if (rank + 1 < size)
            MPI_Accumulate(&got, 1, MPI_INT, rank + 1, 7, 1, MPI_INT, MPI_REPLACE, win);
        MPI_Win_unlock_all(win);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_lock_all(0, win);
    int numbers[4] = {1, 2, 3, 4}, back[4] = {0};
    for (int i = 0; i < 4; i++)
        MPI_Rput(&numbers[i], 1, MPI_INT, rank, 8 + i, 1, MPI_INT, win, &requests[i]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    MPI_Win_flush_all(win);
    for (int i = 0; i < 4; i++)
        MPI_Rget(&back[i], 1, MPI_INT, rank, 8 + i, 1, MPI_INT, win, &requests[i]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    MPI_Win_unlock_all(win);
    CHECK(memcmp(numbers, back, sizeof back) == 0);
}

/* The members of a window of shared memory load and store by themselves: a lock of all waits for
   exclusive ones, and they wait for it. */
static void shared_memory(void) {
    int *memory, *parts[8], unit;
    MPI_Aint bytes;
    MPI_Win win;
    MPI_Win_allocate_shared(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    for (int r = 0; r < size; r++)
        MPI_Win_shared_query(win, r, &bytes, &unit, &parts[r]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < ROUNDS; round++) {
        volatile int *part = parts[(rank + round) % size];
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, (rank + round) % size, 0, win);
        int number = part[0] + 1;
        part[0] = number;
        if (round % 8 == 0)
            usleep(200);
        part[1] = number;
        MPI_Win_unlock((rank + round) % size, win);
        MPI_Win_lock_all(0, win);
        for (int r = 0; r < size; r++)
            CHECK(((volatile int *)parts[r])[0] == ((volatile int *)parts[r])[1]);
        MPI_Win_unlock_all(win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(memory[0] == ROUNDS && memory[1] == ROUNDS);
    MPI_Win_free(&win);
}

/* Many requests under way at once. */
static void many_requests(MPI_Win win) {
    MPI_Request *requests = malloc((size_t)many * sizeof *requests);
    int *numbers = malloc((size_t)many * sizeof *numbers), target = (rank + 1) % size, got = -1;
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < many; i++) {
        numbers[i] = i;
        MPI_Rput(&numbers[i], 1, MPI_INT, target, 16 + i % 8, 1, MPI_INT, win, &requests[i]);
    }
    MPI_Waitall(many, requests, MPI_STATUSES_IGNORE);
    MPI_Win_flush(target, win);
    MPI_Get(&got, 1, MPI_INT, target, 16 + (many - 1) % 8, 1, MPI_INT, win);
    MPI_Win_unlock_all(win);
    CHECK(got >= 0 && got % 8 == (many - 1) % 8);
    free(requests);
    free(numbers);
}

static void all_ways(MPI_Win win, int *memory, MPI_Group world) {
    memset(memory, 0, PLACES * sizeof *memory);
    MPI_Barrier(MPI_COMM_WORLD);
    fences(win, memory);
    post_start(win, memory, world);
    exclusive(win, memory);
    readers_and_writers(win, memory);
    all_locked(win, memory);
    many_requests(win);
    MPI_Win_free(&win);
}

int main(int argc, char **argv) {
    static int there[PLACES];
    int *memory;
    MPI_Win win;
    MPI_Group world;
    /* An argument says that the ranks share no memory. */
    many = argc == 1 ? 100000 : 10000;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Win_create(there, sizeof there, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    all_ways(win, there, world);
    MPI_Win_allocate(sizeof there, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    all_ways(win, memory, world);
    if (argc == 1)
        shared_memory();
    MPI_Group_free(&world);
    report("window_synchronize", rank, size);
    MPI_Finalize();
    return 0;
}
