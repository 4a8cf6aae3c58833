/* Talks for ever, in the way that the argument says, so that a test can kill a rank at any moment. */
#include "check.h"
#include <unistd.h>

int main(int argc, char **argv) {
    enum { LARGE = 1 << 20 };
    int rank, size;
    char *out = calloc(1, LARGE), *in = calloc(1, LARGE);
    const char *way = argc > 1 ? argv[1] : "small";
    if (!strcmp(way, "start"))
        usleep(20000);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    fprintf(stderr, "rank %d is process %d\n", rank, (int)getpid());
    for (;;) {
        int right = (rank + 1) % size, left = (rank + size - 1) % size;
        if (!strcmp(way, "wait")) /* nobody ever sends */
            MPI_Recv(in, 1, MPI_CHAR, left, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else if (!strcmp(way, "collective"))
            MPI_Allreduce(in, out, 1000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        else {
            int count = !strcmp(way, "large") ? LARGE : 8;
            MPI_Sendrecv(out, count, MPI_CHAR, right, 0, in, count, MPI_CHAR, left, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
        }
    }
}
