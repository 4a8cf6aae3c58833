/* What programs written for other MPI libraries rely on, as MPICH's own tests do: keys that are
 * freed while in use, whose error handler hears of what, names, empty messages, groups that
 * overlap. */
#include "check.h"
#include <unistd.h>

static int rank, size;
static int heard;
static MPI_Comm heard_on;

/* Error handlers that mend what was wrong: the call then returns what they leave. */
static void mend(MPI_Comm *comm, int *code, ...) {
    heard = *code;
    heard_on = *comm;
    *code = MPI_SUCCESS;
}

static void mend_file(MPI_File *file, int *code, ...) {
    CHECK(*file == MPI_FILE_NULL);
    heard = *code;
    *code = MPI_SUCCESS;
}

#define CHECK_HEARD(call, class, comm)                                                                                 \
    do {                                                                                                               \
        heard = MPI_SUCCESS;                                                                                           \
        CHECK((call) == MPI_SUCCESS);                                                                                  \
        CHECK(heard == (class) && heard_on == (comm));                                                                 \
    } while (0)

/* Errors of no object go to MPI_COMM_WORLD's handler while only that was set, else to
 * MPI_COMM_SELF's; those of a communicator to its own, which it took over from its parent
 * (MPI-5.0, 9.3). */
static void handlers(void) {
    MPI_Errhandler mending;
    MPI_Comm heir;
    MPI_Group group;
    int number;
    MPI_Comm_create_errhandler(mend, &mending);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, mending);
    MPI_Comm_dup(MPI_COMM_WORLD, &heir);
    CHECK_HEARD(MPI_Type_contiguous(1, MPI_INT, NULL), MPI_ERR_ARG, MPI_COMM_WORLD);
    CHECK_HEARD(MPI_Group_size(MPI_GROUP_NULL, &number), MPI_ERR_GROUP, MPI_COMM_WORLD);
    CHECK_HEARD(MPI_Barrier(MPI_COMM_NULL), MPI_ERR_COMM, MPI_COMM_WORLD);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Type_contiguous(1, MPI_INT, NULL), MPI_ERR_ARG);
    MPI_Comm_group(heir, &group);
    CHECK_HEARD(MPI_Comm_create(heir, group, NULL), MPI_ERR_ARG, heir);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, mending);
    CHECK_HEARD(MPI_Type_contiguous(1, MPI_INT, NULL), MPI_ERR_ARG, MPI_COMM_SELF);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Group_free(&group);
    MPI_Comm_free(&heir);
    MPI_Errhandler_free(&mending);
}

/* A message that is too long for its receive is an error on its communicator, also if a probe
 * matched it. */
