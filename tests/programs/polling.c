/* Looks at the channels while rank 0 waits: rank 1 is on its node, rank 2 beyond the network. Rank
 * 2 sends a burst, then rank 1 one with pauses, in which rank 0 does nothing but wait. It tells how
 * often it looked at shared memory and at the network meanwhile.
 *
 * Arguments: the channel of the network; messages of the first burst, and of the second; "any" to
 * receive from any source. */
#include "tool.h"

static char word[8];

static void nap_until_called(void) {
    int there = 0;
    while (!there) {
        MPI_Iprobe(0, 2, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        usleep(1000);
    }
    MPI_Recv(word, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Messages from a rank to rank 0, each answered. */
static void burst(int rank, int peer, int messages, int pause_us, int any) {
    for (int message = 0; message < messages; message++) {
        if (rank == peer) {
            usleep((useconds_t)pause_us);
            memset(word, message, sizeof word);
            MPI_Send(word, sizeof word, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
            MPI_Recv(word, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 0) {
            MPI_Recv(word, sizeof word, MPI_BYTE, any ? MPI_ANY_SOURCE : peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(word[0] == (char)message && word[7] == (char)message);
            MPI_Send(word, 0, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
        }
    }
}

static MPI_T_pvar_handle counter(const char *channel, const char *name, int class) {
    char whole[64];
    snprintf(whole, sizeof whole, "%s%s", channel, name);
    MPI_T_pvar_handle handle = pvar_handle(whole, class);
    if (class == MPI_T_PVAR_CLASS_COUNTER)
        OK(MPI_T_pvar_start(session, handle));
    return handle;
}

int main(int argc, char **argv) {
    int rank, size, provided;
    CHECK(argc >= 4);
    const char *network = argv[1];
    int first = atoi(argv[2]), second = atoi(argv[3]), any = argc > 4 && !strcmp(argv[4], "any");
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size == 3);
    OK(MPI_T_pvar_session_create(&session));
    burst(rank, 1, 1, 0, 0);
    burst(rank, 2, first, 0, any);
    /* A receive from any source must not take what is meant for the next burst. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_T_pvar_handle near = counter("shm", "_looks", MPI_T_PVAR_CLASS_COUNTER);
        MPI_T_pvar_handle far = counter(network, "_looks", MPI_T_PVAR_CLASS_COUNTER);
        MPI_T_pvar_handle updates = counter("", "polling_updates", MPI_T_PVAR_CLASS_COUNTER);
        MPI_T_pvar_handle calculations = counter("", "polling_calculations", MPI_T_PVAR_CLASS_COUNTER);
        MPI_T_pvar_handle near_ns = counter("shm", "_look_ns", MPI_T_PVAR_CLASS_LEVEL);
        MPI_T_pvar_handle far_ns = counter(network, "_look_ns", MPI_T_PVAR_CLASS_LEVEL);
        burst(rank, 1, second, 300, any);
        printf("near %llu\nfar %llu\nupdates %llu\ncalculations %llu\nnear_ns %llu\nfar_ns %llu\n", read_pvar(near),
               read_pvar(far), read_pvar(updates), read_pvar(calculations), read_pvar(near_ns), read_pvar(far_ns));
        MPI_Send(word, 0, MPI_BYTE, 2, 2, MPI_COMM_WORLD);
    } else {
        burst(rank, 1, second, 300, any);
        if (rank == 2)
            nap_until_called();
    }
    OK(MPI_T_pvar_session_free(&session));
    MPI_Finalize();
    OK(MPI_T_finalize());
    return 0;
}
