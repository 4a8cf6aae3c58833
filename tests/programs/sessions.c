/* Sessions without MPI_Init, one after the other (MPI-5.0, 11.3). */
#include "check.h"

/* Communicators that come from a session, also by others, send from its buffer if they have none
 * (MPI-5.0, 3.6). */
static void buffered(MPI_Session session, MPI_Comm comm) {
    char room[1024], *back;
    MPI_Comm part;
    MPI_Group group;
    int number = 5, got = 0, size;
    CHECK(MPI_Session_attach_buffer(session, room, sizeof room) == MPI_SUCCESS);
    MPI_Comm_split(comm, 0, 0, &part);
    CHECK(MPI_Comm_rank(part, &number) == MPI_SUCCESS);
    CHECK(MPI_Bsend(&number, 1, MPI_INT, number, 3, part) == MPI_SUCCESS);
    CHECK(MPI_Recv(&got, 1, MPI_INT, number, 3, part, MPI_STATUS_IGNORE) == MPI_SUCCESS && got == number);
    CHECK(MPI_Session_detach_buffer(session, &back, &size) == MPI_SUCCESS && back == room && size == sizeof room);
    CHECK_CLASS(MPI_Bsend(&number, 1, MPI_INT, number, 3, part), MPI_ERR_BUFFER);
    CHECK(MPI_Comm_group(part, &group) == MPI_SUCCESS && MPI_Comm_free(&part) == MPI_SUCCESS);
    CHECK(MPI_Comm_create_from_group(group, "buffered", MPI_INFO_NULL, MPI_ERRORS_RETURN, &part) == MPI_SUCCESS);
    CHECK(MPI_Session_attach_buffer(session, MPI_BUFFER_AUTOMATIC, 0) == MPI_SUCCESS);
    CHECK(MPI_Bsend(&number, 1, MPI_INT, number, 4, part) == MPI_SUCCESS);
    CHECK(MPI_Recv(&got, 1, MPI_INT, number, 4, part, MPI_STATUS_IGNORE) == MPI_SUCCESS && got == number);
    CHECK(MPI_Session_detach_buffer(session, &back, &size) == MPI_SUCCESS && back == MPI_BUFFER_AUTOMATIC);
    MPI_Comm_free(&part);
    MPI_Group_free(&group);
}

/* A session with a communicator of all processes; returns its size. */
static int one_session(int round, int *rank) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm, copy;
    MPI_Info info;
    char name[64], size_text[16];
    int count, len = sizeof name, size, flag, tag, sum, *tag_ub;
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
    CHECK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &count) == MPI_SUCCESS && count >= 2);
    CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &len, name) == MPI_SUCCESS);
    CHECK(strcmp(name, "mpi://WORLD") == 0 && len == (int)strlen(name) + 1);
    CHECK_CLASS(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, count, &len, name), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Group_from_session_pset(session, "no such set", &group), MPI_ERR_ARG);
    CHECK(MPI_Session_get_pset_info(session, "mpi://WORLD", &info) == MPI_SUCCESS);
    len = sizeof size_text;
    CHECK(MPI_Info_get_string(info, "mpi_size", &len, size_text, &flag) == MPI_SUCCESS && flag);
    CHECK(MPI_Info_free(&info) == MPI_SUCCESS && info == MPI_INFO_NULL);
    CHECK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group) == MPI_SUCCESS);
    CHECK(MPI_Comm_create_from_group(group, "sessions.c", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(comm, &size) == MPI_SUCCESS && size == atoi(size_text));
    CHECK(MPI_Comm_rank(comm, rank) == MPI_SUCCESS);
    CHECK(MPI_Comm_get_attr(comm, MPI_TAG_UB, &tag_ub, &flag) == MPI_SUCCESS && flag && *tag_ub >= 32767);
    CHECK(MPI_Comm_dup(comm, &copy) == MPI_SUCCESS);
    tag = round + *rank;
    CHECK(MPI_Allreduce(&tag, &sum, 1, MPI_INT, MPI_SUM, copy) == MPI_SUCCESS);
    CHECK(sum == size * round + size * (size - 1) / 2);
    buffered(session, comm);
    CHECK(MPI_Comm_free(&copy) == MPI_SUCCESS && MPI_Comm_disconnect(&comm) == MPI_SUCCESS);
    CHECK(MPI_Group_free(&group) == MPI_SUCCESS);
    CHECK(MPI_Session_finalize(&session) == MPI_SUCCESS && session == MPI_SESSION_NULL);
    return size;
}

int main(void) {
    int initialized, rank = 0, size = 0;
    for (int round = 0; round < 3; round++)
        size = one_session(round, &rank);
    CHECK(MPI_Initialized(&initialized) == MPI_SUCCESS && !initialized);
    if (rank == 0)
        printf("sessions: ok with %d ranks\n", size);
    return 0;
}
