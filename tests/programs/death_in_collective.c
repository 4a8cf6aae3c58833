/* death_in_collective WAY BYTES SEED [revoke]: the last rank dies at some time in a long row of the
 * same collective, or one of its threads revokes the communicator. Every survivor gets the right
 * result of each call that succeeds, until a call gives MPIX_ERR_PROC_FAILED or MPIX_ERR_REVOKED;
 * from then on nobody touches its memory. WAY is allreduce, reduce_scatter, scan, exscan,
 * allgather, alltoall or bcast. */
#include "check.h"
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

static int rank, size;
static long count; /* of a block, in words */
static unsigned *from, *to;

static void die(int signal) {
    (void)signal;
    kill(getpid(), SIGKILL);
}

static void *revoke_later(void *delay_us) {
    usleep(*(useconds_t *)delay_us);
    CHECK(MPIX_Comm_revoke(MPI_COMM_WORLD) == MPI_SUCCESS);
    return NULL;
}

/* The word that a rank gives in a round, for the rank `to` where that matters. */
static unsigned word(int round, int of, int to, long i) {
    return (unsigned)round * 7919u + (unsigned)of * 104729u + (unsigned)to * 31u + (unsigned)i;
}

/* The sum of what the ranks before `end` give. */
static unsigned sum(int round, int end, long i) {
    unsigned all = 0;
    for (int of = 0; of < end; of++)
        all += word(round, of, 0, i);
    return all;
}

enum { ALLREDUCE, REDUCE_SCATTER, SCAN, EXSCAN, ALLGATHER, ALLTOALL, BCAST };

static int is_of(const char *name, const char *way) {
    return !strcmp(name, way);
}

static int call(int way, int round, long words) {
    for (long i = 0; i < words; i++) {
        from[i] = way == ALLTOALL ? word(round, rank, i / count, i % count) : word(round, rank, 0, i);
        to[i] = 0xdeadbeef;
    }
    switch (way) {
    case ALLREDUCE:
        return MPI_Allreduce(from, to, count, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD);
    case REDUCE_SCATTER:
        return MPI_Reduce_scatter_block(from, to, count / size, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD);
    case SCAN:
        return MPI_Scan(from, to, count, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD);
    case EXSCAN:
        return MPI_Exscan(from, to, count, MPI_UNSIGNED, MPI_SUM, MPI_COMM_WORLD);
    case ALLGATHER:
        return MPI_Allgather(from, count, MPI_UNSIGNED, to, count, MPI_UNSIGNED, MPI_COMM_WORLD);
    case ALLTOALL:
        return MPI_Alltoall(from, count, MPI_UNSIGNED, to, count, MPI_UNSIGNED, MPI_COMM_WORLD);
    default:
        memcpy(to, from, count * sizeof *to);
        return MPI_Bcast(to, count, MPI_UNSIGNED, round % size, MPI_COMM_WORLD);
    }
}

static int is_right(int way, int round, long i) {
    switch (way) {
    case ALLREDUCE:
        return to[i] == sum(round, size, i);
    case REDUCE_SCATTER:
        return i >= count / size || to[i] == sum(round, size, rank * (count / size) + i);
    case SCAN:
        return to[i] == sum(round, rank + 1, i);
    case EXSCAN:
        return rank == 0 || to[i] == sum(round, rank, i);
    case ALLGATHER:
        return to[i] == word(round, i / count, 0, i % count);
    case ALLTOALL:
        return to[i] == word(round, i / count, rank, i % count);
    default:
        return to[i] == word(round, round % size, 0, i);
    }
}

int main(int argc, char **argv) {
    CHECK(argc > 3);
    const char *name = argv[1];
    int way = is_of(name, "allreduce")        ? ALLREDUCE
              : is_of(name, "reduce_scatter") ? REDUCE_SCATTER
              : is_of(name, "scan")           ? SCAN
              : is_of(name, "exscan")         ? EXSCAN
              : is_of(name, "allgather")      ? ALLGATHER
              : is_of(name, "alltoall")       ? ALLTOALL
                                              : BCAST;
    int code = MPI_SUCCESS, round, provided, revokes = argc > 4;
    useconds_t delay_us = 1000 + atoi(argv[3]) * 7901 % 30000;
    pthread_t thread;
    MPI_Comm left;
    MPI_Init_thread(&argc, &argv, revokes ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    CHECK(!revokes || provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    count = atol(argv[2]) / 4;
    long words = way == ALLGATHER || way == ALLTOALL ? count * size : count;
    from = malloc(words * 4), to = malloc(words * 4);
    for (int i = 0; i < 6; i++)
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    if (rank == size - 1 && revokes) {
        CHECK(pthread_create(&thread, NULL, revoke_later, &delay_us) == 0);
    } else if (rank == size - 1) {
        struct itimerval time = {{0, 0}, {0, delay_us}};
        signal(SIGALRM, die);
        setitimer(ITIMER_REAL, &time, NULL);
    }
    for (round = 0; code == MPI_SUCCESS; round++) {
        code = call(way, round, words);
        for (long i = 0; i < words && code == MPI_SUCCESS; i++)
            if (!is_right(way, round, i)) {
                fprintf(stderr, "death_in_collective: rank %d, round %d: word %ld is wrong\n", rank, round, i);
                MPI_Abort(MPI_COMM_WORLD, 5);
            }
    }
    if (class_of(code) != (revokes ? MPIX_ERR_REVOKED : MPIX_ERR_PROC_FAILED)) {
        fprintf(stderr, "death_in_collective: rank %d, round %d: class %d\n", rank, round, class_of(code));
        MPI_Abort(MPI_COMM_WORLD, 6);
    }
    memset(to, 0x5a, words * 4);
    memset(from, 0x5a, words * 4);
    usleep(2000);
    for (long i = 0; i < words; i++)
        CHECK(to[i] == 0x5a5a5a5a && from[i] == 0x5a5a5a5a);
    if (rank == size - 1)
        CHECK(pthread_join(thread, NULL) == 0);
    CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &left) == MPI_SUCCESS);
    int one = 1, all = 0;
    CHECK(MPI_Allreduce(&one, &all, 1, MPI_INT, MPI_SUM, left) == MPI_SUCCESS);
    CHECK(all == (revokes ? size : size - 1));
    for (long i = 0; i < words; i++)
        CHECK(to[i] == 0x5a5a5a5a && from[i] == 0x5a5a5a5a);
    MPI_Comm_free(&left);
    report("death_in_collective", rank, size);
    MPI_Finalize();
    return 0;
}
