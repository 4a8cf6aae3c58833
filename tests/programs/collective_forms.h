/* A collective in each of its forms. */
#ifndef VERBENA_COLLECTIVE_FORMS_H
#define VERBENA_COLLECTIVE_FORMS_H
#include "check.h"

enum { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };

/* Starts a persistent request, waits for it, and frees it. */
static inline void run_once(MPI_Request *request) {
    CHECK(MPI_Start(request) == MPI_SUCCESS);
    CHECK(MPI_Wait(request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(*request != MPI_REQUEST_NULL);
    CHECK(MPI_Request_free(request) == MPI_SUCCESS);
}

/* MPI_NAME(arguments, comm) in one of its forms. The name stands twice, the second time as it
 * follows MPI_I; its ending _c, if it has one, stands apart. */
#define RUN_AS(form, Name, name, ending, comm, ...)                                                                    \
    do {                                                                                                               \
        MPI_Request request_ = MPI_REQUEST_NULL;                                                                       \
        if ((form) == BLOCKING) {                                                                                      \
            CHECK(MPI_##Name##ending(__VA_ARGS__, comm) == MPI_SUCCESS);                                               \
        } else if ((form) == NONBLOCKING) {                                                                            \
            CHECK(MPI_I##name##ending(__VA_ARGS__, comm, &request_) == MPI_SUCCESS);                                   \
            CHECK(MPI_Wait(&request_, MPI_STATUS_IGNORE) == MPI_SUCCESS);                                              \
            CHECK(request_ == MPI_REQUEST_NULL);                                                                       \
        } else {                                                                                                       \
            CHECK(MPI_##Name##_init##ending(__VA_ARGS__, comm, MPI_INFO_NULL, &request_) == MPI_SUCCESS);              \
            run_once(&request_);                                                                                       \
        }                                                                                                              \
    } while (0)

#define RUN(form, Name, name, comm, ...) RUN_AS(form, Name, name, , comm, __VA_ARGS__)
#define RUN_LARGE(form, Name, name, comm, ...) RUN_AS(form, Name, name, _c, comm, __VA_ARGS__)
#endif
