/* Spawns copies of itself, in the way that the first argument names. */
#include "growth.h"
#include <signal.h>

static const int LONG = 1 << 18;
static char *self;

/* All processes of both sides, in which everybody talks with everybody. */
static void talk(MPI_Comm inter, int high) {
    MPI_Comm all;
    int rank, size, sum = 0, expected = 0;
    CHECK(MPI_Intercomm_merge(inter, high, &all) == MPI_SUCCESS);
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all);
    for (int i = 0; i < size; i++)
        expected += i;
    CHECK(sum == expected);
    int *out = malloc(LONG * sizeof *out), *in = malloc(LONG * sizeof *in);
    for (int step = 1; step < size; step++) {
        int to = (rank + step) % size, from = (rank + size - step) % size;
        for (int i = 0; i < LONG; i++)
            out[i] = rank * 7 + i;
        MPI_Status status;
        MPI_Sendrecv(out, LONG, MPI_INT, to, step, in, LONG, MPI_INT, from, step, all, &status);
        CHECK(status.MPI_SOURCE == from && in[0] == from * 7 && in[LONG - 1] == from * 7 + LONG - 1);
        MPI_Sendrecv(&rank, 1, MPI_INT, to, 0, in, 1, MPI_INT, MPI_ANY_SOURCE, 0, all, &status);
        CHECK(in[0] == status.MPI_SOURCE);
    }
    free(out);
    free(in);
    /* One-sided, in memory of the program's and of the library's. */
    for (int allocated = 0; allocated < 2; allocated++) {
        int own[2] = {-1, -1}, *base = own, got = -1, next = (rank + 1) % size;
        MPI_Win win;
        if (allocated)
            MPI_Win_allocate(sizeof own, sizeof(int), MPI_INFO_NULL, all, &base, &win);
        else
            MPI_Win_create(own, sizeof own, sizeof(int), MPI_INFO_NULL, all, &win);
        MPI_Win_fence(0, win);
        MPI_Put(&rank, 1, MPI_INT, next, 0, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        CHECK(base[0] == (rank + size - 1) % size);
        MPI_Get(&got, 1, MPI_INT, next, 0, 1, MPI_INT, win);
        MPI_Win_fence(0, win);
        CHECK(got == rank);
        MPI_Win_lock_all(0, win);
        MPI_Fetch_and_op(&rank, &got, MPI_INT, next, 0, MPI_SUM, win);
        MPI_Win_flush(next, win);
        MPI_Win_unlock_all(win);
        CHECK(got == rank);
        MPI_Win_free(&win);
    }
    /* Those that are said to share memory can make a window of it. */
    MPI_Comm sharing, part, twin;
    int *shared, sharers;
    MPI_Win win;
    CHECK(MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &sharing) == MPI_SUCCESS);
    MPI_Comm_size(sharing, &sharers);
    CHECK(MPI_Win_allocate_shared(sizeof *shared, 1, MPI_INFO_NULL, sharing, &shared, &win) == MPI_SUCCESS);
    MPI_Win_free(&win);
    MPI_Comm_free(&sharing);
    MPI_Comm_split(all, rank % 2, -rank, &part);
    MPI_Comm_dup(part, &twin);
    MPI_Barrier(twin);
    MPI_Comm_free(&twin);
    MPI_Comm_free(&part);
    MPI_Comm_free(&all);
}

static void receive_late(MPI_Comm parent);

/* Tells the processors that this process may run on. */
static void show_place(const char *who) {
    char line[4096];
    FILE *status = fopen("/proc/self/status", "r");
    CHECK(status != NULL);
    while (fgets(line, sizeof line, status))
        if (strncmp(line, "Cpus_allowed_list:", 18) == 0)
            printf("%s may run on %s", who, line + 19);
    fclose(status);
    fflush(stdout);
}

