/* Reductions of vectors from a kilobyte to some megabytes on one node, checked element by element:
 * odd counts, buffers at odd addresses, MPI_IN_PLACE, one after the other with short and long
 * broadcasts between them, which use the same memory. With "die" the last rank is killed in the
 * middle of them. */
#include "check.h"
#include <stdint.h>
#include <sys/time.h>

static int rank, size;

/* Small whole numbers: all sums are exact in every type. */
static int value(int member, int i, int seed) { return (member * 7 + i * 3 + seed) % 50; }

static int result(int op, int last, int i, int seed) {
    int all = op == 0 ? 0 : value(0, i, seed);
    for (int member = 0; member <= last; member++) {
        int one = value(member, i, seed);
        all = op == 0 ? all + one : op == 1 ? (one > all ? one : all) : one < all ? one : all;
    }
    return all;
}

#define TYPES(DO) DO(double, MPI_DOUBLE) DO(float, MPI_FLOAT) DO(int, MPI_INT) DO(int16_t, MPI_INT16_T)

#define CALLS(type, handle)                                                                                            \
    static type *at_##type(char *memory, int skew) { return (type *)(memory + skew); }                                 \
    static type load_##type(const type *from, int i) {                                                                 \
        type got;                                                                                                      \
        memcpy(&got, (const char *)from + i * sizeof got, sizeof got);                                                 \
        return got;                                                                                                    \
    }                                                                                                                  \
    static void fill_##type(type *to, int n, int seed) {                                                               \
        for (int i = 0; i < n; i++) {                                                                                  \
            type one = (type)value(rank, i, seed);                                                                     \
            memcpy((char *)to + i * sizeof one, &one, sizeof one);                                                     \
        }                                                                                                              \
    }                                                                                                                  \
    static void expect_##type(const type *got, int from, int n, int op, int last, int seed) {                          \
        for (int i = 0; i < n; i++)                                                                                    \
            CHECK(load_##type(got, i) == (type)result(op, last, from + i, seed));                                      \
    }                                                                                                                  \
    static void try_##type(char *memory, char *out, int n, int op, int in_place, int seed) {                           \
        MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_MIN};                                                                    \
        int root = seed % size, counts[64], first = 0;                                                                 \
        type *send = at_##type(memory, seed % 7), *recv = at_##type(out, seed % 5);                                    \
        void *from = in_place ? MPI_IN_PLACE : (void *)send;                                                           \
        fill_##type(in_place ? recv : send, n, seed);                                                                  \
        MPI_Allreduce(from, recv, n, handle, ops[op], MPI_COMM_WORLD);                                                 \
        expect_##type(recv, 0, n, op, size - 1, seed);                                                                 \
        fill_##type(in_place && rank == root ? recv : send, n, seed + 1);                                              \
        MPI_Reduce(in_place && rank == root ? MPI_IN_PLACE : (void *)send, recv, n, handle, ops[op], root,             \
                   MPI_COMM_WORLD);                                                                                    \
        if (rank == root)                                                                                              \
            expect_##type(recv, 0, n, op, size - 1, seed + 1);                                                         \
        fill_##type(in_place ? recv : send, n, seed + 2);                                                              \
        MPI_Scan(from, recv, n, handle, ops[op], MPI_COMM_WORLD);                                                      \
        expect_##type(recv, 0, n, op, rank, seed + 2);                                                                 \
        for (int i = 0; i < size; i++) {                                                                               \
            counts[i] = i == root ? n / 2 : 0;                                                                         \
            counts[i] += (n - n / 2) / size + (i < (n - n / 2) % size);                                                \
            first += i < rank ? counts[i] : 0;                                                                         \
        }                                                                                                              \
        fill_##type(in_place ? recv : send, n, seed + 3);                                                              \
        MPI_Reduce_scatter(from, recv, counts, handle, ops[op], MPI_COMM_WORLD);                                       \
        expect_##type(recv, first, counts[rank], op, size - 1, seed + 3);                                              \
        fill_##type(in_place ? recv : send, n, seed + 4);                                                              \
        MPI_Reduce_scatter_block(from, recv, n / size, handle, ops[op], MPI_COMM_WORLD);                               \
        expect_##type(recv, n / size * rank, n / size, op, size - 1, seed + 4);                                        \
    }

TYPES(CALLS)

/* The root's byte is everywhere. */
static void broadcast(char *memory, int bytes, int seed) {
    int root = seed % size;
    memset(memory, rank == root ? seed % 100 : 101, bytes);
    MPI_Bcast(memory, bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    for (int i = 0; i < bytes; i += 61)
        CHECK(memory[i] == seed % 100);
}

int main(int argc, char **argv) {
    static const int bytes[] = {600, 4096, 4099, 9000, 16384, 65536, 70001, 262144, 600003, 3 << 20};
    char *memory = malloc((3 << 20) + 64), *out = malloc((3 << 20) + 64);
    int dies = argc > 1 && strcmp(argv[1], "die") == 0, seed = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (dies && rank == size - 1) {
        /* The signal kills: nobody handles it. */
        struct itimerval after = {.it_value = {.tv_usec = 30000}};
        setitimer(ITIMER_REAL, &after, NULL);
    }
    do {
        for (unsigned i = 0; i < sizeof bytes / sizeof *bytes; i++) {
            int op = seed % 3, in_place = seed / 12 % 2;
#define TRY(type, handle) try_##type(memory, out, bytes[i] / (int)sizeof(type), op, in_place, seed++);
            TYPES(TRY)
            broadcast(memory, bytes[(i * 3 + 1) % 10], seed);
        }
    } while (seed < 80 || dies);
    report("long_reductions", rank, size);
    MPI_Finalize();
    return 0;
}
