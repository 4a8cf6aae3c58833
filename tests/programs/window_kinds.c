/* Windows of every flavor: their attributes, memory, names, groups, hints and error handlers, and
   access to each of them by puts and gets. */
#include "check.h"
#include <stdint.h>

static int rank, size;

static MPI_Aint attribute(MPI_Win win, int keyval) {
    void *value = NULL;
    int flag = 0;
    CHECK(MPI_Win_get_attr(win, keyval, &value, &flag) == MPI_SUCCESS && flag);
    if (keyval == MPI_WIN_BASE)
        return (MPI_Aint)value;
    return keyval == MPI_WIN_SIZE ? *(MPI_Aint *)value : *(int *)value;
}

static void check_attributes(MPI_Win win, void *base, MPI_Aint bytes, int unit, int flavor) {
    CHECK(attribute(win, MPI_WIN_BASE) == (MPI_Aint)base);
    CHECK(attribute(win, MPI_WIN_SIZE) == bytes);
    CHECK(attribute(win, MPI_WIN_DISP_UNIT) == unit);
    CHECK(attribute(win, MPI_WIN_CREATE_FLAVOR) == flavor);
    CHECK(attribute(win, MPI_WIN_MODEL) == MPI_WIN_UNIFIED);
    CHECK_CLASS(MPI_Win_set_attr(win, MPI_WIN_BASE, &bytes), MPI_ERR_KEYVAL);
    CHECK_CLASS(MPI_Win_delete_attr(win, MPI_WIN_SIZE), MPI_ERR_KEYVAL);
}

static int deleted;

static int on_delete(MPI_Win win, int keyval, void *value, void *extra) {
    (void)win, (void)keyval, (void)value;
    deleted += *(int *)extra;
    return MPI_SUCCESS;
}

static int handled;

static void on_error(MPI_Win *win, int *code, ...) {
    CHECK(*win != MPI_WIN_NULL && class_of(*code) == MPI_ERR_RANK);
    handled++;
}

static void check_objects(MPI_Win win) {
    char name[MPI_MAX_OBJECT_NAME];
    int length, keyval, flag, extra = 7, same;
    MPI_Group mine, world;
    MPI_Errhandler handler, old;
    int *value;

    CHECK(MPI_Win_get_name(win, name, &length) == MPI_SUCCESS && length == 0);
    CHECK(MPI_Win_set_name(win, "pane") == MPI_SUCCESS);
    CHECK(MPI_Win_get_name(win, name, &length) == MPI_SUCCESS && length == 4 && strcmp(name, "pane") == 0);

    CHECK(MPI_Win_get_group(win, &mine) == MPI_SUCCESS);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(mine, world, &same);
    CHECK(same == MPI_IDENT);
    MPI_Group_free(&mine);
    MPI_Group_free(&world);

    MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &keyval, &extra);
    CHECK(MPI_Win_get_attr(win, keyval, &value, &flag) == MPI_SUCCESS && !flag);
    CHECK(MPI_Win_set_attr(win, keyval, &extra) == MPI_SUCCESS);
    CHECK(MPI_Win_get_attr(win, keyval, &value, &flag) == MPI_SUCCESS && flag && value == &extra);
    deleted = 0;
    CHECK(MPI_Win_delete_attr(win, keyval) == MPI_SUCCESS && deleted == 7);
    MPI_Win_free_keyval(&keyval);

    CHECK(MPI_Win_fromint(MPI_Win_toint(win)) == win);

    MPI_Win_get_errhandler(win, &old);
    CHECK(old == MPI_ERRORS_RETURN);
    MPI_Win_create_errhandler(on_error, &handler);
    CHECK(MPI_Win_set_errhandler(win, handler) == MPI_SUCCESS);
    handled = 0;
    CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, size, 0, win), MPI_ERR_RANK);
    CHECK(MPI_Win_call_errhandler(win, MPI_ERR_RANK) == MPI_SUCCESS);
    CHECK(handled == 2);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler);
}

static void check_hint(MPI_Win win, const char *key, const char *expected) {
    char value[64];
    int flag, room = sizeof value;
    MPI_Info info;
    CHECK(MPI_Win_get_info(win, &info) == MPI_SUCCESS);
    MPI_Info_get_string(info, key, &room, value, &flag);
    CHECK(flag == (expected != NULL));
    CHECK(!flag || strcmp(value, expected) == 0);
    MPI_Info_free(&info);
}

