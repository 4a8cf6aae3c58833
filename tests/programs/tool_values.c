/* What the variables and events of the tool information interface say is compared with what the
   program did. */
#include "tool.h"

#define UNEXPECTED 10
#define LONG_BYTES (1 << 20)

static int rank, size;
static char *long_bytes;

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

/* Long messages from each even rank to the next: only what goes one way is copied by both. */
static void one_way(int count) {
    for (int i = 0; i < count; i++) {
        if (rank % 2)
            MPI_Recv(long_bytes, LONG_BYTES, MPI_BYTE, rank - 1, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else if (rank + 1 < size)
            MPI_Send(long_bytes, LONG_BYTES, MPI_BYTE, rank + 1, 6, MPI_COMM_WORLD);
    }
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
    OK(write_int("VERBENA_NODE_LEARN", 0));
    for (int both = 1; both >= 0; both--) {
        OK(write_int("VERBENA_COPY_BY_BOTH", both));
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
        one_way(3);
        OK(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES));
        unsigned long long n_shared = read_pvar(shared), n_pulled = read_pvar(pulled), n_streamed = read_pvar(streamed);
        CHECK(n_shared + n_pulled + n_streamed == 3ull * (rank % 2));
        CHECK(both || n_shared == 0);
        /* Where the kernel lets ranks read each other's memory, nothing is streamed. Who has no
         * core of its own copies for nobody. */
        int sharing = both && size <= sysconf(_SC_NPROCESSORS_ONLN);
        CHECK(n_streamed == 3 || rank % 2 == 0 || (sharing ? n_shared : n_pulled) == 3);
        OK(MPI_T_pvar_reset(session, MPI_T_PVAR_ALL_HANDLES));
    }
    CHECK_CODE(write_int("VERBENA_COPY_BY_BOTH", 2), MPI_T_ERR_INVALID);
    OK(write_int("VERBENA_COPY_BY_BOTH", 1));
    OK(write_int("VERBENA_NODE_LEARN", 1));
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
    /* With the settings of main a wait sleeps at its second round. */
    if (rank == 0)
        usleep(300000);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(rank == 0 || read_pvar(slept) > 0);
}

/* ---- events ---- */

struct seen {
    int calls, dropped, tag, freed;
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
    struct seen *seen = data;
    CHECK(registration == seen->registration && source == 0 && safety == MPI_T_CB_REQUIRE_NONE);
    seen->dropped += (int)count;
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

/* More events than wait for their callbacks are dropped, and that is said. */
static void counts_dropped(void) {
    int index, flag, floods = 5000;
    struct seen seen = {0};
    char byte = 0;
    OK(MPI_T_event_get_index("unexpected_message", &index));
    OK(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &seen.registration));
    OK(MPI_T_event_set_dropped_handler(seen.registration, on_dropped));
    OK(MPI_T_event_register_callback(seen.registration, MPI_T_CB_REQUIRE_THREAD_SAFE, MPI_INFO_NULL, &seen, on_event));
    for (int i = 0; i < floods; i++)
        MPI_Send(&byte, 1, MPI_BYTE, rank, 1, MPI_COMM_WORLD);
    for (int i = 0; i < floods; i++) {
        MPI_Recv(&byte, 1, MPI_BYTE, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Iprobe(rank, 2, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    CHECK(seen.calls > 0 && seen.calls + seen.dropped == floods);
    OK(MPI_T_event_handle_free(seen.registration, NULL, NULL));
}

int main(int argc, char **argv) {
    int provided;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(write_count("VERBENA_EAGER_BYTES_MAX", 4096));
    /* Collectives by messages, which can be counted. */
    OK(write_int("VERBENA_BOARDS", 0));
    OK(write_count("VERBENA_WAIT_SPINS", 0));
    OK(write_count("VERBENA_WAIT_YIELDS", 1));
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long_bytes = calloc(2, LONG_BYTES);
    OK(MPI_T_pvar_session_create(&session));
    in_peace(counts_unexpected);
    in_peace(counts_posted);
    counts_by_channel();
    limits_eager();
    chooses_the_copier();
    chooses_the_algorithm();
    counts_sleeps();
    in_peace(hears_of_unexpected);
    in_peace(counts_dropped);
    report("tool_values", rank, size);
    MPI_Finalize();
    OK(MPI_T_finalize());
    free(long_bytes);
    return 0;
}
