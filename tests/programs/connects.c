/* Two programs that were started apart meet: one accepts, the other connects. The port goes through
   a file, or by a published name. */
#include "growth.h"
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

static int rank, size;

static void talk(MPI_Comm inter, int high) {
    MPI_Comm all;
    int me, total, sum = 0;
    CHECK(MPI_Intercomm_merge(inter, high, &all) == MPI_SUCCESS);
    MPI_Comm_rank(all, &me);
    MPI_Comm_size(all, &total);
    MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, all);
    CHECK(sum == total * (total - 1) / 2 && total > size);
    MPI_Comm_free(&all);
}

static void give(const char *file, const char *port) {
    char draft[4096];
    snprintf(draft, sizeof draft, "%s.draft", file);
    FILE *out = fopen(draft, "w");
    CHECK(out != NULL && fputs(port, out) >= 0 && fclose(out) == 0 && rename(draft, file) == 0);
}

static void take(const char *file, char *port) {
    FILE *in;
    while ((in = fopen(file, "r")) == NULL)
        usleep(10000);
    CHECK(fgets(port, MPI_MAX_PORT_NAME, in) != NULL);
    fclose(in);
}

static void accepting(const char *file, int rounds) {
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter;
    if (rank == 0) {
        CHECK(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS && strlen(port) < 256);
        give(file, port);
    }
    for (int i = 0; i < rounds; i++) {
        CHECK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter) == MPI_SUCCESS);
        talk(inter, 0);
        MPI_Comm_disconnect(&inter);
        CHECK(inter == MPI_COMM_NULL);
        look_for_growth(i, rounds, rank == 0 ? "accepting rank 0" : "accepting rank");
    }
    if (rank == 0)
        CHECK(MPI_Close_port(port) == MPI_SUCCESS);
}

static void connecting(const char *file, int rounds) {
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter;
    if (rank == 0)
        take(file, port);
    for (int i = 0; i < rounds; i++) {
        CHECK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter) == MPI_SUCCESS);
        talk(inter, 1);
        MPI_Comm_disconnect(&inter);
        look_for_growth(i, rounds, rank == 0 ? "connecting rank 0" : "connecting rank");
    }
}

/* The other program that has connected is killed: whoever waits for it learns that. */
static void losing(const char *file) {
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm inter;
    int word = 0;
    CHECK(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
    give(file, port);
    CHECK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    CHECK(MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 0, inter, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    MPI_Comm_disconnect(&inter);
}

static void dying(const char *file) {
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm inter;
    take(file, port);
    CHECK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter) == MPI_SUCCESS);
    _exit(0);
}

static void publishing(const char *service) {
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter;
    if (rank == 0) {
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        CHECK(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
        CHECK(MPI_Publish_name(service, MPI_INFO_NULL, port) == MPI_SUCCESS);
        CHECK_CLASS(MPI_Publish_name(service, MPI_INFO_NULL, port), MPI_ERR_SERVICE);
        CHECK_CLASS(MPI_Unpublish_name("another service", MPI_INFO_NULL, port), MPI_ERR_SERVICE);
    }
    CHECK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter) == MPI_SUCCESS);
    talk(inter, 0);
    MPI_Comm_disconnect(&inter);
    if (rank == 0) {
        CHECK(MPI_Unpublish_name(service, MPI_INFO_NULL, port) == MPI_SUCCESS);
        CHECK_CLASS(MPI_Lookup_name(service, MPI_INFO_NULL, port), MPI_ERR_NAME);
    }
}

static void looking_up(const char *service) {
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm inter;
    if (rank == 0) {
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        while (MPI_Lookup_name(service, MPI_INFO_NULL, port) != MPI_SUCCESS)
            usleep(10000);
    }
    CHECK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter) == MPI_SUCCESS);
    talk(inter, 1);
    MPI_Comm_disconnect(&inter);
}

