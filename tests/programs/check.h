/* Shared by the test programs: CHECK ends the job with a message when a condition is false. */
#ifndef VERBENA_CHECK_H
#define VERBENA_CHECK_H
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                                    \
            MPI_Abort(MPI_COMM_WORLD, 3);                                                                              \
        }                                                                                                              \
    } while (0)

/* The error class of a call on MPI_COMM_WORLD's handler set to return. */
static inline int class_of(int code) {
    int class = MPI_SUCCESS;
    if (code != MPI_SUCCESS)
        MPI_Error_class(code, &class);
    return class;
}

#define CHECK_CLASS(call, expected)                                                                                    \
    do {                                                                                                               \
        int class_ = class_of(call);                                                                                   \
        if (class_ != (expected)) {                                                                                    \
            fprintf(stderr, "%s:%d: %s gave class %d, expected %s (%d)\n", __FILE__, __LINE__, #call, class_,          \
                    #expected, expected);                                                                              \
            MPI_Abort(MPI_COMM_WORLD, 3);                                                                              \
        }                                                                                                              \
    } while (0)

/* The last lines of a program that found nothing wrong, from rank 0: its name, and its library. */
static inline void report(const char *name, int rank, int size) {
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    if (rank != 0)
        return;
    MPI_Get_library_version(version, &length);
    printf("%s: ok with %d ranks\nlibrary: %s\n", name, size, version);
}
#endif
