/* A rank that stores beside its own memory of a window. WAY: behind, before; of KIND: allocate,
   apart (MPI_Win_allocate_shared with pieces), alloc (MPI_Alloc_mem). */
#include "check.h"

enum { BYTES = 1 << 16 };

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "", *kind = argc > 2 ? argv[2] : "";
    volatile char *memory = NULL;
    int rank;
    MPI_Win win;
    MPI_Info info;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", "true");
    if (strcmp(kind, "allocate") == 0)
        MPI_Win_allocate(BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    if (strcmp(kind, "apart") == 0)
        MPI_Win_allocate_shared(BYTES, 1, info, MPI_COMM_WORLD, &memory, &win);
    if (strcmp(kind, "alloc") == 0)
        MPI_Alloc_mem(BYTES, MPI_INFO_NULL, &memory);
    CHECK(memory != NULL);
    memory[0] = memory[BYTES - 1] = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        memory[strcmp(way, "behind") == 0 ? BYTES : -1] = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    fprintf(stderr, "rank %d: nothing was noticed\n", rank);
    MPI_Finalize();
    return 0;
}