/* The first parent, the children, the other parents. */
static MPI_Comm in_order(MPI_Comm inter, int is_child) {
    MPI_Comm all, ordered;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Intercomm_merge(inter, is_child, &all);
    MPI_Comm_split(all, 0, is_child ? 1 : rank == 0 ? 0 : 2, &ordered);
    MPI_Comm_free(&all);
    return ordered;
}

/* The first parent frees all communicators with the child, and the second keeps one. */
static void keep(MPI_Comm inter, int is_child) {
    MPI_Comm all, kept;
    int rank;
    MPI_Intercomm_merge(inter, is_child, &all);
    MPI_Comm_rank(all, &rank);
    MPI_Comm_split(all, rank == 0 ? MPI_UNDEFINED : 1, rank, &kept);
    MPI_Comm_free(&all);
    MPI_Comm_free(&inter);
    if (rank > 0)
        MPI_Barrier(kept);
}

static void child(MPI_Comm parent, int argc, char **argv) {
    int rank, size, *appnum, flag;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "arguments") == 0) {
        const char *words[] = {"a b", "", "-n", ":", "::"};
        CHECK(argc == 7);
        for (int i = 0; i < 5; i++)
            CHECK(strcmp(argv[2 + i], words[i]) == 0);
        char folder[4096] = "";
        CHECK(strcmp(getenv("SPAWNED_WITH"), "x=y") == 0);
        CHECK(getcwd(folder, sizeof folder) != NULL && strcmp(folder, "/") == 0);
    } else if (strcmp(what, "numbered") == 0) {
        MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &appnum, &flag);
        CHECK(flag && argc == 3 && atoi(argv[2]) == *appnum && *appnum == (rank > 0));
    } else if (strcmp(what, "dies") == 0) {
        MPI_Barrier(parent);
        raise(SIGKILL);
    } else if (strcmp(what, "ends_amid") == 0) {
        MPI_Barrier(in_order(parent, 1));
        raise(SIGKILL);
    } else if (strcmp(what, "outlives") == 0) {
        MPI_Finalize();
        sleep(3);
        printf("the child is done\n");
        exit(0);
    } else if (strcmp(what, "aborts") == 0) {
        MPI_Barrier(parent);
        MPI_Abort(MPI_COMM_WORLD, 7);
    } else if (strcmp(what, "sleeps") == 0) {
        MPI_Barrier(parent);
        for (;;)
            pause();
    } else if (strcmp(what, "stays") == 0) {
        MPI_Comm_disconnect(&parent);
        usleep(300000);
        if (rank == 0)
            printf("the child is done\n");
        return;
    } else if (strcmp(what, "stays_long") == 0) {
        MPI_Comm_set_errhandler(parent, MPI_ERRORS_RETURN);
        MPI_Barrier(parent);
        MPI_Comm_disconnect(&parent);
        sleep(3);
        printf("the child is done\n");
        return;
    } else if (strcmp(what, "is_kept") == 0) {
        keep(parent, 1);
        for (;;)
            pause();
    } else if (strcmp(what, "forgets") == 0) {
        return;
    } else if (strcmp(what, "placed") == 0) {
        show_place("a child");
        MPI_Barrier(parent);
        MPI_Barrier(parent);
        MPI_Comm_disconnect(&parent);
        return;
    } else if (strcmp(what, "late") == 0) {
        receive_late(parent);
        return;
    } else if (strcmp(what, "hears") == 0) {
        int word = 0;
        MPI_Bcast(&word, 1, MPI_INT, 0, parent);
        CHECK(word == 42 && argc == 3 && strcmp(argv[2], "a b:") == 0);
        MPI_Comm_disconnect(&parent);
        return;
    }
    if (strcmp(what, "short") != 0)
        talk(parent, 1);
    else
        MPI_Barrier(parent);
    MPI_Comm_disconnect(&parent);
    CHECK(parent == MPI_COMM_NULL);
}

