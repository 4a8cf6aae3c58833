/* A rank crashes, in a function of the program or in a call. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void own_handler(int signal)
{
    (void)signal;
    static const char text[] = "the program's own handler\n";
    if (write(2, text, sizeof text - 1) < 0)
        _exit(8);
    _exit(7);
}

static __attribute__((noinline)) void crash(const char *mode, volatile int *nowhere, volatile int *zero)
{
    if (!strcmp(mode, "abort"))
        abort();
    if (!strcmp(mode, "buffer")) /* as memory of a GPU: no processor may read it */
        MPI_Send(mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 8, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    if (!strcmp(mode, "division"))
        *zero = 100 / *zero;
    static char data[64];
    void (*function)(void) = !strcmp(mode, "null") ? NULL : (void (*)(void))0x1234567000;
    if (!strcmp(mode, "data"))
        function = (void (*)(void))data;
    if (!strcmp(mode, "null") || !strcmp(mode, "wild") || !strcmp(mode, "data"))
        function();
    *nowhere = *zero;
}

static __attribute__((noinline)) int overflow(volatile char *before)
{
    volatile char room[4096];
    room[0] = before[0];
    if (!room[0])
        return 0;
    return overflow(room) + room[0];
}

int main(int argc, char **argv)
{
    int rank;
    const char *mode = argc > 1 ? argv[1] : "address";
    if (!strcmp(mode, "own"))
        signal(SIGSEGV, own_handler);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1) {
        if (!strcmp(mode, "stack"))
            printf("%d\n", overflow("x"));
        volatile int zero = 0;
        crash(mode, NULL, &zero);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
