/* busy WAY [WHO]: talks for ever in the way that the argument says, so that a test can kill a
 * rank at any moment. Each rank says its process before MPI_Init. In the way "finalize", every
 * rank but WHO is inside MPI_Finalize; in the way "listen", all talk for a while and then wait
 * for what never comes; in the way "deaf", WHO never calls MPI again. */
#include "check.h"
#include <unistd.h>

enum { LARGE = 1 << 20 };

static void talk(const char *way, int rank, int size, char *out, char *in) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    int count = !strcmp(way, "large") ? LARGE : 8;
    if (!strcmp(way, "wait")) /* nobody ever sends */
        MPI_Recv(in, 1, MPI_CHAR, left, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else if (!strcmp(way, "collective"))
        MPI_Allreduce(in, out, 1000, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    else
        MPI_Sendrecv(out, count, MPI_CHAR, right, 0, in, count, MPI_CHAR, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    int rank, size;
    char *out = calloc(1, LARGE), *in = calloc(1, LARGE);
    const char *way = argc > 1 ? argv[1] : "small";
    fprintf(stderr, "rank %s is process %d\n", getenv("PMI_RANK"), (int)getpid());
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!strcmp(way, "finalize")) {
        talk("small", rank, size, out, in);
        if (argc > 2 && atoi(argv[2]) == rank)
            pause();
        MPI_Finalize();
        return 0;
    }
    if (!strcmp(way, "deaf") && argc > 2 && atoi(argv[2]) == rank)
        pause();
    for (int round = 0;; round++) {
        if (!strcmp(way, "listen") && round == 10)
            way = "wait";
        talk(way, rank, size, out, in);
        if (!strcmp(way, "abort") && round == 100 && rank == 1)
            MPI_Abort(MPI_COMM_WORLD, 9);
    }
}
