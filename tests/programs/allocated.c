/* allocated heap|private: memory of MPI_Alloc_mem. From 4 KiB on it is of the node's heap, where
 * there is one; the program is told whether there is. Either way it behaves as memory does. */
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

static int rank, size, of_heap;

/* Whether an address lies in the node's heap, as the kernel says. */
static int is_of_heap(void *address) {
    char line[1024];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps);
    while (fgets(line, sizeof line, maps)) {
        unsigned long first, end;
        if (sscanf(line, "%lx-%lx", &first, &end) == 2 && (unsigned long)address - first < end - first)
            found = strstr(line, "memfd:verbena-heap") != NULL;
    }
    fclose(maps);
    return found;
}

static char *allocate(MPI_Aint bytes, MPI_Info info) {
    char *memory = NULL;
    CHECK(MPI_Alloc_mem(bytes, info, &memory) == MPI_SUCCESS);
    CHECK(memory && (unsigned long)memory % 64 == 0);
    memset(memory, rank + 1, bytes);
    return memory;
}

static void memory_is_allocated_and_freed(void) {
    static const MPI_Aint sizes[] = {0, 1, 4095, 4096, 4097, 70000, 1 << 20, 9 << 20};
    enum { COUNT = sizeof sizes / sizeof *sizes };
    char *blocks[COUNT];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT; i++) {
            blocks[i] = allocate(sizes[i], MPI_INFO_NULL);
            CHECK(is_of_heap(blocks[i]) == (of_heap && sizes[i] >= 4096));
        }
        for (int i = 0; i < COUNT; i++)
            for (MPI_Aint at = 0; at < sizes[i]; at++)
                CHECK(blocks[i][at] == rank + 1);
        for (int i = round % 2; i < COUNT; i += 2)
            CHECK(MPI_Free_mem(blocks[i]) == MPI_SUCCESS);
        for (int i = 1 - round % 2; i < COUNT; i += 2)
            CHECK(MPI_Free_mem(blocks[i]) == MPI_SUCCESS);
    }
    CHECK(MPI_Free_mem(NULL) == MPI_SUCCESS);
}

static void the_alignment_is_kept(void) {
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_minimum_memory_alignment", "65536");
    for (MPI_Aint bytes = 100; bytes <= 1 << 20; bytes *= 100) {
        char *memory = allocate(bytes, info);
        CHECK((unsigned long)memory % 65536 == 0);
        CHECK(MPI_Free_mem(memory) == MPI_SUCCESS);
    }
    MPI_Info_free(&info);
}

static void wrong_calls_are_errors(void) {
    char *memory = NULL;
    CHECK_CLASS(MPI_Alloc_mem(-1, MPI_INFO_NULL, &memory), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Alloc_mem((MPI_Aint)1 << 60, MPI_INFO_NULL, &memory), MPI_ERR_NO_MEM);
    if (!of_heap) /* A wrong address ends the program there, as with free(). */
        return;
    memory = allocate(10000, MPI_INFO_NULL);
    CHECK_CLASS(MPI_Free_mem(memory + 64), MPI_ERR_BASE);
    CHECK(MPI_Free_mem(memory) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Free_mem(memory), MPI_ERR_BASE);
}

/* A child shares the pages, and frees none of them. */
static void a_child_frees_nothing(void) {
    int status;
    char *memory = allocate(10000, MPI_INFO_NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        MPI_Free_mem(memory);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    for (int at = 0; at < 10000; at++)
        CHECK(memory[at] == rank + 1);
    CHECK(MPI_Free_mem(memory) == MPI_SUCCESS);
}

static void messages_are_sent_from_it(void) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (int bytes = 1; bytes <= 1 << 20; bytes *= 16) {
        char *out = allocate(bytes, MPI_INFO_NULL), *in = allocate(bytes, MPI_INFO_NULL);
        MPI_Sendrecv(out, bytes, MPI_CHAR, right, 0, in, bytes, MPI_CHAR, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int at = 0; at < bytes; at++)
            CHECK(in[at] == left + 1);
        MPI_Free_mem(out);
        MPI_Free_mem(in);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 2);
    of_heap = strcmp(argv[1], "heap") == 0;
    memory_is_allocated_and_freed();
    the_alignment_is_kept();
    wrong_calls_are_errors();
    a_child_frees_nothing();
    messages_are_sent_from_it();
    char *last = allocate(10000, MPI_INFO_NULL);
    report("allocated", rank, size);
    MPI_Finalize();
    /* What was not freed stays the program's. */
    for (int at = 0; at < 10000; at++)
        if (last[at] != rank + 1)
            return 1;
    return 0;
}
