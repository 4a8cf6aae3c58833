/* The tool information interface, MPI_T: everything is walked, and what the variables say is compared with what the
 * program did. */
#include "check.h"
#include <stdint.h>
#include <unistd.h>

#define UNEXPECTED 10
#define LONG_BYTES (1 << 20)
#define TEXT 512

static int rank, size;
static char *long_bytes;

/* Errors of MPI_T are return codes only. */
#define CHECK_CODE(call, expected)                                                                                     \
    do {                                                                                                               \
        int code_ = call;                                                                                              \
        if (code_ != (expected)) {                                                                                     \
            fprintf(stderr, "%s:%d: %s gave %d, expected %s (%d)\n", __FILE__, __LINE__, #call, code_, #expected,      \
                    expected);                                                                                         \
            exit(3);                                                                                                   \
        }                                                                                                              \
    } while (0)
#define OK(call) CHECK_CODE(call, MPI_SUCCESS)

/* ---- before and after MPI ---- */

static void needs_initialisation(void) {
    int n;
    MPI_T_pvar_session session;
    CHECK_CODE(MPI_T_cvar_get_num(&n), MPI_T_ERR_NOT_INITIALIZED);
    CHECK_CODE(MPI_T_pvar_session_create(&session), MPI_T_ERR_NOT_INITIALIZED);
    CHECK_CODE(MPI_T_event_get_num(&n), MPI_T_ERR_NOT_INITIALIZED);
    CHECK_CODE(MPI_T_finalize(), MPI_T_ERR_NOT_INITIALIZED);
}

static void counts_its_users(void) {
    int n, provided;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    CHECK(provided == MPI_THREAD_SINGLE);
    OK(MPI_T_init_thread(MPI_THREAD_SERIALIZED, &provided));
    CHECK(provided >= MPI_THREAD_SERIALIZED);
    OK(MPI_T_finalize());
    OK(MPI_T_cvar_get_num(&n));
    OK(MPI_T_finalize());
    needs_initialisation();
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
}

/* ---- control variables ---- */

static int cvar_of(const char *name) {
    int index = -1;
    OK(MPI_T_cvar_get_index(name, &index));
    return index;
}

static MPI_T_cvar_handle cvar_handle(const char *name) {
    MPI_T_cvar_handle handle;
    int count;
    OK(MPI_T_cvar_handle_alloc(cvar_of(name), NULL, &handle, &count));
    return handle;
}

static MPI_Count read_count(const char *name) {
    MPI_T_cvar_handle handle = cvar_handle(name);
    MPI_Count value = -7;
    OK(MPI_T_cvar_read(handle, &value));
    OK(MPI_T_cvar_handle_free(&handle));
    CHECK(handle == MPI_T_CVAR_HANDLE_NULL);
    return value;
}

static int write_count(const char *name, MPI_Count value) {
    MPI_T_cvar_handle handle = cvar_handle(name);
    int code = MPI_T_cvar_write(handle, &value);
    OK(MPI_T_cvar_handle_free(&handle));
    return code;
}

static int write_int(const char *name, int value) {
    MPI_T_cvar_handle handle = cvar_handle(name);
    int code = MPI_T_cvar_write(handle, &value);
    OK(MPI_T_cvar_handle_free(&handle));
    return code;
}

static void walk_enum(MPI_T_enum enumeration, int value) {
    char name[TEXT];
    int n, item, found = 0, length = TEXT;
    OK(MPI_T_enum_get_info(enumeration, &n, name, &length));
    CHECK(n > 1 && length == (int)strlen(name) + 1);
    for (int i = 0; i < n; i++) {
        length = TEXT;
        OK(MPI_T_enum_get_item(enumeration, i, &item, name, &length));
        CHECK(name[0] != 0);
        found |= item == value;
    }
    CHECK(found);
    CHECK_CODE(MPI_T_enum_get_item(enumeration, n, &item, name, &length), MPI_T_ERR_INVALID_INDEX);
    CHECK_CODE(MPI_T_enum_get_item(enumeration, -1, &item, name, &length), MPI_T_ERR_INVALID_INDEX);
}

