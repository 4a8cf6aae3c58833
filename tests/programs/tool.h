/* Shared by the programs that test the tool information interface: checks of codes, variables by
   their names. */
#ifndef VERBENA_TOOL_H
#define VERBENA_TOOL_H
#include "check.h"
#include <unistd.h>

/* Errors of MPI_T are return codes only. */
#define CHECK_CODE(call, expected)                                                                                     \
    do {                                                                                                               \
        int code_ = call;                                                                                              \
        if (code_ != (expected)) {                                                                                     \
            fprintf(stderr, "%s:%d: %s gave %d, expected %s (%d)\n", __FILE__, __LINE__, #call, code_, #expected,      \
                    expected);                                                                                         \
            exit(3);                                                                                                   \
        }                                                                                                              \
    } while (0)
#define OK(call) CHECK_CODE(call, MPI_SUCCESS)

/* Control variables by name. */
static inline int cvar_of(const char *name) {
    int index = -1;
    OK(MPI_T_cvar_get_index(name, &index));
    return index;
}

static inline MPI_T_cvar_handle cvar_handle(const char *name) {
    MPI_T_cvar_handle handle;
    int count;
    OK(MPI_T_cvar_handle_alloc(cvar_of(name), NULL, &handle, &count));
    return handle;
}

static inline MPI_Count read_count(const char *name) {
    MPI_T_cvar_handle handle = cvar_handle(name);
    MPI_Count value = -7;
    OK(MPI_T_cvar_read(handle, &value));
    OK(MPI_T_cvar_handle_free(&handle));
    CHECK(handle == MPI_T_CVAR_HANDLE_NULL);
    return value;
}

static inline int write_count(const char *name, MPI_Count value) {
    MPI_T_cvar_handle handle = cvar_handle(name);
    int code = MPI_T_cvar_write(handle, &value);
    OK(MPI_T_cvar_handle_free(&handle));
    return code;
}

static inline int write_int(const char *name, int value) {
    MPI_T_cvar_handle handle = cvar_handle(name);
    int code = MPI_T_cvar_write(handle, &value);
    OK(MPI_T_cvar_handle_free(&handle));
    return code;
}

/* Performance variables, all in one session. */
static MPI_T_pvar_session session;

static inline int pvar_of(const char *name, int class) {
    int index = -1;
    OK(MPI_T_pvar_get_index(name, class, &index));
    return index;
}

static inline MPI_T_pvar_handle pvar_handle(const char *name, int class) {
    MPI_T_pvar_handle handle;
    int count = 0;
    OK(MPI_T_pvar_handle_alloc(session, pvar_of(name, class), NULL, &handle, &count));
    CHECK(count == 1);
    return handle;
}

static inline unsigned long long read_pvar(MPI_T_pvar_handle handle) {
    unsigned long long value = 12345678;
    OK(MPI_T_pvar_read(session, handle, &value));
    return value;
}
#endif