static void matched_messages(void) {
    MPI_Errhandler mending;
    MPI_Comm comm;
    MPI_Message message;
    MPI_Request request, receive;
    int two[2] = {1, 2};
    MPI_Comm_create_errhandler(mend, &mending);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, mending);
    MPI_Isend(two, 2, MPI_INT, 0, 5, comm, &request);
    MPI_Mprobe(0, 5, comm, &message, MPI_STATUS_IGNORE);
    CHECK_HEARD(MPI_Mrecv(two, 1, MPI_INT, &message, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Isend(two, 2, MPI_INT, 0, 5, comm, &request);
    MPI_Mprobe(0, 5, comm, &message, MPI_STATUS_IGNORE);
    CHECK(MPI_Imrecv(two, 1, MPI_INT, &message, &receive) == MPI_SUCCESS);
    CHECK_HEARD(MPI_Wait(&receive, MPI_STATUS_IGNORE), MPI_ERR_TRUNCATE, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&comm);
    MPI_Errhandler_free(&mending);
}

/* Errors before there is a file go to the handler of MPI_FILE_NULL. */
static void files(void) {
    MPI_Errhandler mending;
    MPI_File file;
    MPI_File_create_errhandler(mend_file, &mending);
    CHECK_CLASS(MPI_File_open(MPI_COMM_SELF, "/not/there", MPI_MODE_RDWR, MPI_INFO_NULL, &file), MPI_ERR_NO_SUCH_FILE);
    MPI_File_set_errhandler(MPI_FILE_NULL, mending);
    heard = MPI_SUCCESS;
    CHECK(MPI_File_open(MPI_COMM_SELF, "/not/there", MPI_MODE_RDWR, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    CHECK(heard == MPI_ERR_NO_SUCH_FILE);
    CHECK(MPI_File_call_errhandler(MPI_FILE_NULL, MPI_ERR_IO) == MPI_SUCCESS && heard == MPI_ERR_IO);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_File_call_errhandler((MPI_File)(size_t)0x7ffffff1, MPI_ERR_IO), MPI_ERR_FILE);
    MPI_Errhandler_free(&mending);
}

/* A filetype may begin beyond its origin; one that is not in the order of the file is refused as
 * in MPICH. */
static void views(void) {
    char name[64], bytes[8];
    int places[] = {2, 5}, down[] = {3, 0};
    MPI_Datatype late, wrong;
    MPI_File file;
    MPI_Offset end;
    snprintf(name, sizeof name, "/tmp/verbena-habits-%ld", (long)getpid());
    int mode = MPI_MODE_RDWR | MPI_MODE_CREATE | MPI_MODE_DELETE_ON_CLOSE;
    CHECK(MPI_File_open(MPI_COMM_SELF, name, mode, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    MPI_Type_create_indexed_block(2, 1, places, MPI_BYTE, &late);
    MPI_Type_commit(&late);
    CHECK(MPI_File_set_view(file, 1, MPI_BYTE, late, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_write(file, "abcd", 4, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_File_seek(file, 0, MPI_SEEK_END) == MPI_SUCCESS);
    CHECK(MPI_File_get_position(file, &end) == MPI_SUCCESS && end == 4);
    CHECK(MPI_File_set_view(file, 3, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL) == MPI_SUCCESS);
    CHECK(MPI_File_read(file, bytes, 8, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(bytes[0] == 'a' && bytes[3] == 'b' && bytes[4] == 'c' && bytes[7] == 'd');
    MPI_Type_create_indexed_block(2, 1, down, MPI_INT, &wrong);
    MPI_Type_commit(&wrong);
    CHECK_CLASS(MPI_File_set_view(file, 0, MPI_INT, wrong, "native", MPI_INFO_NULL), MPI_ERR_IO);
    MPI_Type_free(&wrong);
    MPI_Type_free(&late);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
}

static int deleted;

static int delete_and_free(MPI_Comm comm, int key, void *value, void *extra) {
    (void)comm, (void)value, (void)extra;
    deleted++;
    return MPI_Comm_free_keyval(&key);
}

static int delete_of_type(MPI_Datatype type, int key, void *value, void *extra) {
    (void)type, (void)key, (void)value;
    return *(int *)extra;
}

/* A key works until the last attribute under it is gone, and may be freed again until then
 * (MPI-5.0, 7.7.2). */
static void keys(void) {
    int key, copy, flag, value, code = MPI_ERR_OTHER;
    void *got;
    MPI_Comm one, two;
    MPI_Datatype type;
    MPI_Comm_dup(MPI_COMM_SELF, &one);
    MPI_Comm_dup(MPI_COMM_SELF, &two);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_and_free, &key, NULL);
    MPI_Comm_set_attr(one, key, &value);
    MPI_Comm_set_attr(two, key, NULL);
    copy = key;
    CHECK(MPI_Comm_free_keyval(&key) == MPI_SUCCESS && key == MPI_KEYVAL_INVALID);
    CHECK(MPI_Comm_get_attr(one, copy, &got, &flag) == MPI_SUCCESS && flag && got == &value);
    CHECK(MPI_Comm_set_attr(one, copy, &flag) == MPI_SUCCESS && deleted == 1);
    CHECK(MPI_Comm_free(&two) == MPI_SUCCESS && deleted == 2);
    CHECK(MPI_Comm_delete_attr(one, copy) == MPI_SUCCESS && deleted == 3);
    CHECK_CLASS(MPI_Comm_set_attr(one, copy, NULL), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Comm_free_keyval(&copy), MPI_ERR_KEYVAL);
    MPI_Comm_free(&one);
    MPI_Type_dup(MPI_INT, &type);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete_of_type, &key, &code);
    MPI_Type_set_attr(type, key, &value);
    copy = key;
    MPI_Type_free_keyval(&key);
    CHECK_CLASS(MPI_Type_set_attr(type, copy, &flag), MPI_ERR_OTHER);
    CHECK_CLASS(MPI_Type_delete_attr(type, copy), MPI_ERR_OTHER);
    CHECK(MPI_Type_get_attr(type, copy, &got, &flag) == MPI_SUCCESS && flag && got == &value);
    code = MPI_SUCCESS;
    CHECK(MPI_Type_free(&type) == MPI_SUCCESS);
}

/* Messages without elements may have no datatype. */
static void empty_messages(void) {
    MPI_Status status;
    MPI_Request request;
    int count;
    CHECK(MPI_Irecv(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request) == MPI_SUCCESS);
    CHECK(MPI_Wait(&request, &status) == MPI_SUCCESS && status.MPI_SOURCE == MPI_PROC_NULL);
    CHECK(MPI_Sendrecv(NULL, 0, MPI_DATATYPE_NULL, rank, 1, NULL, 0, MPI_DATATYPE_NULL, rank, 1, MPI_COMM_WORLD,
                       &status) == MPI_SUCCESS);
    CHECK(MPI_Get_count(&status, MPI_BYTE, &count) == MPI_SUCCESS && count == 0);
    CHECK_CLASS(MPI_Send(&count, 1, MPI_DATATYPE_NULL, MPI_PROC_NULL, 1, MPI_COMM_WORLD), MPI_ERR_TYPE);
}

static void has_name(MPI_Datatype type, const char *expected) {
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    CHECK(MPI_Type_get_name(type, name, &length) == MPI_SUCCESS && strcmp(name, expected) == 0);
}

static void operations(void) {
    MPI_Aint address = rank == 0, any = -1;
    MPI_Count count = rank + 1, all = -1;
    MPI_Offset offset = 1, odd = -1;
    CHECK(MPI_Allreduce(&address, &any, 1, MPI_AINT, MPI_LOR, MPI_COMM_WORLD) == MPI_SUCCESS && any == 1);
    CHECK(MPI_Allreduce(&count, &all, 1, MPI_COUNT, MPI_LAND, MPI_COMM_WORLD) == MPI_SUCCESS && all == 1);
    CHECK(MPI_Allreduce(&offset, &odd, 1, MPI_OFFSET, MPI_LXOR, MPI_COMM_WORLD) == MPI_SUCCESS && odd == size % 2);
}

/* Process sets are named in upper or lower case; a session has the thread level of its process. */
static void process_sets(void) {
    MPI_Session session;
    MPI_Group group;
    MPI_Info info;
    char level[32];
    int number, flag, length = sizeof level;
    CHECK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS);
    CHECK(MPI_Group_from_session_pset(session, "mpi://world", &group) == MPI_SUCCESS);
    CHECK(MPI_Group_size(group, &number) == MPI_SUCCESS && number == size);
    MPI_Group_free(&group);
    MPI_Session_get_info(session, &info);
    MPI_Info_get_string(info, "thread_level", &length, level, &flag);
    CHECK(flag && strcmp(level, "MPI_THREAD_MULTIPLE") == 0);
    MPI_Info_free(&info);
    MPI_Session_finalize(&session);
}

static void same(MPI_Info before, MPI_Info after, const char *key) {
    char values[2][256] = {"", ""};
    int flags[2], lengths[2] = {256, 256};
    MPI_Info_get_string(before, key, &lengths[0], values[0], &flags[0]);
    MPI_Info_get_string(after, key, &lengths[1], values[1], &flags[1]);
    CHECK(flags[0] == flags[1] && strcmp(values[0], values[1]) == 0);
}

/* The environment is described in the same way before initialisation and after. */
static void environment(MPI_Info before, int argc, char **argv) {
    const char *keys[] = {"command", "argv", "maxprocs", "host", "arch", "wdir", "thread_level"};
    char processes[16];
    int flag, length = sizeof processes;
    MPI_Info after;
    MPI_Info_create_env(argc, argv, &after);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        same(before, after, keys[i]);
    MPI_Info_get_string(after, "maxprocs", &length, processes, &flag);
    CHECK(flag && atoi(processes) == size);
    MPI_Info_free(&after);
    MPI_Info_free(&before);
}

static void topologies(void) {
    MPI_Comm none = MPI_COMM_WORLD;
    int dims[3] = {0, 0, 0}, sizes[2] = {size + 1, 1}, periods[2] = {0, 0};
    CHECK_CLASS(MPI_Cart_create(MPI_COMM_WORLD, 2, sizes, periods, 0, &none), MPI_ERR_DIMS);
    CHECK(none == MPI_COMM_NULL);
    CHECK(MPI_Dims_create(5040, 3, dims) == MPI_SUCCESS && dims[0] == 21 && dims[1] == 16 && dims[2] == 15);
}

/* Processes 0 and 1 each make a communicator with 2, which takes them in its own order, while the
 * other's messages wait. */
static void overlapping_groups(void) {
    MPI_Group all, pair;
    MPI_Comm comm;
    if (size < 3)
        return;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    for (int i = 0; i < 100; i++) {
        for (int first = 0; first < 2; first++) {
            int members[] = {first, 2}, sum;
            if (rank != first && rank != 2)
                continue;
            MPI_Group_incl(all, 2, members, &pair);
            /* 1 is ahead: 0 begins when it has. */
            if (rank == 1)
                MPI_Send(&i, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
            if (rank == 0)
                MPI_Recv(&sum, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK(MPI_Comm_create_group(MPI_COMM_WORLD, pair, 0, &comm) == MPI_SUCCESS);
            CHECK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && sum == first + 2);
            MPI_Comm_free(&comm);
            MPI_Group_free(&pair);
        }
    }
    MPI_Group_free(&all);
}

int main(int argc, char **argv) {
    MPI_Info before;
    int provided;
    MPI_Info_create_env(argc, argv, &before);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    handlers();
    matched_messages();
    files();
    views();
    keys();
    empty_messages();
    has_name(MPI_C_FLOAT_COMPLEX, "MPI_C_COMPLEX");
    has_name(MPI_LONG_LONG, "MPI_LONG_LONG_INT");
    operations();
    process_sets();
    environment(before, argc, argv);
    topologies();
    overlapping_groups();
    MPI_Finalize();
    report("habits", rank, size);
    return 0;
}