/* Every rank puts its number into its place at every other, and gets it back. */
static void check_exchange(MPI_Win win, int *mine, const MPI_Aint *places) {
    int got = -1;
    MPI_Win_fence(0, win);
    for (int target = 0; target < size; target++) {
        int number = 100 * rank + target;
        CHECK(MPI_Put(&number, 1, MPI_INT, target, places ? places[target] + 4 * rank : rank, 1, MPI_INT, win) ==
              MPI_SUCCESS);
        MPI_Win_fence(0, win);
    }
    for (int origin = 0; origin < size; origin++)
        CHECK(mine[origin] == 100 * origin + rank);
    for (int target = 0; target < size; target++) {
        CHECK(MPI_Get(&got, 1, MPI_INT, target, places ? places[target] + 4 * rank : rank, 1, MPI_INT, win) ==
              MPI_SUCCESS);
        MPI_Win_fence(0, win);
        CHECK(got == 100 * rank + target);
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
}

/* Claims are told if they are so. */
static void claimed(void) {
    static const char *claims[] = {"same_size", "same_disp_unit"};
    int memory[4];
    for (int unlike = 0; unlike < 2; unlike++) {
        MPI_Win win;
        MPI_Info info;
        int differs = unlike && size > 1;
        MPI_Info_create(&info);
        for (int i = 0; i < 2; i++)
            MPI_Info_set(info, claims[i], "true");
        MPI_Win_create(memory, differs && rank == 0 ? 8 : 16, differs && rank == 0 ? 4 : 8, info, MPI_COMM_WORLD, &win);
        for (int i = 0; i < 2; i++)
            check_hint(win, claims[i], differs ? "false" : "true");
        MPI_Info_set(info, "alloc_shared_noncontig", "true");
        MPI_Win_set_info(win, info);
        for (int i = 0; i < 2; i++)
            check_hint(win, claims[i], differs ? "false" : "true");
        check_hint(win, "alloc_shared_noncontig", NULL);
        MPI_Info_free(&info);
        MPI_Win_free(&win);
    }
}

/* `is_shared` says that the ranks have a heap in common, if there are several. */
static void created(int is_shared) {
    MPI_Win win;
    MPI_Info info;
    int memory[64];
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "true");
    MPI_Info_set(info, "verbena_unknown", "1");
    CHECK(MPI_Win_create(memory, sizeof memory, sizeof(int), info, MPI_COMM_WORLD, &win) == MPI_SUCCESS);
    MPI_Info_free(&info);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    check_attributes(win, memory, sizeof memory, sizeof(int), MPI_WIN_FLAVOR_CREATE);
    check_objects(win);
    check_hint(win, "no_locks", "true");
    check_hint(win, "accumulate_ordering", "rar,raw,war,waw");
    check_hint(win, "same_size", "false");
    if (is_shared && !getenv("VERBENA_WINDOW_HEAP"))
        check_hint(win, "verbena_atomicity", size > 1 ? "locked" : "processor");
    check_hint(win, "verbena_unknown", NULL);
    check_exchange(win, memory, NULL);
    /* The first part, of which the others know nothing that they could load. */
    MPI_Aint bytes;
    int unit, *first;
    CHECK(MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &first) == MPI_SUCCESS);
    CHECK(bytes == (rank == 0 ? (MPI_Aint)sizeof memory : 0) && (rank != 0 || first == memory));
    CHECK(MPI_Win_free(&win) == MPI_SUCCESS && win == MPI_WIN_NULL);
    /* A window without memory at all ranks but the last. */
    CHECK(MPI_Win_create_c(memory, rank == size - 1 ? sizeof memory : 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win) ==
          MPI_SUCCESS);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    CHECK(attribute(win, MPI_WIN_SIZE) == (rank == size - 1 ? (MPI_Aint)sizeof memory : 0));
    MPI_Win_fence(0, win);
    CHECK(MPI_Put(&rank, 1, MPI_INT, size - 1, 4 * rank, 1, MPI_INT, win) == MPI_SUCCESS);
    CHECK_CLASS(size > 1 ? MPI_Put(&rank, 1, MPI_INT, 0, 0, 1, MPI_INT, win) : MPI_ERR_RMA_RANGE, MPI_ERR_RMA_RANGE);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    for (int origin = 0; rank == size - 1 && origin < size; origin++)
        CHECK(memory[origin] == origin);
    MPI_Win_free(&win);
}

