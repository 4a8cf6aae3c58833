/* rails SECONDS: neighbours exchange messages of all lengths, short and long, eager and
 * synchronous, for so long. Every byte is checked, and so is the order. Rank 0 says when that is
 * under way, and at the end how often a channel took another one's place. */
#include "check.h"

enum { LONGEST = 400000 };
static const int LENGTHS[] = {8, 1500, 0, 40000, 64, LONGEST, 9000};
enum { KINDS = sizeof LENGTHS / sizeof *LENGTHS };

static unsigned char byte_of(long round, int sender, int at) {
    return (unsigned char)(round * 31 + sender * 7 + at * 13 + (at >> 8));
}

static MPI_T_pvar_session session;
static MPI_T_pvar_handle handle;

/* Begins to count: a counter of the library stands still at zero until its handle is started. */
static void count(const char *name) {
    int provided, index, values;
    CHECK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_session_create(&session) == MPI_SUCCESS);
    CHECK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &values) == MPI_SUCCESS && values == 1);
    CHECK(MPI_T_pvar_start(session, handle) == MPI_SUCCESS);
}

/* What was counted since. */
static unsigned long long counted(void) {
    unsigned long long value = 0;
    CHECK(MPI_T_pvar_read(session, handle, &value) == MPI_SUCCESS);
    MPI_T_pvar_handle_free(session, &handle);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    return value;
}

static void exchange(long round, int rank, int size, unsigned char *out, unsigned char *in) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size, length = LENGTHS[round % KINDS];
    int tag = (int)(round % 1000);
    MPI_Request requests[2];
    MPI_Status statuses[2];
    for (int i = 0; i < length; i++)
        out[i] = byte_of(round, rank, i);
    MPI_Irecv(in, LONGEST, MPI_BYTE, left, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[0]);
    if (round % 5 == 4)
        MPI_Issend(out, length, MPI_BYTE, right, tag, MPI_COMM_WORLD, &requests[1]);
    else
        MPI_Isend(out, length, MPI_BYTE, right, tag, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    int got;
    MPI_Get_count(&statuses[0], MPI_BYTE, &got);
    CHECK(got == length && statuses[0].MPI_TAG == tag);
    for (int i = 0; i < length; i++)
        CHECK(in[i] == byte_of(round, left, i));
}

int main(int argc, char **argv) {
    int rank, size, go_on = 1;
    double seconds = argc > 1 ? atof(argv[1]) : 1;
    unsigned char *out = malloc(LONGEST), *in = malloc(LONGEST);
    long round = 0;
    MPI_Init(&argc, &argv);
    count("failovers");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double start = MPI_Wtime();
    for (; go_on; round++) {
        exchange(round, rank, size, out, in);
        if (round == 9 && rank == 0) {
            puts("rails: under way");
            fflush(stdout);
        }
        if (round % 10 == 9) {
            go_on = MPI_Wtime() - start < seconds;
            MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
        }
    }
    unsigned long long failovers = counted(), all = 0;
    MPI_Reduce(&failovers, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    if (rank == 0)
        printf("rails: ok after %ld rounds, %llu failovers\n", round, all);
    return 0;
}
