/* MPI_Win_lock_all keeps an exclusive lock away while its caller loads and stores without calls
   (MPI-5.0, 12.5.3). WAY: shared (memory that all load and store), own (one's own part). */
#include "check.h"

static int rank, size;

static void spin(double seconds) {
    double start = MPI_Wtime();
    while (MPI_Wtime() < start + seconds)
        continue;
}

/* Rank 0 has all locked for a while, and rank 1 stores into its part under an exclusive lock. */
static void loads(MPI_Win win, volatile int *memory) {
    int token = 1, seven = 7;
    memory[0] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Win_lock_all(0, win);
        CHECK(memory[0] == 0);
        MPI_Send(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        spin(0.3);
        CHECK(memory[0] == 0);
        memory[1] = 5;
        MPI_Win_unlock_all(win);
    }
    if (rank == 1) {
        int five = 0;
        MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Put(&seven, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
        MPI_Get(&five, 1, MPI_INT, 0, 1, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
        CHECK(five == 5);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(rank != 0 || memory[0] == 7);
}

/* Rank 1 has all locked and reads rank 0's part where MPI_Win_shared_query says; rank 0 stores. */
static void loads_of_others(MPI_Win win) {
    int token = 1, unit, is_told;
    MPI_Aint bytes;
    int *theirs;
    MPI_Win_shared_query(win, 0, &bytes, &unit, &theirs);
    is_told = theirs != NULL;
    MPI_Allreduce(MPI_IN_PLACE, &is_told, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!is_told)
        return;
    if (rank == 1) {
        volatile int *word = theirs + 2;
        MPI_Win_lock_all(0, win);
        MPI_Send(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
        spin(0.3);
        CHECK(*word == 0);
        MPI_Win_unlock_all(win);
    }
    if (rank == 0) {
        int nine = 9;
        MPI_Recv(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Put(&nine, 1, MPI_INT, 0, 2, 1, MPI_INT, win);
        MPI_Win_unlock(0, win);
        CHECK(theirs[2] == 9);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Each other rank has its own part locked most of the time; rank 0 gets all nevertheless. */
static void gets_in_between(MPI_Win win) {
    int token = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        spin(0.05);
        MPI_Win_lock_all(0, win);
        for (int peer = 1; peer < size; peer++)
            MPI_Send(&token, 1, MPI_INT, peer, 1, MPI_COMM_WORLD);
        MPI_Win_unlock_all(win);
    } else {
        int is_in = 0;
        double start = MPI_Wtime();
        while (!is_in && MPI_Wtime() < start + 20) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
            spin(0.002);
            MPI_Win_unlock(rank, win);
            MPI_Iprobe(0, 1, MPI_COMM_WORLD, &is_in, MPI_STATUS_IGNORE);
        }
        CHECK(is_in);
        MPI_Recv(&token, 1, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 1 holds its own lock while it waits for that of rank 0, again and again. */
static void crosses(MPI_Win win) {
    MPI_Barrier(MPI_COMM_WORLD);
    for (int round = 0; round < 200; round++) {
        if (rank == 0) {
            MPI_Win_lock_all(0, win);
            MPI_Win_unlock_all(win);
        }
        if (rank == 1) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
            MPI_Win_unlock(0, win);
            MPI_Win_unlock(1, win);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    int *memory;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 1 && strcmp(argv[1], "shared") == 0)
        MPI_Win_allocate_shared(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    else
        MPI_Win_allocate(64, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memset(memory, 0, 64);
    loads(win, memory);
    loads_of_others(win);
    gets_in_between(win);
    crosses(win);
    MPI_Win_free(&win);
    MPI_Finalize();
    report("window_lock_all", rank, size);
    return 0;
}