static MPI_Comm spawn(const char *what, int count) {
    MPI_Comm inter;
    char *argv[] = {(char *)what, NULL};
    int codes[16], size;
    memset(codes, 0xff, sizeof codes);
    CHECK(MPI_Comm_spawn(self, argv, count, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes) == MPI_SUCCESS);
    for (int i = 0; i < count; i++)
        CHECK(codes[i] == MPI_SUCCESS);
    MPI_Comm_remote_size(inter, &size);
    CHECK(size == count);
    return inter;
}

/* A process, and two jobs of one process that live at the same time, tell where they run. */
static void placed(char *key, char *value) {
    char *argv[] = {"placed", NULL};
    MPI_Comm inter[2];
    MPI_Info info;
    MPI_Info_create(&info);
    if (key != NULL)
        MPI_Info_set(info, key, value);
    show_place("the parent");
    for (int i = 0; i < 2; i++) {
        CHECK(MPI_Comm_spawn(self, argv, 1, info, 0, MPI_COMM_WORLD, &inter[i], MPI_ERRCODES_IGNORE) == 0);
        MPI_Barrier(inter[i]);
    }
    for (int i = 0; i < 2; i++) {
        MPI_Barrier(inter[i]);
        MPI_Comm_disconnect(&inter[i]);
    }
    MPI_Info_free(&info);
}

/* Without a merge, which hangs now and then with MPICH's library. */
static void plain(void) {
    char *argv[] = {"hears", "a b:", NULL};
    int codes[3], word = 42, rank;
    MPI_Comm inter;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    CHECK(MPI_Comm_spawn(self, argv, 3, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes) == MPI_SUCCESS);
    CHECK(codes[0] == MPI_SUCCESS && codes[2] == MPI_SUCCESS);
    MPI_Bcast(&word, 1, MPI_INT, rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
    MPI_Comm_disconnect(&inter);
}

static void merge(void) {
    MPI_Comm inter = spawn("talks", 4);
    talk(inter, 0);
    MPI_Comm_disconnect(&inter);
}

static void arguments(void) {
    char *argv[] = {"arguments", "a b", "", "-n", ":", "::", NULL};
    MPI_Info info;
    MPI_Comm inter;
    MPI_Info_create(&info);
    MPI_Info_set(info, "env", "SPAWNED_WITH=x=y");
    MPI_Info_set(info, "a key that nobody knows", "1");
    MPI_Info_set(info, "soft", "1:9:2");
    MPI_Info_set(info, "wdir", "/");
    MPI_Info_set(info, "host", "localhost");
    /* The program is found by the key alone: nothing of this name is in PATH. */
    char file[4096] = "";
    CHECK(readlink("/proc/self/exe", file, sizeof file - 1) > 0);
    char *name = strrchr(file, '/') + 1, path[4200];
    name[-1] = '\0';
    snprintf(path, sizeof path, "/no/such/folder:%s", file);
    MPI_Info_set(info, "path", path);
    int codes[4], size;
    CHECK(MPI_Comm_spawn(name, argv, 4, info, 0, MPI_COMM_WORLD, &inter, codes) == MPI_SUCCESS);
    MPI_Comm_remote_size(inter, &size);
    CHECK(size == 3 && codes[2] == MPI_SUCCESS && codes[3] == MPI_ERR_SPAWN);
    MPI_Info_free(&info);
    talk(inter, 0);
    MPI_Comm_disconnect(&inter);
}

static void multiple(void) {
    char *commands[] = {self, self}, *first[] = {"numbered", "0", NULL}, *second[] = {"numbered", "1", NULL};
    char **argvs[] = {first, second};
    int counts[] = {1, 2}, codes[3], size;
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm inter;
    CHECK(MPI_Comm_spawn_multiple(2, commands, argvs, counts, infos, 0, MPI_COMM_WORLD, &inter, codes) == 0);
    MPI_Comm_remote_size(inter, &size);
    CHECK(size == 3);
    talk(inter, 0);
    MPI_Comm_disconnect(&inter);
}

static void missing(void) {
    MPI_Comm inter;
    int codes[2] = {0, 0};
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Comm_spawn("/no/such/program", MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes),
                MPI_ERR_SPAWN);
    CHECK(codes[0] == MPI_ERR_SPAWN && codes[1] == MPI_ERR_SPAWN);
    CHECK_CLASS(MPI_Comm_spawn("/bin/true", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter,
                               MPI_ERRCODES_IGNORE),
                MPI_ERR_SPAWN);
    CHECK_CLASS(MPI_Comm_spawn(self, MPI_ARGV_NULL, 0, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, codes), MPI_ERR_ARG);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    merge();
}

