/* The tool information interface, MPI_T: everything is walked, before, during and after MPI, and
 * asked with wrong arguments. What its variables say is the business of tool_values.c. */
#include "tool.h"

#define TEXT 512

static int rank, size;

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

/* ---- categories ---- */

/* More than any category has. */
enum { ROOM = 512 };

static void walk_categories(void) {
    int n, cvars, pvars, events, stamp, again, total[3] = {0};
    OK(MPI_T_category_get_num(&n));
    OK(MPI_T_category_changed(&stamp));
    for (int i = 0; i < n; i++) {
        char name[TEXT], help[TEXT];
        int name_length = TEXT, help_length = TEXT, inside[ROOM], index, counts[3], children;
        OK(MPI_T_category_get_info(i, name, &name_length, help, &help_length, &counts[0], &counts[1], &children));
        OK(MPI_T_category_get_num_events(i, &counts[2]));
        OK(MPI_T_category_get_index(name, &index));
        CHECK(index == i && name[0] && help[0] && counts[0] <= ROOM && counts[1] <= ROOM && children <= ROOM);
        OK(MPI_T_category_get_cvars(i, ROOM, inside));
        for (int k = 0; k < counts[0]; k++)
            OK(MPI_T_cvar_get_info(inside[k], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
        OK(MPI_T_category_get_pvars(i, ROOM, inside));
        for (int k = 0; k < counts[1]; k++)
            OK(MPI_T_pvar_get_info(inside[k], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
        OK(MPI_T_category_get_events(i, ROOM, inside));
        OK(MPI_T_category_get_categories(i, ROOM, inside));
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
    OK(MPI_T_cvar_handle_free(&cvar));
}

static void never(MPI_T_event_instance event, MPI_T_event_registration registration, MPI_T_cb_safety safety,
                  void *data) {
    (void)event, (void)registration, (void)safety, (void)data;
    CHECK(0);
}

static void hostile_callbacks(void) {
    MPI_T_event_registration registration;
    MPI_Info info;
    CHECK_CODE(MPI_T_event_register_callback((MPI_T_event_registration)0x55, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL,
                                             never),
               MPI_T_ERR_INVALID_HANDLE);
    CHECK_CODE(MPI_T_event_handle_alloc(-1, NULL, MPI_INFO_NULL, &registration), MPI_T_ERR_INVALID_INDEX);
    OK(MPI_T_event_handle_alloc(0, NULL, MPI_INFO_NULL, &registration));
    CHECK_CODE(MPI_T_event_register_callback(registration, 12345, MPI_INFO_NULL, NULL, never), MPI_T_ERR_INVALID);
    CHECK_CODE(MPI_T_event_callback_get_info(registration, MPI_T_CB_REQUIRE_NONE, &info), MPI_T_ERR_INVALID);
    CHECK_CODE(MPI_T_event_handle_set_info(registration, (MPI_Info)0x77), MPI_T_ERR_INVALID);
    OK(MPI_T_event_handle_free(registration, NULL, NULL));
    CHECK_CODE(MPI_T_event_handle_free(registration, NULL, NULL), MPI_T_ERR_INVALID_HANDLE);
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
    OK(MPI_T_init_thread(MPI_THREAD_MULTIPLE, &provided));
    CHECK(provided == MPI_THREAD_SERIALIZED);
    OK(MPI_T_pvar_session_create(&session));
    starts_once();
    walk_cvars();
    walk_pvars();
    walk_categories();
    walk_events();
    walk_sources();
    hostile_strings();
    hostile_handles();
    hostile_callbacks();
    report("tool", rank, size);
    MPI_Finalize();
    /* The interface outlives MPI. */
    MPI_T_pvar_handle requests = pvar_handle("requests", MPI_T_PVAR_CLASS_LEVEL);
    read_pvar(requests);
    OK(MPI_T_finalize());
    OK(MPI_T_finalize());
    needs_initialisation();
    return 0;
}
