/* Calls that make communicators and files, when a process dies or the communicator is revoked
   meanwhile (ULFM). The first argument says what is tried, the second is a path or a number. */
#include "deaths.h"
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>

static MPI_Comm comm;
static char *self, *path, pipe_path[4096];

/* Rank 0 revokes the communicator, and lets its own call go on once all others have left theirs. */
static void *revoke_and_wait(void *nothing) {
    usleep(50000);
    CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
    for (int other = 1; other < size; other++)
        CHECK(MPI_Recv(NULL, 0, MPI_INT, other, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    close(open(pipe_path, O_WRONLY));
    return nothing;
}

/* Rank 0 is long in the system's call: its file is a pipe that nobody writes. */
static void opens(void) {
    pthread_t thread;
    MPI_File file;
    if (rank == 0) {
        snprintf(pipe_path, sizeof pipe_path, "%s.pipe", path);
        CHECK(mkfifo(pipe_path, 0600) == 0);
        close(open(path, O_CREAT | O_WRONLY, 0600));
    }
    CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
    if (rank == 0)
        CHECK(pthread_create(&thread, NULL, revoke_and_wait, NULL) == 0);
    int code = MPI_File_open(comm, rank == 0 ? pipe_path : path, MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    CHECK(is(code, MPIX_ERR_REVOKED));
    if (rank == 0)
        pthread_join(thread, NULL);
    else
        CHECK(MPI_Send(NULL, 0, MPI_INT, 0, 5, MPI_COMM_WORLD) == MPI_SUCCESS);
}

/* The victim leads its side: those that only its partner hears from end, too. */
static void merges(void) {
    MPI_Comm half, both, all;
    int leader = (rank + 1) % 2 == victim % 2 ? victim : victim - 1;
    CHECK(MPI_Comm_split(comm, rank % 2, -rank, &half) == MPI_SUCCESS);
    CHECK(MPI_Intercomm_create(half, 0, comm, leader, 9, &both) == MPI_SUCCESS);
    let_die();
    CHECK(is(MPI_Intercomm_merge(both, 0, &all), MPIX_ERR_PROC_FAILED));
}

static MPI_Group left_of(MPI_Comm of) {
    MPI_Group all, left;
    MPI_Comm_group(of, &all);
    MPI_Group_excl(all, 1, &victim, &left);
    MPI_Group_free(&all);
    return left;
}

/* Some members make a communicator without the dead one; two groups meet over one that has it. */
static void groups(void) {
    MPI_Comm part, half, both;
    MPI_Group left = left_of(comm);
    int flag = 1, count = 0;
    let_die();
    CHECK(is(MPIX_Comm_agree(comm, &flag), MPIX_ERR_PROC_FAILED));
    CHECK(MPI_Comm_create_group(comm, left, 3, &part) == MPI_SUCCESS);
    CHECK(MPI_Comm_split(part, rank % 2, rank, &half) == MPI_SUCCESS);
    CHECK(MPIX_Comm_ack_failed(comm, 1, &count) == MPI_SUCCESS && count == 1);
    CHECK(MPI_Intercomm_create(half, 0, comm, 1 - rank % 2, 9, &both) == MPI_SUCCESS);
    CHECK(MPI_Barrier(both) == MPI_SUCCESS);
}

/* The victim dies when all others make a communicator with it. They call again without it, with the
   same tag, each as soon as its own call has failed. */
static void retried(void) {
    MPI_Group all, left = left_of(comm);
    MPI_Comm part;
    MPI_Comm_group(comm, &all);
    if (rank == victim) {
        usleep(100000);
        kill(getpid(), SIGKILL);
    }
    CHECK(is(MPI_Comm_create_group(comm, all, 3, &part), MPIX_ERR_PROC_FAILED));
    CHECK(MPI_Comm_create_group(comm, left, 3, &part) == MPI_SUCCESS);
    CHECK(MPI_Barrier(part) == MPI_SUCCESS);
}

/* A communicator without a parent, of a group with the dead one: nobody waits for ever. */
static void from_group(void) {
    MPI_Group all;
    MPI_Comm new;
    MPI_Comm_group(comm, &all);
    let_die();
    int code = MPI_Comm_create_from_group(all, "all", MPI_INFO_NULL, MPI_ERRORS_RETURN, &new);
    CHECK(is(code, MPIX_ERR_PROC_FAILED));
    MPI_Group left = left_of(comm);
    CHECK(MPI_Comm_create_from_group(left, "left", MPI_INFO_NULL, MPI_ERRORS_RETURN, &new) == MPI_SUCCESS);
    CHECK(MPI_Barrier(new) == MPI_SUCCESS);
}

static void *revoke_soon(void *nothing) {
    usleep(100000);
    CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
    return nothing;
}

enum how { DIES, REVOKES, REVOKES_IN_THE_CALL };

static int made_for(const char *call, const char *port) {
    char *arguments[] = {"6", NULL};
    MPI_Comm other;
    if (strcmp(call, "accept") == 0)
        return MPI_Comm_accept(port, MPI_INFO_NULL, 0, comm, &other);
    if (strcmp(call, "connect") == 0)
        return MPI_Comm_connect(port, MPI_INFO_NULL, 0, comm, &other);
    return MPI_Comm_spawn("/bin/sleep", arguments, 1, MPI_INFO_NULL, 0, comm, &other, MPI_ERRCODES_IGNORE);
}

/* The root waits for another job that never comes; another rank revokes or dies. The others go on
   together. */
static void waits(const char *call, enum how how) {
    char port[MPI_MAX_PORT_NAME] = "";
    int has_thread = how == REVOKES_IN_THE_CALL && rank == 1;
    pthread_t thread;
    MPI_Comm left;
    if (rank == 0)
        CHECK(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
    CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
    if (rank == victim && how != REVOKES_IN_THE_CALL) {
        if (how == DIES) {
            usleep(100000);
            kill(getpid(), SIGKILL);
        }
        revoke_soon(NULL);
    } else {
        double began = MPI_Wtime();
        if (has_thread)
            CHECK(pthread_create(&thread, NULL, revoke_soon, NULL) == 0);
        CHECK(is(made_for(call, port), how == DIES ? MPIX_ERR_PROC_FAILED : MPIX_ERR_REVOKED));
        CHECK(MPI_Wtime() - began < 5);
        if (has_thread)
            pthread_join(thread, NULL);
    }
    CHECK(MPIX_Comm_shrink(comm, &left) == MPI_SUCCESS);
    CHECK(MPI_Barrier(left) == MPI_SUCCESS);
}

/* Nobody of the other group is left. */
static void shrinks(MPI_Comm parent) {
    MPI_Comm children, left;
    MPI_Request request;
    if (parent != MPI_COMM_NULL) {
        MPI_Barrier(parent);
        kill(getpid(), SIGKILL);
    }
    CHECK(MPI_Comm_spawn(self, (char *[]){"shrinks", NULL}, 2, MPI_INFO_NULL, 0, comm, &children,
                         MPI_ERRCODES_IGNORE) == MPI_SUCCESS);
    CHECK(MPI_Barrier(children) == MPI_SUCCESS);
    int code = MPI_Barrier(children);
    CHECK(is(code, MPIX_ERR_PROC_FAILED));
    usleep(200000);
    CHECK(MPIX_Comm_shrink(children, &left) == MPI_SUCCESS && left == MPI_COMM_NULL);
    CHECK(MPIX_Comm_ishrink(children, &left, &request) == MPI_SUCCESS);
    CHECK(is(MPI_Wait(&request, MPI_STATUS_IGNORE), MPIX_ERR_PROC_FAILED));
    CHECK(is(MPI_Barrier(left), MPI_ERR_COMM));
    CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
    CHECK(MPI_Comm_free(&children) == MPI_SUCCESS);
}

static void die(int signal_number) {
    kill(getpid(), SIGKILL);
    (void)signal_number;
}

/* A file is opened, written together and closed. */
static int write_file(MPI_Comm all) {
    MPI_File file;
    int words[2000], own, mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    MPI_Comm_rank(all, &own);
    memset(words, own, sizeof words);
    int code = MPI_File_open(all, path, mode, MPI_INFO_NULL, &file);
    if (code == MPI_SUCCESS)
        code = MPI_File_write_at_all(file, 8000 * own, words, 2000, MPI_INT, MPI_STATUS_IGNORE);
    return code == MPI_SUCCESS ? MPI_File_close(&file) : code;
}

/* The outcome of a call that makes something, for all: who has nothing cannot release those that
   wait there for it. */
static int agreed(MPI_Comm all, int code) {
    int made = code == MPI_SUCCESS;
    MPIX_Comm_agree(all, &made);
    return made || code != MPI_SUCCESS ? code : MPIX_ERR_PROC_FAILED;
}

/* Two halves meet and become one again. */
static int join_halves(MPI_Comm all) {
    MPI_Comm half, both, one;
    int own;
    MPI_Comm_rank(all, &own);
    int code = agreed(all, MPI_Comm_split(all, own % 2, 0, &half));
    if (code == MPI_SUCCESS)
        code = agreed(all, MPI_Intercomm_create(half, 0, all, 1 - own % 2, 9, &both));
    if (code == MPI_SUCCESS)
        code = MPI_Intercomm_merge(both, own % 2, &one);
    if (code == MPI_SUCCESS)
        code = MPI_Comm_free(&one) || MPI_Comm_free(&both) || MPI_Comm_free(&half);
    return code;
}

/* The last rank dies at any time while all repeat such a call; the others get its error, or that of
   the revocation, and go on together. */
static void at_random(int (*call)(MPI_Comm), int number) {
    srand(number);
    struct itimerval once = {{0, 0}, {0, 1000 + rand() % 20000}};
    MPI_Comm left;
    int code, good = 1;
    /* It may die before the others have left this. */
    MPI_Barrier(comm);
    if (rank == victim) {
        signal(SIGALRM, die);
        setitimer(ITIMER_REAL, &once, NULL);
    }
    while (good) {
        code = call(comm);
        CHECK(code == MPI_SUCCESS || is(code, MPIX_ERR_PROC_FAILED) || is(code, MPIX_ERR_REVOKED));
        if (code != MPI_SUCCESS)
            CHECK(MPIX_Comm_revoke(comm) == MPI_SUCCESS);
        good = code == MPI_SUCCESS;
        good = MPIX_Comm_agree(comm, &good) == MPI_SUCCESS && good;
    }
    CHECK(MPIX_Comm_shrink(comm, &left) == MPI_SUCCESS);
    CHECK(MPI_Comm_size(left, &size) == MPI_SUCCESS && call(left) == MPI_SUCCESS);
}

int main(int argc, char **argv) {
    MPI_Comm parent;
    int level;
    self = argv[0];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_get_parent(&parent);
    victim = size - 1;
    CHECK(argc >= 2 && level == MPI_THREAD_MULTIPLE && MPI_Comm_dup(MPI_COMM_WORLD, &comm) == MPI_SUCCESS);
    path = argc > 2 ? argv[2] : "";
    int number = argc > 3 ? atoi(argv[3]) : 0;
    if (strcmp(argv[1], "opens") == 0)
        opens();
    else if (strcmp(argv[1], "merges") == 0)
        merges();
    else if (strcmp(argv[1], "groups") == 0)
        groups();
    else if (strcmp(argv[1], "retried") == 0)
        retried();
    else if (strcmp(argv[1], "from_group") == 0)
        from_group();
    else if (strcmp(argv[1], "waits") == 0)
        waits(path, number);
    else if (strcmp(argv[1], "shrinks") == 0)
        shrinks(parent);
    else if (strcmp(argv[1], "file") == 0)
        at_random(write_file, number);
    else if (strcmp(argv[1], "halves") == 0)
        at_random(join_halves, number);
    else
        CHECK(!"a known way");
    /* Takes notice of a death. */
    MPIX_Comm_failure_ack(MPI_COMM_WORLD);
    if (rank == 0)
        printf("ulfm_making: ok\n");
    MPI_Finalize();
    return 0;
}