/* Spawning and disconnecting again and again takes no more memory and descriptors. */
static void again(int rounds, int children) {
    for (int i = 0; i < rounds; i++) {
        MPI_Comm inter = spawn("short", children);
        MPI_Barrier(inter);
        MPI_Comm_disconnect(&inter);
        look_for_growth(i, rounds, "a parent");
    }
}

/* The children end. Whatever waits for them, or looks for a message of theirs, fails. */
static void lose(const char *how) {
    int word = 0, flag = 0, code;
    MPI_Message message;
    MPI_Comm inter = spawn(how, 2);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    MPI_Barrier(inter);
    do {
        code = MPI_Iprobe(MPI_ANY_SOURCE, 9, inter, &flag, MPI_STATUS_IGNORE);
    } while (code == MPI_SUCCESS && !flag);
    CHECK_CLASS(code, MPI_ERR_PROC_ABORTED);
    CHECK_CLASS(MPI_Recv(&word, 1, MPI_INT, 0, 9, inter, MPI_STATUS_IGNORE), MPI_ERR_PROC_ABORTED);
    CHECK_CLASS(MPI_Send(&word, 1, MPI_INT, 0, 9, inter), MPI_ERR_PROC_ABORTED);
    CHECK_CLASS(MPI_Iprobe(0, 9, inter, &flag, MPI_STATUS_IGNORE), MPI_ERR_PROC_ABORTED);
    CHECK_CLASS(MPI_Improbe(0, 9, inter, &flag, &message, MPI_STATUS_IGNORE), MPI_ERR_PROC_ABORTED);
    CHECK_CLASS(MPI_Barrier(inter), MPI_ERR_PROC_ABORTED);
    MPI_Comm_free(&inter);
}

/* The child ends, and the first parent alone has heard of it when it calls collectives. Those that
   need nothing of the child hear of it from that parent: of a call with several messages each, and of
   one for which they come so late that the parent has taken its message back. */
static void leave_amid(int rank) {
    int flag = 0, code, word = 0;
    char *bytes = calloc(1, 8 * LONG);
    MPI_Comm none, inter = spawn("ends_amid", 1), all = in_order(inter, 0);
    MPI_Comm_set_errhandler(all, MPI_ERRORS_RETURN);
    MPI_Barrier(all);
    if (rank == 0) {
        do {
            code = MPI_Iprobe(1, 9, all, &flag, MPI_STATUS_IGNORE);
        } while (code == MPI_SUCCESS);
        CHECK_CLASS(code, MPI_ERR_PROC_ABORTED);
    }
    code = MPI_Comm_accept("no port", MPI_INFO_NULL, 0, all, &none);
    CHECK_CLASS(code, MPI_ERR_PROC_ABORTED);
    if (rank > 0)
        MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD);
    CHECK_CLASS(MPI_Scatter(bytes, LONG, MPI_CHAR, bytes + 7 * LONG, LONG, MPI_CHAR, 0, all), MPI_ERR_PROC_ABORTED);
    if (rank == 0)
        MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Comm_free(&all);
    MPI_Comm_free(&inter);
}

/* The last parent dies and the first one finalises, so that the second alone is connected. */
static void leave_others(int rank, int size) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm inter = spawn("sleeps", 1);
    MPI_Barrier(inter);
    if (rank == size - 1)
        raise(SIGKILL);
    if (rank == 0)
        return;
    sleep(2);
    MPI_Abort(MPI_COMM_WORLD, 7);
}

