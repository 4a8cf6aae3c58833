/* window_device WAY REQUESTS: puts and gets at the next rank, which is on another node, go WAY once
   the target's memory is known: by the "device" or by "messages". So the performance variables and
   the window's info say. What is put is there after a flush, a fence and a complete, before an
   accumulate that follows, while the target computes, and when REQUESTS puts that are under way
   together have ended: in the second window FEW, if that is less. */
#include "tool.h"
#include <stdint.h>

enum { LONGS = 30000, ROUNDS = 20, FEW = 2000 };

static int rank, size, next, is_by_device;
static int64_t *memory, from[LONGS], back[LONGS];
static MPI_Win win;
static MPI_T_pvar_handle puts_by_device, gets_by_device, failures, failovers;
/* What went by the device up to the last look. */
static unsigned long long put, got;

static MPI_T_pvar_handle started(const char *name) {
    MPI_T_pvar_handle handle = pvar_handle(name, MPI_T_PVAR_CLASS_COUNTER);
    OK(MPI_T_pvar_start(session, handle));
    return handle;
}

static void fill(int64_t *values, int count, int64_t seed) {
    for (int i = 0; i < count; i++)
        values[i] = seed * 1000003 + i;
}

static int is_filled(const int64_t *values, int count, int64_t seed) {
    for (int i = 0; i < count; i++)
        if (values[i] != seed * 1000003 + i)
            return 0;
    return 1;
}

/* Accesses until one goes by the device. The first asks where the target's memory is. Beside
   datagrams the answer may be that there is no connection yet; then the next accesses go by
   messages, and one of them asks again. */
static void meet(void) {
    double start = MPI_Wtime();
    do {
        MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win);
        MPI_Get(back, 1, MPI_INT64_T, next, 0, 1, MPI_INT64_T, win);
        MPI_Win_flush(next, win);
        MPI_Win_unlock(next, win);
        CHECK(MPI_Wtime() < start + 60);
    } while (is_by_device && read_pvar(gets_by_device) == got);
    got = read_pvar(gets_by_device);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void check_hint(void) {
    char value[MPI_MAX_INFO_VAL + 1];
    int length = sizeof value, flag;
    MPI_Info info;
    MPI_Win_get_info(win, &info);
    MPI_Info_get_string(info, "verbena_far_put_get", &length, value, &flag);
    CHECK(flag && !strcmp(value, is_by_device ? "device" : "messages"));
    MPI_Info_free(&info);
}

/* The number of puts or gets that went by the device, of which `known` were known. */
static void check_count(const char *what, unsigned long long *known, unsigned long long now, int expected) {
    unsigned long long went = now - *known;
    *known = now;
    if (went == (unsigned long long)(is_by_device ? expected : 0))
        return;
    fprintf(stderr, "rank %d: %llu %s of %d went by the device; %llu failed there, %llu failovers\n", rank, went, what,
            expected, read_pvar(failures), read_pvar(failovers));
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* What went by the device since the last call, of a rank that puts and gets as often as said. */
static void check_counts(int puts, int gets) {
    check_count("puts", &put, read_pvar(puts_by_device), puts);
    check_count("gets", &got, read_pvar(gets_by_device), gets);
}

static void lengths(void) {
    static const int counts[] = {1, 2, 100, 5000, LONGS};
    for (int i = 0; i < 5; i++) {
        int count = counts[i];
        fill(from, count, rank * 100 + i);
        memset(back, 0, sizeof back);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
        MPI_Put(from, count, MPI_INT64_T, next, LONGS - count, count, MPI_INT64_T, win);
        MPI_Win_flush(next, win);
        MPI_Get(back, count, MPI_INT64_T, next, LONGS - count, count, MPI_INT64_T, win);
        MPI_Win_unlock(next, win);
        CHECK(is_filled(back, count, rank * 100 + i));
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(is_filled(memory + LONGS - count, count, (rank + size - 1) % size * 100 + i));
        MPI_Barrier(MPI_COMM_WORLD);
    }
    check_counts(5, 5);
}

/* Blocks with gaps are several transfers if they are long; short ones are a message. */
static void blocks(void) {
    MPI_Datatype wide, narrow;
    MPI_Type_vector(10, 1000, 2000, MPI_INT64_T, &wide);
    MPI_Type_vector(1000, 1, 3, MPI_INT64_T, &narrow);
    MPI_Type_commit(&wide);
    MPI_Type_commit(&narrow);
    memset(memory, 0, LONGS * sizeof *memory);
    fill(from, 10000, rank);
    MPI_Win_fence(0, win);
    MPI_Put(from, 10000, MPI_INT64_T, next, 0, 1, wide, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 10; i++)
        for (int k = 0; k < 2000 && i * 2000 + k < 19000; k++) {
            int64_t put = ((rank + size - 1) % size) * (int64_t)1000003 + i * 1000 + k;
            CHECK(memory[i * 2000 + k] == (k < 1000 ? put : 0));
        }
    memset(back, 0, sizeof back);
    MPI_Win_fence(0, win);
    MPI_Get(back, 1, wide, next, 0, 1, wide, win);
    MPI_Get(back + 20000, 1000, MPI_INT64_T, next, 0, 1, narrow, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    for (int i = 0; i < 10; i++)
        for (int k = 0; k < 1000; k++)
            CHECK(back[i * 2000 + k] == rank * (int64_t)1000003 + i * 1000 + k);
    CHECK(back[20000] == rank * (int64_t)1000003 && back[20001] == rank * (int64_t)1000003 + 3);
    MPI_Type_free(&wide);
    MPI_Type_free(&narrow);
    check_counts(1, 1);
}

/* Messages carry accumulates; what the device does comes before and after them all the same. */
static void order(void) {
    static int64_t ones[2000], seen[2000];
    for (int i = 0; i < 2000; i++)
        ones[i] = 1;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, next, 0, win);
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Put(ones, 2000, MPI_INT64_T, next, 0, 2000, MPI_INT64_T, win);
        MPI_Accumulate(ones, 2000, MPI_INT64_T, next, 0, 2000, MPI_INT64_T, MPI_SUM, win);
        MPI_Get(seen, 2000, MPI_INT64_T, next, 0, 2000, MPI_INT64_T, win);
        MPI_Win_flush(next, win);
        for (int i = 0; i < 2000; i++)
            CHECK(seen[i] == 2);
    }
    MPI_Win_unlock(next, win);
    MPI_Barrier(MPI_COMM_WORLD);
    /* Each get went behind an accumulate, as a message. */
    check_counts(ROUNDS, 0);
}