static void walk_cvar(int index) {
    char name[TEXT], help[TEXT], value[4096];
    int name_length = TEXT, help_length = TEXT, verbosity, bind, scope, again, count, size_of = 0, number = 0;
    MPI_Datatype type;
    MPI_T_enum enumeration;
    MPI_T_cvar_handle handle;
    OK(MPI_T_cvar_get_info(index, name, &name_length, &verbosity, &type, &enumeration, help, &help_length, &bind,
                           &scope));
    CHECK(name_length == (int)strlen(name) + 1 && strncmp(name, "VERBENA_", 8) == 0 && help_length > 10);
    CHECK(verbosity >= MPI_T_VERBOSITY_USER_BASIC && verbosity <= MPI_T_VERBOSITY_MPIDEV_ALL);
    CHECK(bind == MPI_T_BIND_NO_OBJECT && scope >= MPI_T_SCOPE_CONSTANT && scope <= MPI_T_SCOPE_ALL_EQ);
    OK(MPI_T_cvar_get_index(name, &again));
    CHECK(again == index);
    OK(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count));
    size_of = type == MPI_COUNT ? 8 : type == MPI_INT ? 4 : 1;
    CHECK(count >= 1 && (size_t)count * (size_t)size_of <= sizeof value);
    OK(MPI_T_cvar_read(handle, value));
    if (enumeration != MPI_T_ENUM_NULL) {
        CHECK(type == MPI_INT);
        memcpy(&number, value, sizeof number);
        walk_enum(enumeration, number);
    } else {
        CHECK(type == MPI_COUNT || type == MPI_CHAR);
    }
    OK(MPI_T_cvar_handle_free(&handle));
    CHECK_CODE(MPI_T_cvar_read(handle, value), MPI_T_ERR_INVALID_HANDLE);
}

static void walk_cvars(void) {
    int n;
    OK(MPI_T_cvar_get_num(&n));
    CHECK(n >= 20);
    for (int i = 0; i < n; i++)
        walk_cvar(i);
    CHECK_CODE(MPI_T_cvar_get_index("VERBENA_NOT_THERE", &n), MPI_T_ERR_INVALID_NAME);
}

/* Settings of the start can be written until MPI_Init. */
static void sets_before_init(void) {
    CHECK(read_count("VERBENA_SHM_RING_BYTES") == -1);
    OK(write_count("VERBENA_SHM_RING_BYTES", 1 << 17));
    CHECK(read_count("VERBENA_SHM_RING_BYTES") == 1 << 17);
    CHECK_CODE(write_count("VERBENA_SHM_RING_BYTES", 0), MPI_T_ERR_INVALID);
    CHECK_CODE(write_count("VERBENA_SHM_RING_BYTES", -2), MPI_T_ERR_INVALID);
    CHECK(read_count("VERBENA_SHM_RING_BYTES") == 1 << 17);
    OK(write_count("VERBENA_EAGER_BYTES_MAX", 4096));
}

static void writes_texts(void) {
    MPI_T_cvar_handle handle = cvar_handle("VERBENA_CHANNELS");
    char text[1024] = "x";
    OK(MPI_T_cvar_read(handle, text));
    CHECK(text[0] == 0);
    CHECK_CODE(MPI_T_cvar_write(handle, "shm,warp"), MPI_T_ERR_INVALID);
    OK(MPI_T_cvar_write(handle, "shm,cma,loopback"));
    OK(MPI_T_cvar_read(handle, text));
    CHECK(strcmp(text, "shm,cma,loopback") == 0);
    OK(MPI_T_cvar_handle_free(&handle));
}

static void starts_once(void) {
    CHECK_CODE(write_count("VERBENA_SHM_RING_BYTES", 1 << 16), MPI_T_ERR_CVAR_SET_NEVER);
    CHECK_CODE(write_int("VERBENA_CMA", 0), MPI_T_ERR_CVAR_SET_NEVER);
    CHECK(read_count("VERBENA_SHM_RING_BYTES") == 1 << 17);
}

/* ---- performance variables ---- */

static MPI_T_pvar_session session;

static int pvar_of(const char *name, int class) {
    int index = -1;
    OK(MPI_T_pvar_get_index(name, class, &index));
    return index;
}

static MPI_T_pvar_handle pvar_handle(const char *name, int class) {
    MPI_T_pvar_handle handle;
    int count = 0;
    OK(MPI_T_pvar_handle_alloc(session, pvar_of(name, class), NULL, &handle, &count));
    CHECK(count == 1);
    return handle;
}