/* The parent that called for the child dies. The others part from it, and then one aborts. */
static void part_without_root(int rank) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm inter = spawn("stays_long", 1);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    MPI_Barrier(inter);
    if (rank == 0)
        raise(SIGKILL);
    MPI_Comm_free(&inter);
    sleep(1);
    if (rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 7);
    for (;;)
        pause();
}

/* A long message is received after its sender has begun to leave. */
static void leave_early(void) {
    MPI_Request request;
    int *words = malloc(LONG * sizeof *words);
    MPI_Comm inter = spawn("late", 1);
    for (int i = 0; i < LONG; i++)
        words[i] = i;
    MPI_Send(words, 1, MPI_INT, 0, 8, inter);
    MPI_Isend(words, LONG, MPI_INT, 0, 9, inter, &request);
    MPI_Request_free(&request);
}

static void receive_late(MPI_Comm parent) {
    int *words = malloc(LONG * sizeof *words);
    CHECK(MPI_Recv(words, 1, MPI_INT, 0, 8, parent, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    usleep(300000);
    CHECK(MPI_Recv(words, LONG, MPI_INT, 0, 9, parent, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(words[0] == 0 && words[LONG - 1] == LONG - 1);
    printf("the child has it\n");
}

int main(int argc, char **argv) {
    MPI_Comm parent, inter;
    int rank, size;
    self = argv[0];
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        child(parent, argc, argv);
        MPI_Finalize();
        return 0;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char *what = argc > 1 ? argv[1] : "merge";
    if (strcmp(what, "merge") == 0)
        merge();
    else if (strcmp(what, "plain") == 0)
        plain();
    else if (strcmp(what, "arguments") == 0)
        arguments();
    else if (strcmp(what, "multiple") == 0)
        multiple();
    else if (strcmp(what, "missing") == 0)
        missing();
    else if (strcmp(what, "placed") == 0)
        placed(argc > 2 ? argv[2] : NULL, argc > 3 ? argv[3] : NULL);
    else if (strcmp(what, "again") == 0)
        again(atoi(argv[2]), argc > 3 ? atoi(argv[3]) : 2);
    else if (strcmp(what, "killed") == 0)
        lose("dies");
    else if (strcmp(what, "aborted") == 0)
        lose("aborts");
    else if (strcmp(what, "asleep") == 0) {
        inter = spawn("sleeps", 2);
        MPI_Barrier(inter);
        printf("all sleep\n");
        fflush(stdout);
        for (;;)
            pause();
    }
    else if (strcmp(what, "first") == 0 || strcmp(what, "parts_and_dies") == 0) {
        inter = spawn("stays", 2);
        MPI_Comm_disconnect(&inter);
        if (strcmp(what, "first") != 0)
            raise(SIGKILL);
    } else if (strcmp(what, "amid") == 0) {
        leave_amid(rank);
    } else if (strcmp(what, "apart") == 0) {
        /* A part of the job finalises without the rest, and fails then. */
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(spawn("outlives", 1), MPI_ERRORS_RETURN);
        if (rank > 0)
            raise(SIGKILL);
        usleep(500000);
        MPI_Finalize();
        sleep(1);
        raise(SIGKILL);
    } else if (strcmp(what, "leaves_others") == 0) {
        leave_others(rank, size);
    } else if (strcmp(what, "parts_without_root") == 0) {
        part_without_root(rank);
    } else if (strcmp(what, "kept") == 0) {
        keep(spawn("is_kept", 1), 0);
        sleep(1);
        if (rank > 0)
            MPI_Abort(MPI_COMM_WORLD, 7);
    } else if (strcmp(what, "early") == 0) {
        leave_early();
    } else if (strcmp(what, "forgets") == 0) {
        inter = spawn("forgets", 2);
    } else
        CHECK(!"a known way");
    report("spawns", rank, size);
    MPI_Finalize();
    return 0;
}