/* Memory of MPI_Alloc_mem, and so long that it is not taken from a line of something else. */
static void created_on_allocated(void) {
    MPI_Win win;
    int *memory;
    CHECK(MPI_Alloc_mem(1 << 16, MPI_INFO_NULL, &memory) == MPI_SUCCESS);
    CHECK(MPI_Win_create(memory + 8, (1 << 16) - 32, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_SUCCESS);
    check_exchange(win, memory + 8, NULL);
    MPI_Win_free(&win);
    MPI_Free_mem(memory);
}

static void allocated(void) {
    MPI_Win win;
    int *memory;
    for (int large = 0; large < 2; large++) {
        int code = large ? MPI_Win_allocate_c(4 * (64 + rank), 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win)
                         : MPI_Win_allocate(4 * (64 + rank), 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
        CHECK(code == MPI_SUCCESS);
        MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
        check_attributes(win, memory, 4 * (64 + rank), 4, MPI_WIN_FLAVOR_ALLOCATE);
        check_hint(win, "verbena_atomicity", "processor");
        check_objects(win);
        check_exchange(win, memory, NULL);
        MPI_Win_free(&win);
    }
    CHECK(MPI_Win_allocate(0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win) == MPI_SUCCESS);
    MPI_Win_free(&win);
}

/* Rank r has 4 * (r + 1) bytes in memory that all share; with `apart` they are not in one piece. */
static void shared(int apart) {
    MPI_Win win;
    MPI_Info info;
    MPI_Aint bytes;
    int *memory, *other, unit;
    MPI_Info_create(&info);
    MPI_Info_set(info, "alloc_shared_noncontig", apart ? "true" : "false");
    CHECK(MPI_Win_allocate_shared(4 * (rank + 1), 4, info, MPI_COMM_WORLD, &memory, &win) == MPI_SUCCESS);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    check_attributes(win, memory, 4 * (rank + 1), 4, MPI_WIN_FLAVOR_SHARED);
    check_hint(win, "alloc_shared_noncontig", apart ? "true" : "false");
    /* The leave to lie apart can be taken back. It comes too late for memory in one piece. */
    for (int later = 0; later < 2; later++) {
        MPI_Info_set(info, "alloc_shared_noncontig", later ? "true" : "false");
        MPI_Win_set_info(win, info);
        check_hint(win, "alloc_shared_noncontig", later && apart ? "true" : "false");
    }
    MPI_Info_free(&info);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    for (int i = 0; i <= rank; i++)
        memory[i] = 10 * rank + i;
    MPI_Win_sync(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
    int *next = NULL;
    for (int r = 0; r < size; r++) {
        CHECK(MPI_Win_shared_query(win, r, &bytes, &unit, &other) == MPI_SUCCESS);
        CHECK(bytes == 4 * (r + 1) && unit == 4 && (r != rank || other == memory));
        CHECK(apart || r == 0 || other == next);
        for (int i = 0; i <= r; i++)
            CHECK(other[i] == 10 * r + i);
        next = other + r + 1;
    }
    CHECK(MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &other) == MPI_SUCCESS && bytes == 4);
    CHECK(other[0] == 0 && unit == 4);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, size - 1, 0, win);
    int number = rank;
    MPI_Accumulate(&number, 1, MPI_INT, size - 1, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_unlock(size - 1, win);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == size - 1)
        CHECK(memory[0] == 10 * rank + size * (size - 1) / 2);
    MPI_Win_free(&win);
}

/* Memory begins where the hint says, and the hints tell so. */
static void aligned(int has_shared) {
    const char *wanted[] = {"8", "64", "128", "16384", "100"}, *used[] = {"64", "64", "128", "16384", "64"};
    for (int i = 0; i < 5; i++) {
        MPI_Win win;
        MPI_Info info;
        char *memory;
        MPI_Info_create(&info);
        MPI_Info_set(info, "mpi_minimum_memory_alignment", wanted[i]);
        CHECK(MPI_Win_allocate(100, 1, info, MPI_COMM_WORLD, &memory, &win) == MPI_SUCCESS);
        CHECK((uintptr_t)memory % (uintptr_t)atoi(used[i]) == 0);
        check_hint(win, "mpi_minimum_memory_alignment", used[i]);
        /* It cannot change any more. */
        MPI_Info_set(info, "mpi_minimum_memory_alignment", "65536");
        MPI_Win_set_info(win, info);
        check_hint(win, "mpi_minimum_memory_alignment", used[i]);
        MPI_Win_free(&win);
        MPI_Info_set(info, "mpi_minimum_memory_alignment", wanted[i]);
        CHECK(MPI_Alloc_mem(100, info, &memory) == MPI_SUCCESS);
        CHECK((uintptr_t)memory % (uintptr_t)atoi(used[i]) == 0);
        MPI_Free_mem(memory);
        for (int apart = 0; has_shared && apart < 2; apart++) {
            MPI_Info_set(info, "alloc_shared_noncontig", apart ? "true" : "false");
            CHECK(MPI_Win_allocate_shared(100, 1, info, MPI_COMM_WORLD, &memory, &win) == MPI_SUCCESS);
            /* In one piece, only the first part can be placed. */
            CHECK(!(apart || rank == 0) || (uintptr_t)memory % (uintptr_t)atoi(used[i]) == 0);
            check_hint(win, "mpi_minimum_memory_alignment", used[i]);
            MPI_Win_free(&win);
        }
        MPI_Info_free(&info);
    }
}

/* Pieces without bytes may be attached and are detached again. */
static void empty(MPI_Win win, int *memory) {
    MPI_Aint bytes;
    int unit, *other;
    CHECK(MPI_Win_attach(win, memory, 0) == MPI_SUCCESS);
    CHECK(MPI_Win_attach(win, memory, 0) == MPI_SUCCESS);
    CHECK(MPI_Win_attach(win, NULL, 0) == MPI_SUCCESS);
    CHECK(MPI_Win_detach(win, memory) == MPI_SUCCESS);
    CHECK(MPI_Win_detach(win, NULL) == MPI_SUCCESS);
    CHECK(MPI_Win_detach(win, memory) == MPI_SUCCESS);
    CHECK_CLASS(MPI_Win_detach(win, memory), MPI_ERR_RMA_ATTACH);
    CHECK_CLASS(MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &other), MPI_ERR_RMA_FLAVOR);
    CHECK_CLASS(MPI_Win_shared_query(win, rank, &bytes, &unit, &other), MPI_ERR_RMA_FLAVOR);
}