static unsigned long long read_pvar(MPI_T_pvar_handle handle) {
    unsigned long long value = 12345678;
    OK(MPI_T_pvar_read(session, handle, &value));
    return value;
}

static void walk_pvar(int index) {
    char name[TEXT], help[TEXT];
    int name_length = TEXT, help_length = TEXT, verbosity, class, bind, readonly, continuous, atomic, again, count;
    MPI_Datatype type;
    MPI_T_enum enumeration;
    MPI_T_pvar_handle handle;
    unsigned long long value = 1;
    OK(MPI_T_pvar_get_info(index, name, &name_length, &verbosity, &class, &type, &enumeration, help, &help_length,
                           &bind, &readonly, &continuous, &atomic));
    CHECK(name_length == (int)strlen(name) + 1 && help_length > 5 && bind == MPI_T_BIND_NO_OBJECT);
    CHECK(type == MPI_UNSIGNED_LONG_LONG && enumeration == MPI_T_ENUM_NULL);
    OK(MPI_T_pvar_get_index(name, class, &again));
    CHECK(again == index);
    CHECK_CODE(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_TIMER, &again), MPI_T_ERR_INVALID_NAME);
    OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count));
    if (continuous) {
        CHECK_CODE(MPI_T_pvar_start(session, handle), MPI_T_ERR_PVAR_NO_STARTSTOP);
        CHECK_CODE(MPI_T_pvar_stop(session, handle), MPI_T_ERR_PVAR_NO_STARTSTOP);
    } else {
        OK(MPI_T_pvar_start(session, handle));
        OK(MPI_T_pvar_stop(session, handle));
    }
    if (readonly) {
        CHECK_CODE(MPI_T_pvar_write(session, handle, &value), MPI_T_ERR_PVAR_NO_WRITE);
        CHECK_CODE(MPI_T_pvar_reset(session, handle), MPI_T_ERR_PVAR_NO_WRITE);
        CHECK_CODE(MPI_T_pvar_readreset(session, handle, &value), MPI_T_ERR_PVAR_NO_ATOMIC);
    } else {
        value = 77;
        OK(MPI_T_pvar_write(session, handle, &value));
        CHECK(read_pvar(handle) == 77 && atomic);
        value = 0;
        OK(MPI_T_pvar_readreset(session, handle, &value));
        CHECK(value == 77);
        OK(MPI_T_pvar_reset(session, handle));
    }
    read_pvar(handle);
    OK(MPI_T_pvar_handle_free(session, &handle));
    CHECK(handle == MPI_T_PVAR_HANDLE_NULL);
}

static void walk_pvars(void) {
    int n;
    OK(MPI_T_pvar_get_num(&n));
    CHECK(n >= 20);
    for (int i = 0; i < n; i++)
        walk_pvar(i);
}

