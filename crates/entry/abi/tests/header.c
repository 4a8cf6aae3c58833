/* Checks mpi.h against the standard ABI (MPI-5.0, chapter 20): sizes, offsets, values, types. */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>

#if MPI_VERSION != 5 || MPI_SUBVERSION != 0 || MPI_ABI_VERSION != 1 || MPI_ABI_SUBVERSION != 0
#error "the versions must be macros that the preprocessor knows"
#endif

static int failures;

#define CHECK(condition)                                   \
    do {                                                   \
        if (!(condition)) {                                \
            printf("line %d: %s\n", __LINE__, #condition); \
            failures++;                                    \
        }                                                  \
    } while (0)

#define HANDLE(handle, value) CHECK((intptr_t)(handle) == (value))

/* Lengths serve as array bounds. */
struct lengths {
    char name[MPI_MAX_OBJECT_NAME];
    char text[MPI_MAX_ERROR_STRING];
};

static void check_types(void)
{
    CHECK(sizeof(MPI_Status) == 32);
    CHECK(offsetof(MPI_Status, MPI_SOURCE) == 0);
    CHECK(offsetof(MPI_Status, MPI_TAG) == 4);
    CHECK(offsetof(MPI_Status, MPI_ERROR) == 8);
    CHECK(sizeof(MPI_Comm) == sizeof(void *) && sizeof(MPI_Datatype) == sizeof(void *));
    CHECK(sizeof(MPI_Aint) == sizeof(void *) && sizeof(MPI_Count) == 8 && sizeof(MPI_Offset) == 8);
    CHECK(sizeof(struct lengths) == 128 + 512);
}

static void check_handles(void)
{
    HANDLE(MPI_SUM, 0x21);
    HANDLE(MPI_COMM_NULL, 0x100);
    HANDLE(MPI_COMM_WORLD, 0x101);
    HANDLE(MPI_GROUP_EMPTY, 0x109);
    HANDLE(MPI_INFO_ENV, 0x131);
    HANDLE(MPI_ERRORS_RETURN, 0x143);
    HANDLE(MPI_REQUEST_NULL, 0x180);
    HANDLE(MPI_DATATYPE_NULL, 0x200);
    HANDLE(MPI_INT, 0x209);
    HANDLE(MPI_BYTE, 0x247);
    HANDLE(MPI_COMPLEX32, 0x2eb);
    CHECK(MPI_LONG_LONG_INT == MPI_LONG_LONG && MPI_C_COMPLEX == MPI_C_FLOAT_COMPLEX);
}

static void check_values(void)
{
    CHECK(MPI_ANY_SOURCE == -1 && MPI_ANY_TAG == -2 && MPI_PROC_NULL == -3 && MPI_ROOT == -4);
    CHECK(MPI_UNDEFINED == -32766);
    CHECK(MPI_THREAD_SINGLE == 0 && MPI_THREAD_MULTIPLE == 4096);
    CHECK(MPI_SUCCESS == 0 && MPI_ERR_TRUNCATE == 15 && MPI_ERR_ABI == 62 && MPI_ERR_LASTCODE == 16383);
    CHECK(MPI_ORDER_C == 12 && MPI_ORDER_FORTRAN == 15);
    CHECK(MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE == 0x3f && MPI_T_VERBOSITY_MPIDEV_ALL == 0x24);
    CHECK(MPI_DISPLACEMENT_CURRENT == -1);
    CHECK(MPI_IN_PLACE == (void *)1 && MPI_STATUS_IGNORE == (MPI_Status *)0);
    HANDLE(MPI_COMM_DUP_FN, 1);
}

/* Callbacks and functions have the types that programs give them. */
static void add(void *in, void *inout, int *len, MPI_Datatype *datatype)
{
    (void)in, (void)inout, (void)len, (void)datatype;
}

static MPI_User_function *const user_function = add;
typedef int (*send_type)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
typedef int (*send_type_c)(const void *, MPI_Count, MPI_Datatype, int, int, MPI_Comm);
#define SAME_TYPE(function, type) ((void)sizeof((type)0 == &function))

int main(void)
{
    check_types();
    check_handles();
    check_values();
    SAME_TYPE(MPI_Send, send_type);
    SAME_TYPE(PMPI_Send_c, send_type_c);
    CHECK(user_function != NULL);
    return failures != 0;
}
