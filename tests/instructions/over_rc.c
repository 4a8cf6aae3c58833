/* A ping-pong of 8 bytes over `rc`, for `cargo xtask papers` (paper 1, figure 15): rank 0 runs
   under callgrind and counts its sends, then its receives; rank 1 runs as it is.

   The ranks take turns outside MPI, by words in the file that the first argument names. So nobody
   ever waits within MPI: a receive finds its message there, and no look in vain is counted. Every
   packet is answered, so that credits and freed slots ride on packets, and no ring is ever full.

   The second argument is the way that packets must go: `rings` or `queue`. If they go the other
   way the program fails, since something else was counted then. */
#include <fcntl.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <valgrind/callgrind.h>

/* ROUNDS is a multiple of the rounds after which anything is due: a completion, the general way. */
enum { ROUNDS = 256, WARMING = 64, BYTES = 8, TAG = 7, ARRIVAL_US = 3000, WAYS = 2 };
/* Packets of the channel itself, which go by the queue in both designs. */
enum { OTHERS_MAX = 4 };

static const char *const ways[WAYS] = {"rings", "queue"};
static const char *const counters[WAYS] = {"rc_ring_packets", "rc_queue_packets"};

static atomic_int *words;
static int rank, meetings;
static char out[BYTES], in[BYTES];

static void fail(const char *what) {
    fprintf(stderr, "rank %d: %s\n", rank, what);
    exit(1);
}

/* Both ranks get here before either goes on. */
static void meet(void) {
    atomic_store(&words[rank], ++meetings);
    while (atomic_load(&words[1 - rank]) < meetings) usleep(50);
}

/* The packets that came by each way since the counters were started. */
static MPI_T_pvar_session session;
static MPI_T_pvar_handle handles[WAYS];

static void start_counters(void) {
    int index, values;
    if (MPI_T_pvar_session_create(&session) != MPI_SUCCESS) fail("no session for counters");
    for (int way = 0; way < WAYS; way++)
        if (MPI_T_pvar_get_index(counters[way], MPI_T_PVAR_CLASS_COUNTER, &index) != MPI_SUCCESS ||
            MPI_T_pvar_handle_alloc(session, index, NULL, &handles[way], &values) != MPI_SUCCESS ||
            MPI_T_pvar_start(session, handles[way]) != MPI_SUCCESS)
            fail("no counter of packets by their way");
}

static unsigned long long came_by(int way) {
    unsigned long long packets;
    if (MPI_T_pvar_read(session, handles[way], &packets) != MPI_SUCCESS) fail("a counter cannot be read");
    printf("rank %d: %llu packets came by %s\n", rank, packets, ways[way]);
    return packets;
}

static void check_counters(const char *wanted, unsigned long long messages) {
    for (int way = 0; way < WAYS; way++) {
        unsigned long long least = strcmp(ways[way], wanted) == 0 ? messages : 0, packets = came_by(way);
        if (packets < least || packets > least + OTHERS_MAX) fail("packets went another way than was meant");
    }
}

static void count_if(int counted) {
    if (counted) CALLGRIND_TOGGLE_COLLECT;
}

/* The message has arrived before the other end looks. */
static void send(int counted) {
    count_if(counted);
    MPI_Send(out, BYTES, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD);
    count_if(counted);
    usleep(ARRIVAL_US);
    meet();
}

static void receive(int counted) {
    meet();
    count_if(counted);
    MPI_Recv(in, BYTES, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    count_if(counted);
}

static void rounds(int number, int counts_sends, int counts_receives) {
    for (int round = 0; round < number; round++) {
        if (rank == 0) {
            send(counts_sends);
            receive(counts_receives);
        } else {
            receive(0);
            send(0);
        }
    }
}

/* The same without turns: the connection is made, and both ends take in that rings are there. */
static void warm_up(void) {
    for (int round = 0; round < WARMING; round++) {
        if (rank == 0) MPI_Send(out, BYTES, MPI_BYTE, 1, TAG, MPI_COMM_WORLD);
        MPI_Recv(in, BYTES, MPI_BYTE, 1 - rank, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1) MPI_Send(out, BYTES, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
    }
}

/* Counts under a name, at rank 0. */
static void section(const char *name, int counts_sends, int counts_receives) {
    if (rank == 0) CALLGRIND_ZERO_STATS;
    rounds(ROUNDS, counts_sends && rank == 0, counts_receives && rank == 0);
    if (rank == 0) CALLGRIND_DUMP_STATS_AT(name);
}

/* What switching the counting on and off adds to each round. */
static void nothing(void) {
    if (rank != 0) return;
    CALLGRIND_ZERO_STATS;
    for (int round = 0; round < ROUNDS; round++) {
        count_if(1);
        count_if(1);
    }
    CALLGRIND_DUMP_STATS_AT("nothing");
}

int main(int argc, char **argv) {
    int provided, file = argc == 3 ? open(argv[1], O_RDWR) : -1;
    words = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (words == MAP_FAILED) fail("the arguments must be a file of 4096 bytes and a way of packets");
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    warm_up();
    start_counters();
    meet();
    nothing();
    section("send", 1, 0);
    section("recv", 0, 1);
    check_counters(argv[2], 2 * ROUNDS);
    MPI_Finalize();
    MPI_T_finalize();
    return 0;
}