/* Each rank in turn does this while no other sends it anything. */
static void in_peace(void (*what)(void)) {
    for (int turn = 0; turn < size; turn++) {
        char done = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        if (turn != rank) {
            MPI_Recv(&done, 1, MPI_BYTE, turn, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            continue;
        }
        what();
        for (int other = 0; other < size; other++)
            if (other != rank)
                MPI_Send(&done, 1, MPI_BYTE, other, 99, MPI_COMM_WORLD);
    }
}

/* Messages that nobody asked for stand in the queue, and leave it when they are received. */
static void counts_unexpected(void) {
    MPI_T_pvar_handle length = pvar_handle("unexpected_messages", MPI_T_PVAR_CLASS_LEVEL);
    MPI_T_pvar_handle bytes = pvar_handle("unexpected_bytes", MPI_T_PVAR_CLASS_LEVEL);
    MPI_T_pvar_handle high = pvar_handle("unexpected_messages_high", MPI_T_PVAR_CLASS_HIGHWATERMARK);
    MPI_T_pvar_handle high_bytes = pvar_handle("unexpected_bytes_high", MPI_T_PVAR_CLASS_HIGHWATERMARK);
    char message[100] = {0};
    unsigned long long before = read_pvar(length), before_bytes = read_pvar(bytes);
    for (int i = 0; i < UNEXPECTED; i++)
        MPI_Send(message, sizeof message, MPI_BYTE, rank, i, MPI_COMM_WORLD);
    for (int flag = 0; !flag;)
        MPI_Iprobe(rank, UNEXPECTED - 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    CHECK(read_pvar(length) == before + UNEXPECTED);
    CHECK(read_pvar(bytes) == before_bytes + UNEXPECTED * sizeof message);
    CHECK(read_pvar(high) >= before + UNEXPECTED);
    for (int i = 0; i < UNEXPECTED; i++) {
        MPI_Recv(message, sizeof message, MPI_BYTE, rank, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(read_pvar(length) == before + UNEXPECTED - 1 - (unsigned long long)i);
    }
    CHECK(read_pvar(bytes) == before_bytes && read_pvar(high_bytes) >= UNEXPECTED * sizeof message);
    /* Another handle begins with what there is now; this one keeps its mark until it is reset. */
    MPI_T_pvar_handle later = pvar_handle("unexpected_messages_high", MPI_T_PVAR_CLASS_HIGHWATERMARK);
    CHECK(read_pvar(later) == before && read_pvar(high) >= before + UNEXPECTED);
    OK(MPI_T_pvar_reset(session, high));
    CHECK(read_pvar(high) == before);
}

static void counts_posted(void) {
    MPI_T_pvar_handle posted = pvar_handle("posted_receives", MPI_T_PVAR_CLASS_LEVEL);
    MPI_T_pvar_handle live = pvar_handle("requests", MPI_T_PVAR_CLASS_LEVEL);
    unsigned long long before = read_pvar(posted), before_live = read_pvar(live);
    MPI_Request requests[5];
    char byte;
    for (int i = 0; i < 5; i++)
        MPI_Irecv(&byte, 1, MPI_BYTE, rank, i, MPI_COMM_WORLD, &requests[i]);
    CHECK(read_pvar(posted) == before + 5 && read_pvar(live) == before_live + 5);
    for (int i = 0; i < 5; i++) {
        MPI_Cancel(&requests[i]);
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    }
    CHECK(read_pvar(posted) == before && read_pvar(live) == before_live);
}

/* Sends `count` messages of `bytes` to the next rank and receives as many. */
static void exchange(int count, int bytes) {
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    for (int i = 0; i < count; i++)
        MPI_Sendrecv(long_bytes, bytes, MPI_BYTE, next, 5, long_bytes + LONG_BYTES, bytes, MPI_BYTE, previous, 5,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Bytes and messages of a channel grow by what was sent; a stopped handle stays as it is. */
static void counts_by_channel(void) {
    int alone = size == 1;
    MPI_T_pvar_handle bytes =
        pvar_handle(alone ? "loopback_bytes_sent" : "shm_bytes_sent", MPI_T_PVAR_CLASS_AGGREGATE);
    MPI_T_pvar_handle arrived =
        pvar_handle(alone ? "loopback_bytes_received" : "shm_bytes_received", MPI_T_PVAR_CLASS_AGGREGATE);
    MPI_T_pvar_handle packets =
        pvar_handle(alone ? "loopback_packets_sent" : "shm_packets_sent", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle eager = pvar_handle("eager_sent", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle eager_in = pvar_handle("eager_received", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle all[] = {bytes, arrived, packets, eager, eager_in};
    for (int i = 0; i < 5; i++) {
        CHECK(read_pvar(all[i]) == 0);
        OK(MPI_T_pvar_start(session, all[i]));
        OK(MPI_T_pvar_start(session, all[i]));
    }
    /* The barriers have no bytes, and keep the exchanges apart. */
    MPI_Barrier(MPI_COMM_WORLD);
    exchange(20, 1000);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 5; i++)
        OK(MPI_T_pvar_stop(session, all[i]));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(read_pvar(bytes) == 20000 && read_pvar(arrived) == 20000);
    unsigned long long most = 20 + 8 * (unsigned)size;
    CHECK(read_pvar(packets) >= 20 && read_pvar(packets) <= most);
    CHECK(read_pvar(eager) >= 20 && read_pvar(eager) <= most);
    CHECK(read_pvar(eager_in) >= 20 && read_pvar(eager_in) <= most);
    exchange(3, 500);
    CHECK(read_pvar(bytes) == 20000);
    OK(MPI_T_pvar_start(session, bytes));
    exchange(1, 500);
    CHECK(read_pvar(bytes) == 20500);
    OK(MPI_T_pvar_reset(session, bytes));
    CHECK(read_pvar(bytes) == 0);
}

/* ---- writing a setting shows ---- */

static void limits_eager(void) {
    MPI_T_pvar_handle announced = pvar_handle("rendezvous_sent", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle taken = pvar_handle("rendezvous_received", MPI_T_PVAR_CLASS_COUNTER);
    /* Nothing is under way when all are here. */
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_T_pvar_start(session, announced));
    OK(MPI_T_pvar_start(session, taken));
    exchange(4, 4096);
    CHECK(read_pvar(announced) == 0);
    exchange(4, 4097);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(read_pvar(announced) == 4 && read_pvar(taken) == 4);
}

/* Both sides copy a long message, or only the receiver, as the setting says. */
static void chooses_the_copier(void) {
    MPI_T_pvar_handle shared = pvar_handle("rendezvous_shared", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle pulled = pvar_handle("rendezvous_pulled", MPI_T_PVAR_CLASS_COUNTER);
    MPI_T_pvar_handle streamed = pvar_handle("rendezvous_streamed", MPI_T_PVAR_CLASS_COUNTER);
    for (int both = 1; both >= 0; both--) {
        OK(write_int("VERBENA_COPY_BY_BOTH", both));
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
        exchange(3, LONG_BYTES);
        OK(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES));
        unsigned long long n_shared = read_pvar(shared), n_pulled = read_pvar(pulled), n_streamed = read_pvar(streamed);
        CHECK(n_shared + n_pulled + n_streamed == 3);
        CHECK(both || n_shared == 0);
        /* Where the kernel lets ranks read each other's memory, nothing is streamed; a process alone always copies alone. */
        CHECK(n_streamed == 3 || size == 1 || (both ? n_shared : n_pulled) == 3);
        OK(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
    }
    CHECK_CODE(write_int("VERBENA_COPY_BY_BOTH", 2), MPI_T_ERR_INVALID);
    OK(write_int("VERBENA_COPY_BY_BOTH", 1));
}

/* A broadcast down a tree has one message for each rank; the long ones of two parts have more. */
static void chooses_the_algorithm(void) {
    if (size < 4)
        return;
    unsigned long long sent[2];
    MPI_T_pvar_handle packets = pvar_handle("shm_packets_sent", MPI_T_PVAR_CLASS_COUNTER);
    MPI_Count whole = read_count("VERBENA_COLL_BCAST_WHOLE_BYTES_MAX");
    CHECK(whole > 4000 && write_count("VERBENA_COLL_BCAST_CHAIN_RANKS_MAX", 0) == MPI_SUCCESS);
    for (int split = 0; split < 2; split++) {
        OK(write_count("VERBENA_COLL_BCAST_WHOLE_BYTES_MAX", split ? 100 : whole));
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_T_pvar_start(session, packets));
        MPI_Bcast(long_bytes, 4000, MPI_BYTE, 0, MPI_COMM_WORLD);
        OK(MPI_T_pvar_stop(session, packets));
        sent[split] = read_pvar(packets);
        OK(MPI_T_pvar_reset(session, packets));
        MPI_Allreduce(MPI_IN_PLACE, &sent[split], 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK(sent[1] > sent[0]);
    OK(write_count("VERBENA_COLL_BCAST_WHOLE_BYTES_MAX", whole));
}

static void counts_sleeps(void) {
    MPI_T_pvar_handle slept = pvar_handle("waits_slept", MPI_T_PVAR_CLASS_COUNTER);
    OK(MPI_T_pvar_start(session, slept));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        usleep(600000);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(rank == 0 || read_pvar(slept) > 0);
}

/* ---- categories ---- */

static void walk_categories(void) {
    int n, cvars, pvars, events, stamp, again, total[3] = {0};
    OK(MPI_T_category_get_num(&n));
    OK(MPI_T_category_changed(&stamp));
    for (int i = 0; i < n; i++) {
        char name[TEXT], help[TEXT];
        int name_length = TEXT, help_length = TEXT, inside[64], index, counts[3], children;
        OK(MPI_T_category_get_info(i, name, &name_length, help, &help_length, &counts[0], &counts[1], &children));
        OK(MPI_T_category_get_num_events(i, &counts[2]));
        OK(MPI_T_category_get_index(name, &index));
        CHECK(index == i && name[0] && help[0] && counts[0] <= 64 && counts[1] <= 64 && children <= 64);
        OK(MPI_T_category_get_cvars(i, 64, inside));
        for (int k = 0; k < counts[0]; k++)
            OK(MPI_T_cvar_get_info(inside[k], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
        OK(MPI_T_category_get_pvars(i, 64, inside));
        for (int k = 0; k < counts[1]; k++)
            OK(MPI_T_pvar_get_info(inside[k], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
        OK(MPI_T_category_get_events(i, 64, inside));
        OK(MPI_T_category_get_categories(i, 64, inside));
        for (int k = 0; k < children; k++)
            CHECK(inside[k] > i && inside[k] < n);
        for (int k = 0; k < 3; k++)
            total[k] += counts[k];
        /* No more than there is room for is written. */
        inside[1] = -9;
        OK(MPI_T_category_get_categories(i, 1, inside));
        CHECK(inside[1] == -9);
    }
    OK(MPI_T_cvar_get_num(&cvars));
    OK(MPI_T_pvar_get_num(&pvars));
    OK(MPI_T_event_get_num(&events));
    CHECK(total[0] == cvars && total[1] == pvars && total[2] == events);
    OK(MPI_T_category_changed(&again));
    CHECK(stamp == again);
    CHECK_CODE(MPI_T_category_get_info(n, NULL, NULL, NULL, NULL, NULL, NULL, NULL), MPI_T_ERR_INVALID_INDEX);
    CHECK_CODE(MPI_T_category_get_index("nowhere", &again), MPI_T_ERR_INVALID_NAME);
}

/* ---- events ---- */

struct seen {
    int calls, tag, freed;
    MPI_Count bytes, timestamp;
    MPI_T_event_registration registration;
    MPI_T_event_instance last;
};

static void on_event(MPI_T_event_instance event, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                     void *data) {
    struct seen *seen = data;
    struct {
        MPI_Count bytes;
        int process, source, tag;
    } all;
    int source, element;
    CHECK(safety == MPI_T_CB_REQUIRE_NONE && registration == seen->registration);
    OK(MPI_T_event_copy(event, &all));
    OK(MPI_T_event_read(event, 3, &element));
    CHECK(element == all.tag && all.process == rank && all.source == rank);
    CHECK_CODE(MPI_T_event_read(event, 4, &element), MPI_T_ERR_INVALID_INDEX);
    OK(MPI_T_event_get_source(event, &source));
    OK(MPI_T_event_get_timestamp(event, &seen->timestamp));
    CHECK(source == 0);
    seen->calls++;
    seen->bytes = all.bytes;
    seen->tag = all.tag;
    seen->last = event;
    /* With nothing demanded of it, a callback may call any MPI function. */
    int flag;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

static void on_free(MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data) {
    struct seen *seen = data;
    CHECK(registration == seen->registration && safety == MPI_T_CB_REQUIRE_NONE);
    seen->freed = 1;
}

static void on_dropped(MPI_Count count, MPI_T_event_registration registration, int source, MPI_T_cb_safety safety,
                       void *data) {
    (void)count, (void)registration, (void)source, (void)safety, (void)data;
}

static void walk_events(void) {
    int n;
    OK(MPI_T_event_get_num(&n));
    CHECK(n >= 3);
    for (int i = 0; i < n; i++) {
        char name[TEXT], help[TEXT];
        int name_length = TEXT, help_length = TEXT, verbosity, elements = 8, bind, index;
        MPI_Datatype types[8];
        MPI_Aint places[8];
        MPI_T_enum enumeration;
        MPI_Info info;
        OK(MPI_T_event_get_info(i, name, &name_length, &verbosity, types, places, &elements, &enumeration, &info, help,
                                &help_length, &bind));
        CHECK(elements >= 1 && elements <= 8 && places[0] == 0 && bind == MPI_T_BIND_NO_OBJECT);
        CHECK(types[0] == MPI_COUNT || types[0] == MPI_INT);
        OK(MPI_T_event_get_index(name, &index));
        CHECK(index == i);
        MPI_Info_free(&info);
    }
    CHECK_CODE(MPI_T_event_get_index("nothing", &n), MPI_T_ERR_INVALID_NAME);
}

static void walk_sources(void) {
    int n, length = TEXT;
    char name[TEXT];
    MPI_T_source_order order;
    MPI_Count ticks, most, first, second;
    OK(MPI_T_source_get_num(&n));
    CHECK(n == 1);
    OK(MPI_T_source_get_info(0, name, &length, NULL, NULL, &order, &ticks, &most, NULL));
    CHECK(order == MPI_T_SOURCE_ORDERED && ticks == 1000000000 && most > ticks);
    OK(MPI_T_source_get_timestamp(0, &first));
    usleep(1000);
    OK(MPI_T_source_get_timestamp(0, &second));
    CHECK(second - first >= ticks / 1000);
    CHECK_CODE(MPI_T_source_get_timestamp(1, &first), MPI_T_ERR_INVALID_INDEX);
}

static void hears_of_unexpected(void) {
    int index, flag;
    struct seen seen = {0};
    char byte[33] = {0};
    MPI_Info info;
    MPI_Count before, after;
    OK(MPI_T_event_get_index("unexpected_message", &index));
    OK(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &seen.registration));
    OK(MPI_T_event_set_dropped_handler(seen.registration, on_dropped));
    CHECK_CODE(MPI_T_event_callback_get_info(seen.registration, MPI_T_CB_REQUIRE_NONE, &info), MPI_T_ERR_INVALID);
    OK(MPI_T_event_register_callback(seen.registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &seen, on_event));
    OK(MPI_T_event_callback_get_info(seen.registration, MPI_T_CB_REQUIRE_NONE, &info));
    OK(MPI_Info_free(&info));
    OK(MPI_T_event_handle_get_info(seen.registration, &info));
    OK(MPI_T_event_handle_set_info(seen.registration, info));
    OK(MPI_Info_free(&info));
    seen.calls = 0;
    OK(MPI_T_source_get_timestamp(0, &before));
    MPI_Send(byte, 33, MPI_BYTE, rank, 4711, MPI_COMM_WORLD);
    for (flag = 0; !flag;)
        MPI_Iprobe(rank, 4711, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Recv(byte, 33, MPI_BYTE, rank, 4711, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    OK(MPI_T_source_get_timestamp(0, &after));
    CHECK(seen.calls == 1 && seen.tag == 4711 && seen.bytes == 33);
    CHECK(seen.timestamp >= before && seen.timestamp <= after);
    /* An event is gone when its callback has returned. */
    CHECK_CODE(MPI_T_event_read(seen.last, 0, &before), MPI_T_ERR_INVALID_HANDLE);
    OK(MPI_T_event_handle_free(seen.registration, &seen, on_free));
    CHECK(seen.freed);
    CHECK_CODE(MPI_T_event_handle_free(seen.registration, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
    MPI_Send(byte, 33, MPI_BYTE, rank, 4712, MPI_COMM_WORLD);
    MPI_Recv(byte, 33, MPI_BYTE, rank, 4712, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK(seen.calls == 1);
}

/* ---- hostile arguments ---- */

static void hostile_strings(void) {
    char name[TEXT];
    int length = 5, whole;
    memset(name, 'x', sizeof name);
    OK(MPI_T_pvar_get_info(0, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(strlen(name) == 4 && name[5] == 'x' && length > 5);
    whole = length;
    length = 0;
    OK(MPI_T_pvar_get_info(0, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(length == whole && strlen(name) == 4);
    length = 3;
    OK(MPI_T_pvar_get_info(0, NULL, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(length == whole);
    OK(MPI_T_pvar_get_info(0, name, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(strlen(name) == 4);
    length = -1;
    OK(MPI_T_pvar_get_info(0, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(length == whole);
}

static void hostile_handles(void) {
    int count;
    MPI_Count value = 0;
    MPI_T_cvar_handle cvar = cvar_handle("VERBENA_CLAIM_BYTES");
    MPI_T_pvar_handle pvar = pvar_handle("requests", MPI_T_PVAR_CLASS_LEVEL), garbage;
    MPI_T_pvar_session other, freed;
    OK(MPI_T_pvar_session_create(&other));
    CHECK_CODE(MPI_T_cvar_read((MPI_T_cvar_handle)(void *)pvar, &value), MPI_T_ERR_INVALID_HANDLE);
    CHECK_CODE(MPI_T_cvar_read((MPI_T_cvar_handle)0xdeadbeef, &value), MPI_T_ERR_INVALID_HANDLE);
    CHECK_CODE(MPI_T_cvar_read(MPI_T_CVAR_HANDLE_NULL, &value), MPI_T_ERR_INVALID_HANDLE);
    CHECK_CODE(MPI_T_cvar_read((MPI_T_cvar_handle)(void *)MPI_COMM_WORLD, &value), MPI_T_ERR_INVALID_HANDLE);
    CHECK_CODE(MPI_T_cvar_read(cvar, NULL), MPI_T_ERR_INVALID);
    CHECK_CODE(MPI_T_cvar_write(cvar, NULL), MPI_T_ERR_INVALID);
    CHECK_CODE(MPI_T_pvar_read(other, pvar, &value), MPI_T_ERR_INVALID_HANDLE);
    CHECK_CODE(MPI_T_pvar_read(MPI_T_PVAR_SESSION_NULL, pvar, &value), MPI_T_ERR_INVALID_SESSION);
    CHECK_CODE(MPI_T_pvar_read((MPI_T_pvar_session)(void *)pvar, pvar, &value), MPI_T_ERR_INVALID_SESSION);
    CHECK_CODE(MPI_T_pvar_read(session, MPI_T_PVAR_ALL_HANDLES, &value), MPI_T_ERR_INVALID_HANDLE);
    CHECK_CODE(MPI_T_pvar_handle_alloc(session, -1, NULL, &garbage, &count), MPI_T_ERR_INVALID_INDEX);
    CHECK_CODE(MPI_T_cvar_handle_alloc(100000, NULL, &cvar, &count), MPI_T_ERR_INVALID_INDEX);
    CHECK_CODE(MPI_T_enum_get_info((MPI_T_enum)0x1234567, &count, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
    CHECK_CODE(MPI_T_cvar_get_num(NULL), MPI_T_ERR_INVALID);
    CHECK_CODE(MPI_T_cvar_get_index(NULL, &count), MPI_T_ERR_INVALID);
    freed = other;
    OK(MPI_T_pvar_handle_alloc(other, 0, NULL, &garbage, &count));
    OK(MPI_T_pvar_session_free(&other));
    CHECK(other == MPI_T_PVAR_SESSION_NULL);
    CHECK_CODE(MPI_T_pvar_read(freed, garbage, &value), MPI_T_ERR_INVALID_SESSION);
    CHECK_CODE(MPI_T_pvar_session_free(&freed), MPI_T_ERR_INVALID_SESSION);
    CHECK_CODE(MPI_T_event_read((MPI_T_event_instance)0x55, 0, &value), MPI_T_ERR_INVALID_HANDLE);
    CHECK_CODE(MPI_T_event_register_callback((MPI_T_event_registration)0x55, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL,
                                             on_event),
               MPI_T_ERR_INVALID_HANDLE);
    OK(MPI_T_cvar_handle_free(&cvar));
}

int main(int argc, char **argv) {
    int provided;
    needs_initialisation();
    counts_its_users();
    walk_cvars();
    sets_before_init();
    writes_texts();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long_bytes = calloc(2, LONG_BYTES);
    OK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    CHECK(provided == MPI_THREAD_SERIALIZED);
    OK(MPI_T_pvar_session_create(&session));
    starts_once();
    walk_cvars();
    walk_pvars();
    walk_categories();
    walk_events();
    walk_sources();
    MPI_Barrier(MPI_COMM_WORLD);
    in_peace(counts_unexpected);
    in_peace(counts_posted);
    counts_by_channel();
    limits_eager();
    chooses_the_copier();
    chooses_the_algorithm();
    counts_sleeps();
    in_peace(hears_of_unexpected);
    hostile_strings();
    hostile_handles();
    report("tool", rank, size);
    MPI_Finalize();
    /* The interface outlives MPI. */
    MPI_T_pvar_handle requests = pvar_handle("requests", MPI_T_PVAR_CLASS_LEVEL);
    read_pvar(requests);
    OK(MPI_T_finalize());
    OK(MPI_T_finalize());
    needs_initialisation();
    free(long_bytes);
    return 0;
}
