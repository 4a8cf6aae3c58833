// A program with a fault, which the checks of `cargo xtask sanitize` must find in the library's use
// of the program's memory. FAULT says which: `freed` sends memory that was given back, `race`
// writes a buffer while another thread receives into it. This program is compiled without the
// sanitizer, which then sees only what is done by calls of the C library: so it writes by memset,
// in a way that no compiler makes stores of.

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 1000 };
static char *buffer;
static void *(*volatile fill)(void *, int, size_t) = memset;

static void *receive(void *unused) {
    MPI_Recv(buffer, BYTES, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return unused;
}

static void send_freed(int rank) {
    char *bytes = calloc(64, 1);
    if (rank == 0) {
        free(bytes);
        MPI_Send(bytes, 64, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    } else {
        MPI_Recv(bytes, 64, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        free(bytes);
    }
}

static void race(int rank) {
    buffer = calloc(BYTES, 1);
    if (rank == 0) {
        pthread_t thread;
        pthread_create(&thread, NULL, receive, NULL);
        fill(buffer, rank + 2, BYTES);
        pthread_join(thread, NULL);
    } else {
        MPI_Send(buffer, BYTES, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
    free(buffer);
}

int main(int argc, char **argv) {
    int provided, rank;
    const char *fault = getenv("FAULT");
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (fault && !strcmp(fault, "freed")) {
        send_freed(rank);
    } else if (fault && !strcmp(fault, "race")) {
        race(rank);
    } else {
        return 2;
    }
    MPI_Finalize();
    if (rank == 0) {
        printf("faulty: ok with a fault that nobody saw\n");
    }
    return 0;
}
