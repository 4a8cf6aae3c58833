/* closed_pmi_line before|after [reuse]: closes every descriptor that it has not opened, as
 * programs do that make themselves a daemon, before MPI_Init or before MPI_Finalize. With
 * `reuse` it opens a socket under each of the numbers; on the other end of these nothing may
 * arrive. */
#include "check.h"
#include <sys/socket.h>
#include <unistd.h>

enum { FIRST = 3, LAST = 63 };

static int close_all(int reuse) {
    int ends[2] = {-1, -1};
    for (int fd = FIRST; fd <= LAST; fd++)
        close(fd);
    if (!reuse)
        return -1;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        exit(6);
    int watched = dup2(ends[1], LAST + 1);
    for (int fd = FIRST; fd <= LAST; fd++)
        if (fd != ends[0])
            dup2(ends[0], fd);
    return watched;
}

/* Whether somebody else wrote to the program's own socket. */
static void look(int watched) {
    char byte;
    if (watched >= 0 && recv(watched, &byte, 1, MSG_DONTWAIT) > 0)
        fprintf(stderr, "a stranger wrote to the program's socket\n");
}

int main(int argc, char **argv) {
    int reuse = argc > 2, after = argc > 1 && strcmp(argv[1], "after") == 0;
    if (!after)
        close_all(reuse);
    MPI_Init(&argc, &argv);
    if (reuse) { /* so that it can look at its own socket afterwards */
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    int watched = after ? close_all(reuse) : -1;
    int code = MPI_Finalize();
    look(watched);
    return code == MPI_SUCCESS ? 0 : 5;
}
