/* scribble SEED: rank 1 writes over every word in use of the memory that the ranks of a node
 * share, as a wild pointer might. Any end but a hang is fine. */
#include "check.h"
#include <stdint.h>

static uint64_t state;

static uint64_t next(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state ^ state >> 29;
}

/* Words of these pages that are not zero, but those that the seed spares. */
static void scribble(uint64_t *at, uint64_t *end) {
    for (; at < end; at++)
        if (*(volatile uint64_t *)at != 0 && next() % 16 != 0)
            *(volatile uint64_t *)at = next();
}

static int scribble_all(void) {
    char line[4096];
    unsigned long start, end;
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps != NULL);
    while (fgets(line, sizeof line, maps))
        if (strstr(line, "memfd:verbena") && sscanf(line, "%lx-%lx", &start, &end) == 2) {
            if (end - start > 8 << 20)
                end = start + (8 << 20);
            scribble((uint64_t *)start, (uint64_t *)end);
            found++;
        }
    fclose(maps);
    return found;
}

static void talk(int rank, int size, int rounds) {
    static char out[5000], in[5000];
    int sum;
    for (int round = 0; round < rounds; round++) {
        int length = round % 7 * 800;
        MPI_Sendrecv(out, length, MPI_CHAR, (rank + 1) % size, 1, in, length, MPI_CHAR, (rank + size - 1) % size, 1,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    state = strtoull(argv[1], NULL, 10);
    talk(rank, size, 500);
    if (rank == 1)
        CHECK(scribble_all() > 0);
    talk(rank, size, 5000);
    MPI_Finalize();
    return 0;
}
