/* Many datatypes that take much memory, each of which names elements of rank 0's memory a few
   times. Where messages carry that, rank 0 keeps datatypes for the others, but not more than its
   budget. */
#include "check.h"

enum { KINDS = 12, PARTS = 15000, KEPT_MAX = 64 << 20, SLACK = 64 << 20 };

static int rank, size;

/* Bytes of memory that this process uses. */
static long used(void) {
    long pages = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%ld %ld", &pages, &resident) == 2);
    if (file)
        fclose(file);
    return resident * 4096;
}

/* A datatype of one element after the other, each of a datatype of its own. */
static MPI_Datatype many(int kind) {
    static MPI_Datatype parts[PARTS];
    static MPI_Aint at[PARTS];
    static int ones[PARTS];
    MPI_Datatype all;
    for (int i = 0; i < PARTS; i++) {
        MPI_Type_create_resized(MPI_BYTE, 0, i + 2 + kind, parts + i);
        at[i] = 2 * i;
        ones[i] = 1;
    }
    MPI_Type_create_struct(PARTS, ones, at, parts, &all);
    MPI_Type_commit(&all);
    for (int i = 0; i < PARTS; i++)
        MPI_Type_free(parts + i);
    return all;
}

int main(int argc, char **argv) {
    static char memory[2 * PARTS], data[PARTS];
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    memset(data, 7, sizeof data);
    MPI_Win_create(memory, rank == 0 ? sizeof memory : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    long before = used();
    for (int kind = 0; kind < KINDS; kind++) {
        MPI_Win_fence(0, win);
        if (rank > 0) {
            MPI_Datatype all = many(kind * size + rank);
            for (int i = 0; i < 3; i++)
                MPI_Put(data, PARTS, MPI_BYTE, 0, 0, 1, all, win);
            MPI_Type_free(&all);
        }
        MPI_Win_fence(0, win);
    }
    long grown = used() - before;
    if (rank == 0 && grown > KEPT_MAX + SLACK)
        printf("%ld bytes are kept\n", grown);
    CHECK(rank > 0 || grown < KEPT_MAX + SLACK);
    for (int i = 0; rank == 0 && i < PARTS; i++)
        CHECK(memory[2 * i] == 7 && memory[2 * i + 1] == 0);
    MPI_Win_free(&win);
    MPI_Finalize();
    report("window_budget", rank, size);
    return 0;
}
