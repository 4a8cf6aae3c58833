/* window_closes WHAT: the calls that close epochs ask all targets before they wait for one, and
   each target goes on as soon as it has finished itself. Rank 1 is stopped meanwhile (`complete`,
   `all`), or posts only after rank 2 has gone on (`posts`). `unlock`: an unlock by messages finishes
   what was called before without a flush of its own. */
#include "tool.h"
#include <signal.h>
#include <unistd.h>

enum { ROUNDS = 3 };

static int rank, *memory;
static pid_t first;
static MPI_Win win;

static MPI_Group group_of(const int *ranks, int count) {
    MPI_Group world, some;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, count, ranks, &some);
    MPI_Group_free(&world);
    return some;
}

/* Returns once rank 1 does nothing any more. */
static void stop(void) {
    char path[64], state = 0;
    CHECK(kill(first, SIGSTOP) == 0);
    snprintf(path, sizeof path, "/proc/%d/stat", (int)first);
    while (state != 'T') {
        FILE *file = fopen(path, "r");
        CHECK(file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1);
        fclose(file);
        usleep(1000);
    }
}

/* Rank 2 stops rank 1 between the operations of rank 0 and the end of its epoch. */
static void rank_2_stops_rank_1(void) {
    if (rank == 0) {
        MPI_Send(NULL, 0, MPI_BYTE, 2, 1, MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_BYTE, 2, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 2) {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        stop();
        MPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    }
}

static void complete(void) {
    MPI_Group targets = group_of((int[]){1, 2}, 2), origin = group_of((int[]){0}, 1);
    int one = 1;
    memory[0] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Win_start(targets, 0, win);
        for (int target = 1; target <= 2; target++)
            MPI_Accumulate(&one, 1, MPI_INT, target, 0, 1, MPI_INT, MPI_SUM, win);
        rank_2_stops_rank_1();
        MPI_Win_complete(win);
    } else {
        MPI_Win_post(origin, 0, win);
        rank_2_stops_rank_1();
        MPI_Win_wait(win);
        CHECK(memory[0] == 1);
        if (rank == 2)
            CHECK(kill(first, SIGCONT) == 0);
    }
    MPI_Group_free(&targets);
    MPI_Group_free(&origin);
}

static void all(void) {
    int one = 1;
    memory[0] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Win_lock_all(0, win);
        for (int target = 1; target <= 2; target++)
            MPI_Accumulate(&one, 1, MPI_INT, target, 0, 1, MPI_INT, MPI_SUM, win);
        MPI_Win_flush_all(win);
        rank_2_stops_rank_1();
        MPI_Win_unlock_all(win);
    } else if (rank == 2) {
        rank_2_stops_rank_1();
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 2, 0, win);
        CHECK(memory[0] == 1);
        MPI_Win_unlock(2, win);
        CHECK(kill(first, SIGCONT) == 0);
    }
}

static void posts(void) {
    MPI_Group targets = group_of((int[]){1, 2}, 2), origin = group_of((int[]){0}, 1);
    if (rank == 0) {
        MPI_Win_start(targets, 0, win);
        MPI_Win_complete(win);
    } else {
        if (rank == 1)
            MPI_Recv(NULL, 0, MPI_BYTE, 2, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Win_post(origin, 0, win);
        MPI_Win_wait(win);
        if (rank == 2)
            MPI_Send(NULL, 0, MPI_BYTE, 1, 3, MPI_COMM_WORLD);
    }
    MPI_Group_free(&targets);
    MPI_Group_free(&origin);
}

/* A lock, an accumulate and an unlock are three requests. */
static void unlock(void) {
    int provided, one = 1;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    MPI_T_pvar_handle served = pvar_handle("window_requests", MPI_T_PVAR_CLASS_COUNTER);
    OK(MPI_T_pvar_start(session, served));
    memory[0] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    unsigned long long before = read_pvar(served);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        MPI_Accumulate(&one, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win);
        MPI_Win_unlock(1, win);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(read_pvar(served) - before == (rank == 1 ? 3 : 0));
    CHECK(memory[0] == (rank == 1));
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
}

int main(int argc, char **argv) {
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 2 && size == 3);
    first = getpid();
    MPI_Bcast(&first, sizeof first, MPI_BYTE, 1, MPI_COMM_WORLD);
    MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    for (int round = 0; round < ROUNDS; round++) {
        if (!strcmp(argv[1], "complete"))
            complete();
        else if (!strcmp(argv[1], "all"))
            all();
        else if (!strcmp(argv[1], "posts"))
            posts();
        else if (round == 0)
            unlock();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_free(&win);
    report("window_closes", rank, size);
    MPI_Finalize();
    return 0;
}
