/* Rank 1 dies by SIGKILL in the middle of something, and the others wait for it, or operate on its
   memory. WAY says in what; see `ways`. The window is made by MPI_Win_create if KIND is "create",
   else by MPI_Win_allocate. No rank ever gets to the end. */
#include "check.h"
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

enum { VICTIM = 1, ROOM = 1 << 20 };

struct pair {
    double value;
    int index;
};

static int rank, size;
static char *memory, *mine;
static MPI_Win win;

static void die(int signal) {
    (void)signal;
    kill(getpid(), SIGKILL);
}

/* The victim dies after some tenths of a second, whatever it does then. */
static void doom(void) {
    struct itimerval timer = {{0, 0}, {0, 100000 + getpid() % 97 * 1000}};
    if (rank == VICTIM) {
        signal(SIGALRM, die);
        CHECK(setitimer(ITIMER_REAL, &timer, NULL) == 0);
    }
}

static void compute(void) {
    for (volatile int on = 1; on;)
        continue;
}

/* The victim holds the lock of rank 0. */
static void held(int held, int wanted) {
    if (rank == VICTIM)
        MPI_Win_lock(held, 0, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    doom();
    if (rank == VICTIM)
        compute();
    MPI_Win_lock(wanted, 0, 0, win);
    CHECK(!"a dead rank gave its lock back");
}

static void holds_alone(void) {
    held(MPI_LOCK_EXCLUSIVE, MPI_LOCK_SHARED);
}

static void holds_with_others(void) {
    held(MPI_LOCK_SHARED, MPI_LOCK_EXCLUSIVE);
}

/* The victim waits for a lock, others behind it, and its holder does not give it back before. */
static void queues(void) {
    if (rank == 0)
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Barrier(MPI_COMM_WORLD);
    doom();
    if (rank > VICTIM)
        usleep(20000);
    if (rank > 0)
        MPI_Win_lock(rank % 2 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0, 0, win);
    /* The holder is inside MPI, where it serves those who ask by messages. */
    for (int flag, i = 0; i < 1000; i++, usleep(1000))
        MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Win_unlock(0, win);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    CHECK(!"nobody waits in front of the others any more");
}

/* Everybody gives and takes one lock all the time: the victim dies at any point of that. */
static void contends(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    doom();
    for (;;) {
        MPI_Win_lock(rank % 2 ? MPI_LOCK_EXCLUSIVE : MPI_LOCK_SHARED, 0, 0, win);
        MPI_Win_unlock(0, win);
    }
}

/* Puts, gets and accumulates at a target, short and long, flushed now and then. */
static void operate_at(int target) {
    static char got[ROOM];
    static struct pair pairs[4096];
    MPI_Win_lock_all(0, win);
    for (int i = 0;; i++) {
        MPI_Put(mine, i % 5 ? 8 : ROOM, MPI_BYTE, target, 0, i % 5 ? 8 : ROOM, MPI_BYTE, win);
        MPI_Get(got, i % 7 ? 8 : ROOM, MPI_BYTE, target, 0, i % 7 ? 8 : ROOM, MPI_BYTE, win);
        MPI_Accumulate(pairs, 4096, MPI_DOUBLE_INT, target, 0, 4096, MPI_DOUBLE_INT, MPI_MAXLOC, win);
        if (i % 3 == 0)
            MPI_Win_flush(target, win);
    }
}

/* The victim is the target of all, and waits inside MPI. */
static void serves(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    doom();
    if (rank != VICTIM)
        operate_at(VICTIM);
    MPI_Recv(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The victim is the target of all, and calls nothing: a thread of the library may serve. */
static void computes(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    doom();
    if (rank != VICTIM)
        operate_at(VICTIM);
    compute();
}

/* Nobody dies by itself. */
static void lives(void) {
    operate_at((rank + 1) % size);
}

/* The victim changes elements that no processor changes at once: mostly it holds stripes. */
static void changes(void) {
    static struct pair pairs[4096];
    MPI_Barrier(MPI_COMM_WORLD);
    doom();
    MPI_Win_lock_all(0, win);
    for (;;) {
        MPI_Accumulate(pairs, 4096, MPI_DOUBLE_INT, 0, 0, 4096, MPI_DOUBLE_INT, MPI_MINLOC, win);
        MPI_Win_flush(0, win);
    }
}

/* The others wait in a fence, for a post, for a complete, in MPI_Win_free. */
static void does_not_fence(void) {
    MPI_Win_fence(0, win);
    doom();
    if (rank == VICTIM)
        compute();
    MPI_Put(mine, ROOM, MPI_BYTE, VICTIM, 0, ROOM, MPI_BYTE, win);
    MPI_Win_fence(0, win);
    CHECK(!"a dead rank came to the fence");
}

static void meets(int is_target) {
    MPI_Group world, victim;
    int number = VICTIM;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &number, &victim);
    MPI_Barrier(MPI_COMM_WORLD);
    doom();
    if (rank == VICTIM)
        compute();
    if (is_target) {
        MPI_Win_start(victim, 0, win);
        MPI_Put(mine, 8, MPI_BYTE, VICTIM, 0, 8, MPI_BYTE, win);
        MPI_Win_complete(win);
    } else {
        MPI_Win_post(victim, 0, win);
        MPI_Win_wait(win);
    }
    CHECK(!"a dead rank posted or completed");
}

static void does_not_post(void) {
    meets(1);
}

static void does_not_complete(void) {
    meets(0);
}

static void does_not_free(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    doom();
    if (rank == VICTIM)
        compute();
    MPI_Win_free(&win);
    CHECK(!"a dead rank freed its window");
}

static const struct {
    const char *name;
    void (*act)(void);
} ways[] = {{"alone", holds_alone},       {"shared", holds_with_others}, {"queue", queues},
            {"contend", contends},        {"serve", serves},             {"compute", computes},
            {"change", changes},          {"fence", does_not_fence},     {"post", does_not_post},
            {"complete", does_not_complete}, {"free", does_not_free},    {"never", lives}};

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "", *kind = argc > 2 ? argv[2] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size > VICTIM);
    mine = calloc(1, ROOM);
    if (strcmp(kind, "create") == 0)
        MPI_Win_create(calloc(1, ROOM), ROOM, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    else
        MPI_Win_allocate(ROOM, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(ways[i].name, way) == 0)
            ways[i].act();
    CHECK(!"this way ends");
    return 0;
}