/* A port comes back as it was published, or is refused. */
static void odd_ports(const char *service) {
    const char *ports[] = {"tag with space", "a\nb", "", "x\rb", "p=q;r", "base64:x", "\xff\\"};
    char found[MPI_MAX_PORT_NAME], longest[MPI_MAX_PORT_NAME + 1];
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (size_t i = 0; i < sizeof ports / sizeof *ports; i++) {
        CHECK(MPI_Publish_name(service, MPI_INFO_NULL, ports[i]) == MPI_SUCCESS);
        CHECK(MPI_Lookup_name(service, MPI_INFO_NULL, found) == MPI_SUCCESS);
        CHECK(strcmp(found, ports[i]) == 0);
        CHECK(MPI_Unpublish_name(service, MPI_INFO_NULL, found) == MPI_SUCCESS);
    }
    memset(longest, 1, MPI_MAX_PORT_NAME);
    longest[MPI_MAX_PORT_NAME] = 0;
    CHECK_CLASS(MPI_Publish_name(service, MPI_INFO_NULL, longest), MPI_ERR_PORT);
    longest[MPI_MAX_PORT_NAME - 1] = 0;
    CHECK(MPI_Publish_name(service, MPI_INFO_NULL, longest) == MPI_SUCCESS);
    CHECK(MPI_Lookup_name(service, MPI_INFO_NULL, found) == MPI_SUCCESS && strcmp(found, longest) == 0);
}

