/* Ping-pong of short messages, for a trace: argument 1 is the number of round trips of each
 * length. The replies carry what came plus one, so that a message that is lost, doubled or torn
 * is found. */
#include "check.h"

#define BYTES_MAX 1024

static void send_or_receive(int send, char *buffer, int bytes, int peer) {
    if (send)
        CHECK(MPI_Send(buffer, bytes, MPI_BYTE, peer, 7, MPI_COMM_WORLD) == MPI_SUCCESS);
    else
        CHECK(MPI_Recv(buffer, bytes, MPI_BYTE, peer, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
}

int main(int argc, char **argv) {
    int rank, rounds = argc > 1 ? atoi(argv[1]) : 1000;
    char buffer[BYTES_MAX];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int bytes = 4; bytes <= BYTES_MAX; bytes *= 16) {
        memset(buffer, 0, sizeof buffer);
        for (int round = 0; round < rounds; round++) {
            send_or_receive(rank == 0, buffer, bytes, 1 - rank);
            if (rank == 1)
                buffer[0]++, buffer[bytes - 1]++;
            send_or_receive(rank == 1, buffer, bytes, 1 - rank);
        }
        CHECK(buffer[0] == (char)rounds && buffer[bytes - 1] == (char)rounds);
    }
    MPI_Finalize();
    return 0;
}
