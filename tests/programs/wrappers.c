/* A profiling tool as the standard means it (MPI-5.0, 15.2): preloaded, it counts the program's
 * calls of several families and passes them on by their PMPI names. At MPI_Finalize each rank
 * prints a line. What it counts and the program did not call must stay at 0: the library's own
 * work must not come through here. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static long long sent_bytes;

enum {
#define WRAP(name, parameters, arguments) name##_,
#include "wrapped.h"
#undef WRAP
    KINDS
};
static long calls[KINDS];

static void count_bytes(int count, MPI_Datatype datatype) {
    int bytes;
    PMPI_Type_size(datatype, &bytes);
    sent_bytes += (long long)count * bytes;
}

#define WRAP(name, parameters, arguments)                                                                              \
    int MPI_##name parameters {                                                                                        \
        calls[name##_]++;                                                                                              \
        return PMPI_##name arguments;                                                                                  \
    }
#include "wrapped.h"
#undef WRAP

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) {
    count_bytes(count, datatype);
    return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

int MPI_Finalize(void) {
    static const char *const names[] = {
#define WRAP(name, parameters, arguments) #name,
#include "wrapped.h"
#undef WRAP
    };
    char line[4096];
    int rank, length;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    length = snprintf(line, sizeof line, "rank %d:", rank);
    for (int i = 0; i < KINDS; i++)
        length += snprintf(line + length, sizeof line - (size_t)length, " %s=%ld", names[i], calls[i]);
    printf("%s sent_bytes=%lld\n", line, sent_bytes);
    fflush(stdout);
    return PMPI_Finalize();
}
