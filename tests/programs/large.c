/* Long messages, from and to memory that is freed and allocated anew between them: a
 * registration of the old memory would carry old bytes. Whatever way they go (VERBENA_LARGE),
 * they arrive. The argument names the channel whose counters are printed: rc, unless given. */
#include "tool.h"

enum { ROUNDS = 3, STRIDE = 5, USED = 3 };

static const int sizes[] = {20000, 32768, 65537, 262144, 1048579};

static unsigned char byte_of(int size, int round, int rank, int at) {
    return (unsigned char)(size * 31 + round * 17 + rank * 7 + at + at / 251);
}

static unsigned char *filled(int size, int round, int rank) {
    unsigned char *bytes = malloc(size);
    for (int i = 0; i < size; i++)
        bytes[i] = byte_of(size, round, rank, i);
    return bytes;
}

static void check_bytes(const unsigned char *bytes, int size, int round, int rank) {
    for (int i = 0; i < size; i++)
        CHECK(bytes[i] == byte_of(size, round, rank, i));
}

/* Both at once, each from memory of its own. */
static void exchange(int size, int round, int rank, int peer) {
    unsigned char *out = filled(size, round, rank), *in = calloc(size, 1);
    MPI_Status status;
    int count;
    CHECK(MPI_Sendrecv(out, size, MPI_BYTE, peer, 1, in, size, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK(count == size);
    check_bytes(in, size, round, peer);
    free(out);
    free(in);
}

/* One way, the receiver late in every other round. */
static void one_way(int size, int round, int rank, int peer) {
    if (rank < peer) {
        unsigned char *out = filled(size, round, rank);
        CHECK(MPI_Ssend(out, size, MPI_BYTE, peer, 2, MPI_COMM_WORLD) == MPI_SUCCESS);
        free(out);
        return;
    }
    unsigned char *in = calloc(size, 1);
    if (round % 2)
        usleep(2000);
    CHECK(MPI_Recv(in, size, MPI_BYTE, peer, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    check_bytes(in, size, round, peer);
    free(in);
}

/* Some bytes of every few, packed on the way; the receiver has them side by side. */
static void scattered(int size, int round, int rank, int peer) {
    int blocks = size / STRIDE;
    if (rank < peer) {
        MPI_Datatype some;
        unsigned char *out = filled(size, round, rank);
        MPI_Type_vector(blocks, USED, STRIDE, MPI_BYTE, &some);
        MPI_Type_commit(&some);
        CHECK(MPI_Send(out, 1, some, peer, 3, MPI_COMM_WORLD) == MPI_SUCCESS);
        MPI_Type_free(&some);
        free(out);
        return;
    }
    unsigned char *in = calloc(blocks, USED);
    CHECK(MPI_Recv(in, blocks * USED, MPI_BYTE, peer, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    for (int i = 0; i < blocks * USED; i++)
        CHECK(in[i] == byte_of(size, round, peer, i / USED * STRIDE + i % USED));
    free(in);
}

/* The same memory again and again: after the first time it is registered. */
static void again(int rank, int peer) {
    static unsigned char bytes[200000];
    for (int round = 0; round < 10; round++) {
        if (rank < peer) {
            memset(bytes, round + 1, sizeof bytes);
            CHECK(MPI_Ssend(bytes, sizeof bytes, MPI_BYTE, peer, 4, MPI_COMM_WORLD) == MPI_SUCCESS);
        } else {
            CHECK(MPI_Recv(bytes, sizeof bytes, MPI_BYTE, peer, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
            CHECK(bytes[0] == round + 1 && bytes[sizeof bytes - 1] == round + 1);
        }
    }
}

/* Those that begin with _ are of a channel; one that the channel does not have is not printed. */
static const char *ends[] = {"_read_bytes", "_written_bytes", "_registration_hits", "_registration_misses",
                             "_registrations_invalidated", "_registrations_refused", "_full",
                             "rendezvous_striped"};
enum { NAMES = sizeof ends / sizeof *ends };

int main(int argc, char **argv) {
    MPI_T_pvar_handle counters[NAMES];
    char names[NAMES][64];
    const char *channel = argc > 1 ? argv[1] : "rc";
    int provided, rank, size;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    MPI_Init(&argc, &argv);
    OK(MPI_T_pvar_session_create(&session));
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < NAMES; i++) {
        snprintf(names[i], sizeof names[i], "%s%s", *ends[i] == '_' ? channel : "", ends[i]);
        int class = MPI_T_PVAR_CLASS_COUNTER + (i < 2), index;
        counters[i] = MPI_T_PVAR_HANDLE_NULL;
        if (*ends[i] == '_' && MPI_T_pvar_get_index(names[i], class, &index) == MPI_T_ERR_INVALID_NAME)
            continue;
        counters[i] = pvar_handle(names[i], class);
        OK(MPI_T_pvar_start(session, counters[i]));
    }
    /* Ranks in pairs, half the job apart, so that on two nodes each pair is on both. */
    int half = size / 2, peer = rank < half ? rank + half : rank - half;
    for (int i = 0; rank < 2 * half && i < (int)(sizeof sizes / sizeof *sizes); i++)
        for (int round = 0; round < ROUNDS; round++) {
            exchange(sizes[i], round, rank, peer);
            one_way(sizes[i], round, rank, peer);
            scattered(sizes[i], round, rank, peer);
        }
    if (rank < 2 * half)
        again(rank, peer);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; rank == half && i < NAMES; i++) {
        unsigned long long value;
        if (counters[i] == MPI_T_PVAR_HANDLE_NULL)
            continue;
        OK(MPI_T_pvar_read(session, counters[i], &value));
        printf("%s %llu\n", names[i], value);
    }
    report("large", rank, size);
    OK(MPI_T_pvar_session_free(&session));
    MPI_Finalize();
    OK(MPI_T_finalize());
    return 0;
}
