/* Begins and ends MPI twice, by sessions. */
#include "check.h"

int main(void) {
    for (int turn = 0; turn < 2; turn++) {
        MPI_Session session;
        CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
        CHECK(MPI_Session_finalize(&session) == MPI_SUCCESS);
    }
    report("session_again", 0, 1);
    return 0;
}