static void refused(void) {
    char port[MPI_MAX_PORT_NAME];
    MPI_Comm inter;
    MPI_Info info;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK_CLASS(MPI_Comm_connect("no port", MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT);
    CHECK_CLASS(MPI_Comm_accept("no port", MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT);
    CHECK(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
    MPI_Info_create(&info);
    MPI_Info_set(info, "timeout", "1");
    CHECK_CLASS(MPI_Comm_connect(port, info, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT);
    MPI_Info_free(&info);
    /* As long as VERBENA_CONNECT_SECONDS says. */
    CHECK_CLASS(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT);
    port[strlen(port) - 1] ^= 1;
    CHECK_CLASS(MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT);
    port[strlen(port) - 1] ^= 1;
    CHECK(MPI_Close_port(port) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &inter), MPI_ERR_PORT);
    CHECK_CLASS(MPI_Comm_join(-1, &inter), MPI_ERR_ARG);
}

/* An argument that is wrong at the root alone fails the call on all ranks. */
static void wrong(void) {
    char port[MPI_MAX_PORT_NAME];
    MPI_Info freed;
    MPI_Info_create(&freed);
    MPI_Info twin = freed;
    MPI_Info_free(&freed);
    CHECK(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int root = 0; root < size; root++) {
        int bad = rank == root;
        MPI_Comm world = MPI_COMM_WORLD, inter;
        MPI_Info info = bad ? twin : MPI_INFO_NULL;
        CHECK_CLASS(MPI_Comm_connect(bad ? NULL : port, MPI_INFO_NULL, root, world, &inter), MPI_ERR_ARG);
        CHECK_CLASS(MPI_Comm_connect(bad ? "junk" : port, MPI_INFO_NULL, root, world, &inter), MPI_ERR_PORT);
        CHECK_CLASS(MPI_Comm_connect(port, info, root, world, &inter), MPI_ERR_INFO);
        CHECK_CLASS(MPI_Comm_accept(bad ? NULL : port, MPI_INFO_NULL, root, world, &inter), MPI_ERR_ARG);
        CHECK_CLASS(MPI_Comm_accept(bad ? "junk" : port, MPI_INFO_NULL, root, world, &inter), MPI_ERR_PORT);
        CHECK_CLASS(MPI_Comm_accept(port, info, root, world, &inter), MPI_ERR_INFO);
    }
    CHECK(MPI_Close_port(port) == MPI_SUCCESS);
}

/* Two groups of one job connect as those of two jobs do. */
static void at_home(void) {
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm half, inter;
    int remote;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    if (rank == 0) {
        CHECK(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
        MPI_Send(port, MPI_MAX_PORT_NAME, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1)
        MPI_Recv(port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank % 2 == 0)
        CHECK(MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &inter) == MPI_SUCCESS);
    else
        CHECK(MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &inter) == MPI_SUCCESS);
    MPI_Comm_remote_size(inter, &remote);
    MPI_Comm_size(half, &size);
    CHECK(remote > 0);
    talk(inter, rank % 2);
    MPI_Comm_disconnect(&inter);
    MPI_Comm_free(&half);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
}

/* A name goes with the process that has published it; the others go on. */
static void orphaned(const char *service) {
    char port[MPI_MAX_PORT_NAME] = "";
    MPI_Comm left;
    int class = MPI_SUCCESS;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    CHECK(MPI_Open_port(MPI_INFO_NULL, port) == MPI_SUCCESS);
    if (rank == 1)
        CHECK(MPI_Publish_name(service, MPI_INFO_NULL, port) == MPI_SUCCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        raise(SIGKILL);
    CHECK(MPIX_Comm_shrink(MPI_COMM_WORLD, &left) == MPI_SUCCESS);
    if (rank == 0) {
        char found[MPI_MAX_PORT_NAME];
        for (int i = 0; i < 500 && class == MPI_SUCCESS; i++) {
            class = class_of(MPI_Lookup_name(service, MPI_INFO_NULL, found));
            usleep(10000);
        }
        CHECK(class == MPI_ERR_NAME);
        CHECK(MPI_Publish_name(service, MPI_INFO_NULL, port) == MPI_SUCCESS);
        CHECK(MPI_Lookup_name(service, MPI_INFO_NULL, found) == MPI_SUCCESS && strcmp(found, port) == 0);
        CHECK(MPI_Unpublish_name(service, MPI_INFO_NULL, port) == MPI_SUCCESS);
    }
    MPI_Comm_free(&left);
}

/* Two processes without a launcher, that share nothing but a socket. */
static void joining(int *argc, char ***argv) {
    int ends[2], word = 7, got = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
        exit(1);
    pid_t other = fork();
    int me = other == 0;
    MPI_Comm inter;
    MPI_Init(argc, argv);
    size = 1;
    CHECK(MPI_Comm_join(ends[me], &inter) == MPI_SUCCESS);
    talk(inter, me);
    MPI_Sendrecv(&word, 1, MPI_INT, 0, 0, &got, 1, MPI_INT, 0, 0, inter, MPI_STATUS_IGNORE);
    CHECK(got == 7);
    MPI_Comm_disconnect(&inter);
    /* The socket is the program's again. */
    CHECK(write(ends[me], "x", 1) == 1);
    report("connects", me, 1);
    MPI_Finalize();
    if (other > 0)
        waitpid(other, NULL, 0);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (strcmp(what, "join") == 0) {
        joining(&argc, &argv);
        return 0;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int rounds = argc > 3 ? atoi(argv[3]) : 1;
    if (strcmp(what, "accept") == 0)
        accepting(argv[2], rounds);
    else if (strcmp(what, "connect") == 0)
        connecting(argv[2], rounds);
    else if (strcmp(what, "lose") == 0)
        losing(argv[2]);
    else if (strcmp(what, "die") == 0)
        dying(argv[2]);
    else if (strcmp(what, "publish") == 0)
        publishing(argv[2]);
    else if (strcmp(what, "look_up") == 0)
        looking_up(argv[2]);
    else if (strcmp(what, "orphaned") == 0)
        orphaned(argv[2]);
    else if (strcmp(what, "odd_ports") == 0)
        odd_ports(argv[2]);
    else if (strcmp(what, "refused") == 0)
        refused();
    else if (strcmp(what, "wrong") == 0)
        wrong();
    else if (strcmp(what, "home") == 0)
        at_home();
    else
        CHECK(!"a known way");
    report("connects", rank, size);
    MPI_Finalize();
    return 0;
}