static void groups(void) {
    MPI_Group all, to, at;
    int previous = (rank + size - 1) % size;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &next, &to);
    MPI_Group_incl(all, 1, &previous, &at);
    for (int round = 0; round < ROUNDS; round++) {
        fill(from, 1000, rank + round);
        MPI_Win_post(at, 0, win);
        MPI_Win_start(to, 0, win);
        MPI_Put(from, 1000, MPI_INT64_T, next, 0, 1000, MPI_INT64_T, win);
        MPI_Win_complete(win);
        MPI_Win_wait(win);
        CHECK(is_filled(memory, 1000, previous + round));
    }
    MPI_Group_free(&all);
    MPI_Group_free(&to);
    MPI_Group_free(&at);
    MPI_Barrier(MPI_COMM_WORLD);
    check_counts(ROUNDS, 0);
}

/* A target that computes takes no part in what the device does. */
static void passive(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    if (rank % 2 == 0) {
        MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
        for (int round = 0; round < ROUNDS; round++) {
            fill(from, 1000, round);
            MPI_Put(from, 1000, MPI_INT64_T, next, 0, 1000, MPI_INT64_T, win);
            MPI_Win_flush(next, win);
            MPI_Get(back, 1000, MPI_INT64_T, next, 0, 1000, MPI_INT64_T, win);
            MPI_Win_flush(next, win);
            CHECK(is_filled(back, 1000, round));
        }
        MPI_Win_unlock_all(win);
        if (rank == 0)
            printf("passive_ms %d\n", (int)((MPI_Wtime() - start) * 1000));
    } else {
        while (MPI_Wtime() < start + 3)
            continue;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int rounds = rank % 2 == 0 ? ROUNDS : 0;
    check_counts(rounds, rounds);
}

static void requests(int request_count) {
    MPI_Request *all = malloc((size_t)request_count * sizeof *all);
    fill(from, LONGS, rank);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < request_count; i++)
        MPI_Rput(from + i % LONGS, 1, MPI_INT64_T, next, i % LONGS, 1, MPI_INT64_T, win, &all[i]);
    MPI_Waitall(request_count, all, MPI_STATUSES_IGNORE);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(is_filled(memory, request_count < LONGS ? request_count : LONGS, (rank + size - 1) % size));
    free(all);
    check_counts(request_count, 0);
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 3 && size > 1);
    is_by_device = strcmp(argv[1], "messages") != 0;
    int request_count = atoi(argv[2]);
    next = (rank + 1) % size;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    puts_by_device = started("window_puts_device");
    gets_by_device = started("window_gets_device");
    failures = started("window_device_failures");
    failovers = started("failovers");
    MPI_T_pvar_handle served = started("window_requests");

    for (int is_created = 0; is_created < 2; is_created++) {
        MPI_Aint bytes = LONGS * sizeof *memory;
        if (is_created) {
            memory = calloc(LONGS, sizeof *memory);
            MPI_Win_create(memory, bytes, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
        } else {
            MPI_Win_allocate(bytes, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
        }
        check_hint();
        meet();
        lengths();
        blocks();
        order();
        groups();
        passive();
        requests(is_created && request_count > FEW ? FEW : request_count);
        MPI_Win_free(&win);
        if (is_created)
            free(memory);
    }
    if (rank == 0) {
        printf("puts_by_device %llu\n", read_pvar(puts_by_device));
        printf("gets_by_device %llu\n", read_pvar(gets_by_device));
        printf("requests_served %llu\n", read_pvar(served));
    }
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    report("window_device", rank, size);
    MPI_Finalize();
    return 0;
}
