/* Two ranks answer each other, with every receive posted before its message comes. Rank 0 then
 * tells what it counted: lines of a name and a number.
 *
 * Arguments: bytes of a message; messages each way; names of counters. */
#include "tool.h"

int main(int argc, char **argv) {
    int rank, size, provided;
    CHECK(argc >= 4);
    int bytes = atoi(argv[1]), messages = atoi(argv[2]);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size == 2);
    OK(MPI_T_pvar_session_create(&session));
    MPI_T_pvar_handle counters[32];
    int names = argc - 3;
    CHECK(names <= 32);
    for (int name = 0; name < names; name++) {
        counters[name] = pvar_handle(argv[3 + name], MPI_T_PVAR_CLASS_COUNTER);
        OK(MPI_T_pvar_start(session, counters[name]));
    }
    char *out = malloc((size_t)bytes), *in = malloc((size_t)bytes);
    CHECK(out && in);
    for (int message = 0; message < messages; message++) {
        MPI_Request receive;
        memset(out, message + rank, (size_t)bytes);
        MPI_Irecv(in, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, &receive);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0)
            MPI_Send(out, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Wait(&receive, MPI_STATUS_IGNORE);
        if (rank == 1)
            MPI_Send(out, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        CHECK(in[0] == (char)(message + 1 - rank) && in[bytes - 1] == in[0]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int name = 0; name < names && rank == 0; name++)
        printf("%s %llu\n", argv[3 + name], read_pvar(counters[name]));
    OK(MPI_T_pvar_session_free(&session));
    MPI_Finalize();
    OK(MPI_T_finalize());
    return 0;
}
