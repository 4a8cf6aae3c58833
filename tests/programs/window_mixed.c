/* window_mixed [loop]: one window whose members are partly on the same node, where they have each
   other's memory mapped, and partly on another. All change the same elements, each puts into its own
   place everywhere, counters are guarded by locks, and groups post and start across the nodes. With
   `loop` only the puts and their look go on, for some seconds or until something fails: what was
   flushed is there. */
#include "tool.h"

enum { ROUNDS = 60, LONG = 3000, WORDS = 16, LOOP_SECONDS = 8 };

static int rank, size;
static long *memory;
static MPI_Win win;
static long from[LONG], back[LONG];

/* Word 0: a sum; 1: a counter under an exclusive lock; 2: a counter of fetches; then a place for
   each rank. */
static long *place_of(long *base, int r) {
    return base + WORDS + r * LONG;
}

static void put_and_get(int target, long seed) {
    long at = place_of(memory, rank) - memory;
    for (int i = 0; i < LONG; i++)
        from[i] = seed + i;
    memset(back, 0, sizeof back);
    MPI_Put(from, LONG, MPI_LONG, target, at, LONG, MPI_LONG, win);
    MPI_Win_flush(target, win);
    MPI_Get(back, LONG, MPI_LONG, target, at, LONG, MPI_LONG, win);
    MPI_Win_flush(target, win);
    CHECK(memcmp(from, back, sizeof back) == 0);
}

static void all_locked(void) {
    long one = 1, was;
    MPI_Win_lock_all(0, win);
    for (int round = 0; round < ROUNDS; round++)
        for (int target = 0; target < size; target++) {
            MPI_Accumulate(&one, 1, MPI_LONG, target, 0, 1, MPI_LONG, MPI_SUM, win);
            put_and_get(target, 1000003L * (round * size + rank));
            MPI_Fetch_and_op(&one, &was, MPI_LONG, target, 2, MPI_SUM, win);
        }
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(memory[0] == (long)ROUNDS * size && memory[2] == (long)ROUNDS * size);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < LONG; i++)
            CHECK(place_of(memory, r)[i] == 1000003L * ((ROUNDS - 1) * size + r) + i);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void exclusive(void) {
    for (int round = 0; round < ROUNDS; round++) {
        long counter = -1;
        int target = round % size;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, target, 0, win);
        MPI_Get(&counter, 1, MPI_LONG, target, 1, 1, MPI_LONG, win);
        MPI_Win_flush(target, win);
        counter++;
        MPI_Put(&counter, 1, MPI_LONG, target, 1, 1, MPI_LONG, win);
        MPI_Win_unlock(target, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(memory[1] == (long)ROUNDS / size * size + (rank < ROUNDS % size ? size : 0));
    MPI_Barrier(MPI_COMM_WORLD);
}

static void groups(void) {
    MPI_Group world;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int round = 0; round < ROUNDS; round++) {
        long seed = 7L * round + rank;
        MPI_Win_post(world, 0, win);
        MPI_Win_start(world, 0, win);
        for (int target = 0; target < size; target++)
            MPI_Put(&seed, 1, MPI_LONG, target, place_of(memory, rank) - memory, 1, MPI_LONG, win);
        MPI_Win_complete(win);
        MPI_Win_wait(win);
        for (int r = 0; r < size; r++)
            CHECK(place_of(memory, r)[0] == 7L * round + r);
    }
    MPI_Group_free(&world);
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    MPI_T_pvar_handle mapped = pvar_handle("window_puts_mapped", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle device = pvar_handle("window_puts_device", MPI_T_PVAR_CLASS_COUNTER);
    OK(MPI_T_pvar_start(session, mapped));
    OK(MPI_T_pvar_start(session, device));
    MPI_Win_allocate((WORDS + size * LONG) * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memset(memory, 0, WORDS * sizeof(long));
    MPI_Barrier(MPI_COMM_WORLD);
    if (argc > 1) {
        double begin = MPI_Wtime();
        MPI_Win_lock_all(0, win);
        for (long round = 0; MPI_Wtime() < begin + LOOP_SECONDS; round++) {
            /* Across the nodes: those of one node follow each other. */
            put_and_get((rank + size / 2) % size, 1000003L * round);
            if (round == 200 && rank == 0) {
                printf("it loops, %llu by device\n", read_pvar(device));
                fflush(stdout);
            }
        }
        MPI_Win_unlock_all(win);
    } else {
        all_locked();
        exclusive();
        groups();
    }
    if (rank == 0) {
        printf("puts_mapped %llu\n", read_pvar(mapped));
        printf("puts_by_device %llu\n", read_pvar(device));
    }
    MPI_Win_free(&win);
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    report("window_mixed", rank, size);
    MPI_Finalize();
    return 0;
}
