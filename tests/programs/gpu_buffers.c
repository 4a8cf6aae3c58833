/* Buffers in the memory of a GPU: `gpu_buffers DRIVER early|late|fatal`. DRIVER is a library in the
 * place of a real one, loaded before or after MPI_Init. */
#include "check.h"
#include <dlfcn.h>

enum { BYTES = 1 << 21 };

static char *device, *managed;

static void load(const char *driver) {
    void *library = dlopen(driver, RTLD_NOW);
    CHECK(library);
    void *(*memory)(void);
    *(void **)&memory = dlsym(library, "fake_memory");
    CHECK(memory);
    device = memory();
    managed = device + BYTES;
}

static void is_told(int code, const char *argument) {
    char text[MPI_MAX_ERROR_STRING];
    int length;
    CHECK(class_of(code) == MPI_ERR_BUFFER);
    CHECK(MPI_Error_string(code, text, &length) == MPI_SUCCESS);
    CHECK(strstr(text, "a buffer lies in the memory of a GPU") && strstr(text, argument));
    CHECK(strstr(text, "says the driver of CUDA") && strstr(text, "what to do: copy the data"));
}

/* Each call with such a buffer fails, and those after it go on. */
static void are_refused(int rank, int size) {
    int next = (rank + 1) % size, value = 7;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Win window;
    MPI_File file;
    for (int count = 1; count <= 1 << 20; count <<= 10)
        is_told(MPI_Send(device, count, MPI_CHAR, next, 0, MPI_COMM_WORLD), "buf=0x");
    is_told(MPI_Send(device + BYTES - 1, 1, MPI_CHAR, next, 0, MPI_COMM_WORLD), "buf=0x");
    is_told(MPI_Isend(device, 8, MPI_CHAR, next, 0, MPI_COMM_WORLD, &request), "buf=0x");
    is_told(MPI_Recv(device, 8, MPI_CHAR, next, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "buf=0x");
    is_told(MPI_Sendrecv(&value, 1, MPI_INT, next, 0, device, 1, MPI_INT, next, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE), "recvbuf=0x");
    is_told(MPI_Bcast(device, 8, MPI_CHAR, 0, MPI_COMM_WORLD), "buffer=0x");
    is_told(MPI_Allreduce(&value, device, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD), "recvbuf=0x");
    is_told(MPI_Iallgather(device, 1, MPI_INT, managed, 1, MPI_INT, MPI_COMM_WORLD, &request), "sendbuf=0x");
    is_told(MPI_Win_create(device, 64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window), "base=0x");
    CHECK(MPI_Win_create(managed, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window) == MPI_SUCCESS);
    CHECK(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS);
    is_told(MPI_Put(device, 8, MPI_CHAR, next, 0, 8, MPI_CHAR, window), "origin_addr=0x");
    CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS && MPI_Win_free(&window) == MPI_SUCCESS);
    CHECK(MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_WRONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    is_told(MPI_File_write_at(file, 0, device, 8, MPI_CHAR, MPI_STATUS_IGNORE), "buf=0x");
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

/* Memory that a processor can read, and buffers of no bytes, are as any others. */
static void are_taken(int rank, int size) {
    int next = (rank + 1) % size, before = (rank + size - 1) % size, sum = 0;
    memset(managed, 'a' + rank, 1 << 20);
    for (int count = 1; count <= 1 << 20; count <<= 10) {
        static char got[1 << 20];
        MPI_Request request;
        CHECK(MPI_Irecv(got, count, MPI_CHAR, before, 0, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
        CHECK(MPI_Send(managed, count, MPI_CHAR, next, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(got[0] == 'a' + before && got[count - 1] == 'a' + before);
    }
    CHECK(MPI_Sendrecv(device, 0, MPI_CHAR, next, 0, device, 0, MPI_CHAR, before, 0, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(sum == size * (size - 1) / 2);
    CHECK(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD) == MPI_SUCCESS);
}

/* Buffers that the call neither reads nor writes may lie anywhere. */
static void are_untouched(int rank, int size) {
    int next = (rank + 1) % size, root = 0, value = rank, others[64] = {0}, zeros[64] = {0}, got[64];
    int counts[64] = {1};
    void *here = rank == root ? (void *)got : device;
    MPI_Request request;
    MPI_Status status;
    MPI_Message message;
    MPI_Win window;
    MPI_Datatype nothing;
    MPI_Comm shift;
    CHECK(MPI_Send(device, 8, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Recv(device, 8, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &status) == MPI_SUCCESS);
    CHECK(MPI_Irecv(device, 8, MPI_CHAR, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS);
    CHECK(MPI_Sendrecv(device, 1, MPI_INT, MPI_PROC_NULL, 0, device, 1, MPI_INT, MPI_PROC_NULL, 0,
                       MPI_COMM_WORLD, &status) == MPI_SUCCESS);
    CHECK(MPI_Sendrecv_replace(device, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                               &status) == MPI_SUCCESS);
    is_told(MPI_Sendrecv_replace(device, 1, MPI_INT, MPI_PROC_NULL, 0, next, 0, MPI_COMM_WORLD, &status),
            "buf=0x");
    CHECK(MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &message, &status) == MPI_SUCCESS);
    CHECK(MPI_Mrecv(device, 8, MPI_CHAR, &message, &status) == MPI_SUCCESS);
    CHECK(MPI_Gather(&value, 1, MPI_INT, here, 1, MPI_INT, root, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(rank != root || got[size - 1] == size - 1);
    for (int i = 0; i < size; i++)
        counts[i] = 1, others[i] = i;
    CHECK(MPI_Gatherv(&value, 1, MPI_INT, here, counts, others, MPI_INT, root, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Reduce(&value, here, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(rank != root || got[0] == size * (size - 1) / 2);
    for (int i = 0; rank == root && i < size; i++)
        got[i] = i;
    CHECK(MPI_Scatter(here, 1, MPI_INT, &value, 1, MPI_INT, root, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Scatterv(here, counts, others, MPI_INT, &value, 1, MPI_INT, root, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(value == rank);
    CHECK(MPI_Exscan(&value, rank == 0 ? device : (void *)got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) ==
          MPI_SUCCESS);
    CHECK(MPI_Alltoallv(device, zeros, zeros, MPI_INT, device, zeros, zeros, MPI_INT, MPI_COMM_WORLD) ==
          MPI_SUCCESS);
    CHECK(MPI_Allgatherv(device, 0, MPI_INT, device, zeros, zeros, MPI_INT, MPI_COMM_WORLD) == MPI_SUCCESS);
    zeros[root] = 1;
    CHECK(MPI_Reduce_scatter(&value, here, zeros, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
    zeros[root] = 0;
    CHECK(MPI_Reduce_scatter_block(device, device, 0, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Type_contiguous(0, MPI_INT, &nothing) == MPI_SUCCESS && MPI_Type_commit(&nothing) == MPI_SUCCESS);
    CHECK(MPI_Bcast(device, 3, nothing, root, MPI_COMM_WORLD) == MPI_SUCCESS);
    CHECK(MPI_Type_free(&nothing) == MPI_SUCCESS);
    /* A line of processes: the first has nobody before it, and the last nobody after it. */
    int before = rank - 1, after = rank + 1;
    CHECK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, rank > 0, &before, MPI_UNWEIGHTED, after < size, &after,
                                         MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &shift) == MPI_SUCCESS);
    CHECK(MPI_Neighbor_alltoallv(after < size ? (void *)&value : device, counts, zeros, MPI_INT,
                                 rank > 0 ? (void *)got : device, counts, zeros, MPI_INT, shift) == MPI_SUCCESS);
    CHECK(rank == 0 || got[0] == rank - 1);
    CHECK(MPI_Comm_free(&shift) == MPI_SUCCESS);
    CHECK(MPI_Win_create(managed, BYTES, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window) == MPI_SUCCESS);
    CHECK(MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN) == MPI_SUCCESS);
    CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS);
    CHECK(MPI_Put(device, 8, MPI_CHAR, MPI_PROC_NULL, 0, 8, MPI_CHAR, window) == MPI_SUCCESS);
    CHECK(MPI_Fetch_and_op(device, got, MPI_INT, next, 0, MPI_NO_OP, window) == MPI_SUCCESS);
    is_told(MPI_Fetch_and_op(got, device, MPI_INT, next, 0, MPI_NO_OP, window), "result_addr=0x");
    CHECK(MPI_Win_fence(0, window) == MPI_SUCCESS && MPI_Win_free(&window) == MPI_SUCCESS);
}

int main(int argc, char **argv) {
    int rank, size;
    const char *mode = argc > 2 ? argv[2] : "";
    int is_late = strcmp(mode, "late") == 0;
    if (argc > 1 && !is_late)
        load(argv[1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (is_late)
        load(argv[1]);
    CHECK(device);
    if (strcmp(mode, "fatal") != 0)
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    are_taken(rank, size);
    are_refused(rank, size);
    are_untouched(rank, size);
    are_taken(rank, size);
    report("gpu_buffers", rank, size);
    MPI_Finalize();
    return 0;
}