static void dynamic(void) {
    MPI_Win win;
    MPI_Aint mine, places[64];
    int *memory;
    int other[8];
    CHECK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win) == MPI_SUCCESS);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    check_attributes(win, MPI_BOTTOM, 0, 1, MPI_WIN_FLAVOR_DYNAMIC);
    check_hint(win, "mpi_minimum_memory_alignment", NULL);
    empty(win, other);
    for (int allocated = 0; allocated < 2; allocated++) {
        memory = NULL;
        if (allocated)
            MPI_Alloc_mem(1 << 14, MPI_INFO_NULL, &memory);
        else
            memory = malloc(1 << 14);
        CHECK(MPI_Win_attach(win, memory, 1 << 14) == MPI_SUCCESS);
        CHECK(MPI_Win_attach(win, other, sizeof other) == MPI_SUCCESS);
        CHECK_CLASS(MPI_Win_attach(win, memory + 1, 4), MPI_ERR_RMA_ATTACH);
        MPI_Get_address(memory, &mine);
        MPI_Allgather(&mine, 1, MPI_AINT, places, 1, MPI_AINT, MPI_COMM_WORLD);
        check_exchange(win, memory, places);
        int number = 1;
        memory[100] = 0;
        MPI_Win_fence(0, win);
        CHECK(MPI_Accumulate(&number, 1, MPI_INT, 0, places[0] + 400, 1, MPI_INT, MPI_SUM, win) == MPI_SUCCESS);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        CHECK(rank != 0 || memory[100] == size);
        MPI_Barrier(MPI_COMM_WORLD);
        CHECK(MPI_Win_detach(win, memory) == MPI_SUCCESS);
        CHECK(MPI_Win_detach(win, other) == MPI_SUCCESS);
        CHECK_CLASS(MPI_Win_detach(win, memory), MPI_ERR_RMA_ATTACH);
        MPI_Barrier(MPI_COMM_WORLD);
        if (allocated)
            MPI_Free_mem(memory);
        else
            free(memory);
    }
    MPI_Win_free(&win);
}

int main(int argc, char **argv) {
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(MPI_Win_get_name(MPI_WIN_NULL, name, &length) == MPI_SUCCESS && strcmp(name, "MPI_WIN_NULL") == 0);
    int has_shared = argc < 2 || strcmp(argv[1], "apart") != 0;
    created(has_shared);
    claimed();
    created_on_allocated();
    allocated();
    if (has_shared) {
        shared(0);
        shared(1);
    }
    aligned(has_shared);
    dynamic();
    report("window_kinds", rank, size);
    MPI_Finalize();
    return 0;
}
