/* window_rails SECONDS: neighbours put into and get from each other's windows for so long, while
   devices may fail. Every byte is checked. Rank 0 says when that is under way, and at the end how
   often a channel took another one's place, and how many operations went again by messages. */
#include "tool.h"
#include <stdint.h>

enum { SLOTS = 40, SLOT = 5000 };

static int64_t value_of(long round, int sender, int slot, int at) {
    return round * 1000003 + sender * 10007 + slot * 101 + at;
}

int main(int argc, char **argv) {
    int rank, size, provided, go_on = 1;
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    int64_t *memory, *out = malloc(sizeof *out * SLOTS * SLOT), *in = malloc(sizeof *in * SLOTS * SLOT);
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    MPI_T_pvar_handle failovers = pvar_handle("failovers", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle again = pvar_handle("window_device_failures", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle puts = pvar_handle("window_puts_device", MPI_T_PVAR_CLASS_COUNTER);
    OK(MPI_T_pvar_start(session, failovers));
    OK(MPI_T_pvar_start(session, again));
    OK(MPI_T_pvar_start(session, puts));
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    MPI_Win_allocate(sizeof *memory * SLOTS * SLOT, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    double start = MPI_Wtime();
    for (long round = 0; go_on; round++) {
        for (int slot = 0; slot < SLOTS; slot++)
            for (int at = 0; at < SLOT; at++)
                out[slot * SLOT + at] = value_of(round, rank, slot, at);
        MPI_Win_fence(0, win);
        for (int slot = 0; slot < SLOTS; slot++)
            MPI_Put(out + slot * SLOT, SLOT, MPI_INT64_T, next, slot * SLOT, SLOT, MPI_INT64_T, win);
        MPI_Win_fence(0, win);
        for (int slot = 0; slot < SLOTS; slot++)
            for (int at = 0; at < SLOT; at++)
                CHECK(memory[slot * SLOT + at] == value_of(round, previous, slot, at));
        memset(in, 0, sizeof *in * SLOTS * SLOT);
        for (int slot = 0; slot < SLOTS; slot++)
            MPI_Get(in + slot * SLOT, SLOT, MPI_INT64_T, next, slot * SLOT, SLOT, MPI_INT64_T, win);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        CHECK(!memcmp(in, out, sizeof *in * SLOTS * SLOT));
        if (round == 3 && rank == 0) {
            printf("under way\n");
            fflush(stdout);
        }
        go_on = MPI_Wtime() < start + seconds;
        MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    MPI_Win_free(&win);
    unsigned long long own[3] = {read_pvar(puts), read_pvar(again), read_pvar(failovers)}, all[3];
    MPI_Reduce(own, all, 3, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("window_rails: ok with %d ranks, %llu puts by device, %llu again, %llu failovers\n", size, all[0],
               all[1], all[2]);
    free(out);
    free(in);
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    MPI_Finalize();
    return 0;
}
