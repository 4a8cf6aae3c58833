/* Sessions before, beside and after the world model (MPI-5.0, 11.2 and 11.3). */
#include "check.h"

static int rank, size;

static MPI_Session begin(void) {
    MPI_Session session;
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
    return session;
}

static MPI_Comm comm_of(MPI_Session session, const char *set, const char *tag) {
    MPI_Group group;
    MPI_Comm comm;
    CHECK(MPI_Group_from_session_pset(session, set, &group) == MPI_SUCCESS);
    CHECK(MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm) == MPI_SUCCESS);
    CHECK(MPI_Group_free(&group) == MPI_SUCCESS);
    return comm;
}

/* A ring of messages and a sum: also large ones. */
static void works(MPI_Comm comm) {
    int mine, all, sum, length = 100000, *out, *in;
    CHECK(MPI_Comm_rank(comm, &mine) == MPI_SUCCESS && MPI_Comm_size(comm, &all) == MPI_SUCCESS);
    out = calloc(length, sizeof *out), in = calloc(length, sizeof *in);
    out[length - 1] = mine;
    CHECK(MPI_Sendrecv(out, length, MPI_INT, (mine + 1) % all, 1, in, length, MPI_INT, (mine + all - 1) % all, 1, comm,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(in[length - 1] == (mine + all - 1) % all);
    CHECK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && sum == all * (all - 1) / 2);
    free(out), free(in);
}

/* Two sessions with a communicator each, of the same group and tag: messages do not stray. */
static void two_at_once(void) {
    MPI_Session one = begin(), two = begin();
    MPI_Comm a = comm_of(one, "mpi://WORLD", "same"), b = comm_of(two, "mpi://WORLD", "same");
    MPI_Comm alone = comm_of(two, "mpi://SELF", "same");
    MPI_Request request;
    int got = -1, from_b = -1;
    MPI_Comm_rank(a, &rank);
    MPI_Comm_size(a, &size);
    MPI_Irecv(&from_b, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, b, &request);
    CHECK(MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, 5, &got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, a,
                       MPI_STATUS_IGNORE) == MPI_SUCCESS);
    MPI_Send(&(int){rank + 100}, 1, MPI_INT, (rank + 1) % size, 5, b);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(got == (rank + size - 1) % size && from_b == got + 100);
    works(alone);
    MPI_Comm_free(&a);
    CHECK(MPI_Session_finalize(&one) == MPI_SUCCESS);
    works(b);
    MPI_Comm_free(&b), MPI_Comm_free(&alone);
    CHECK(MPI_Session_finalize(&two) == MPI_SUCCESS);
}

static int heard;

static void handler(MPI_Session *session, int *code, ...) {
    CHECK(*session == MPI_SESSION_NULL);
    heard = *code;
}

/* An error goes to the handler that the call is given: there is no other object yet. */
static void wrong(void) {
    MPI_Session session = MPI_SESSION_NULL;
    MPI_Errhandler mine;
    MPI_Info info;
    MPI_Comm comm;
    MPI_Group group;
    char name[4];
    int len, flag;
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_TEAPOT");
    CHECK_CLASS(MPI_Session_init(info, MPI_ERRORS_RETURN, &session), MPI_ERR_INFO_VALUE);
    MPI_Session_create_errhandler(handler, &mine);
    CHECK_CLASS(MPI_Session_init(info, mine, &session), MPI_ERR_INFO_VALUE);
    CHECK(heard == MPI_ERR_INFO_VALUE);
    MPI_Errhandler_free(&mine);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE");
    CHECK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
    MPI_Info_free(&info);
    CHECK(MPI_Session_get_info(session, &info) == MPI_SUCCESS);
    char level[32];
    len = sizeof level;
    MPI_Info_get_string(info, "thread_level", &len, level, &flag);
    CHECK(flag && strcmp(level, "MPI_THREAD_MULTIPLE") == 0);
    MPI_Info_free(&info);
    len = 0; /* only asks for the length */
    CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 1, &len, name) == MPI_SUCCESS && len == 11);
    len = sizeof name;
    CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 1, &len, name) == MPI_SUCCESS && strcmp(name, "mpi") == 0);
    CHECK_CLASS(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, -1, &len, name), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Session_get_pset_info(session, "mpi://earth", &info), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Group_from_session_pset(session, "", &group), MPI_ERR_ARG);
    CHECK_CLASS(MPI_Comm_create_from_group(MPI_GROUP_NULL, "x", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm), MPI_ERR_GROUP);
    CHECK(MPI_Session_finalize(&session) == MPI_SUCCESS && session == MPI_SESSION_NULL);
}

/* Errors of no object are those of MPI_COMM_SELF. */
static void wrong_handles(void) {
    MPI_Session session = begin(), copy = session, null = MPI_SESSION_NULL;
    MPI_Group group;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Session_finalize(&null), MPI_ERR_SESSION);
    CHECK_CLASS(MPI_Group_from_session_pset(MPI_SESSION_NULL, "mpi://WORLD", &group), MPI_ERR_SESSION);
    CHECK(MPI_Session_finalize(&session) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Session_finalize(&copy), MPI_ERR_SESSION);
}

int main(int argc, char **argv) {
    MPI_Session outlives, after;
    MPI_Comm comm, world;
    int flag;
    two_at_once();
    wrong();
    two_at_once();
    outlives = begin();
    comm = comm_of(outlives, "mpi://WORLD", "outlives");
    CHECK(MPI_Initialized(&flag) == MPI_SUCCESS && !flag);
    CHECK(MPI_Init(&argc, &argv) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    wrong_handles();
    works(MPI_COMM_WORLD);
    works(comm);
    two_at_once();
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    works(world);
    MPI_Comm_free(&world);
    CHECK(MPI_Finalize() == MPI_SUCCESS);
    CHECK(MPI_Finalized(&flag) == MPI_SUCCESS && flag);
    works(comm);
    MPI_Comm_free(&comm);
    CHECK(MPI_Session_finalize(&outlives) == MPI_SUCCESS);
    two_at_once();
    after = begin();
    comm = comm_of(after, "mpi://WORLD", "after");
    works(comm);
    MPI_Comm_disconnect(&comm);
    CHECK(MPI_Session_finalize(&after) == MPI_SUCCESS);
    report("sessions_and_world", rank, size);
    return 0;
}
