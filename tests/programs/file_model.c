/* Random accesses to a file against a plain array in memory. Every rank draws the same script from
 * the seed and keeps the whole file as it must be: `file_model FOLDER FIRST_SEED SEEDS [STEPS]`.
 * Each rank writes bytes of its own; views, hints, data representations, calls and sizes are
 * random. With FILE_MODEL_FAULTS set, one call of the system in three is short or interrupted.
 * With FILE_MODEL_SYNC set, all call MPI_File_sync after each access, as the standard asks it of
 * processes that read what others wrote (14.6.1): nodes need it whose file system is not coherent.
 * With FILE_MODEL_PLANTED set, a byte is expected wrongly: it shows that a fault is seen. */
#include "check.h"
#include "disk.h"

enum { RANKS_MAX = 16, SLOTS_MAX = 48, ETYPES_MAX = 260, MODEL_BYTES = 1 << 18, WAYS = 14 };

static int rank, size, step;
static uint64_t seed, state;
static MPI_File file;

/* The file as it must be. */
static unsigned char model[MODEL_BYTES];
static MPI_Offset model_size;

/* The view of every rank: slots of `width` bytes in a tile, counted from the displacement. */
static struct {
    MPI_Offset displacement;
    int width, slots, is_same, is_external;
    int counts[RANKS_MAX], places[RANKS_MAX][SLOTS_MAX];
    MPI_Datatype etype;
} view;

static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

/* A number below `bound`, the same on every rank. */
static int below(int bound) {
    state += 0x9e3779b97f4a7c15ull;
    return (int)(mix(state) % (uint64_t)bound);
}

static void fail(const char *what, long long got, long long expected) {
    fprintf(stderr, "file_model: seed %llu step %d rank %d of %d: %s: got %lld, expected %lld\n",
            (unsigned long long)seed, step, rank, size, what, got, expected);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static void same(const char *what, long long got, long long expected) {
    if (got != expected)
        fail(what, got, expected);
}

static void works(const char *what, int code) {
    char text[MPI_MAX_ERROR_STRING];
    int length;
    if (code == MPI_SUCCESS)
        return;
    MPI_Error_string(code, text, &length);
    fprintf(stderr, "file_model: seed %llu step %d rank %d: %s: %s\n", (unsigned long long)seed, step, rank, what,
            text);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

/* The byte that rank `of` writes as byte `i` of its access. */
static unsigned char byte_of(int of, int i) {
    return (unsigned char)mix(seed * 31 + (uint64_t)step * 1000003 + (uint64_t)of * 7919 + (uint64_t)i);
}

/* The place in the file of byte `i` of the stream of a rank. */
static MPI_Offset place(int of, MPI_Offset i) {
    MPI_Offset etype = i / view.width, tile = etype / view.counts[of];
    int slot = view.places[of][etype % view.counts[of]];
    return view.displacement + (tile * view.slots + slot) * view.width + i % view.width;
}

/* The byte of memory that belongs to byte `i` of the stream: external32 is big-endian. */
static int in_memory(int i) {
    return view.is_external ? i / view.width * view.width + (view.width - 1 - i % view.width) : i;
}

/* ---- views ---- */

static void solid_view(void) {
    view.slots = 1;
    for (int r = 0; r < size; r++) {
        view.counts[r] = 1;
        view.places[r][0] = 0;
    }
}

/* Blocks of etypes in turn, as of a distributed array. */
static void comb_view(void) {
    int block = 1 + below(3);
    view.slots = block * size;
    for (int r = 0; r < size; r++) {
        view.counts[r] = block;
        for (int i = 0; i < block; i++)
            view.places[r][i] = r * block + i;
    }
}

/* Any slots for any rank, some for none. */
static void random_view(void) {
    int owner[SLOTS_MAX];
    view.slots = size + below(SLOTS_MAX - size + 1);
    for (int slot = 0; slot < view.slots; slot++)
        owner[slot] = below(size + 1) - 1;
    for (int r = 0; r < size; r++)
        owner[(r * 7 + below(view.slots)) % view.slots] = r;
    for (int r = 0; r < size; r++) {
        view.counts[r] = 0;
        for (int slot = 0; slot < view.slots; slot++)
            if (owner[slot] == r)
                view.places[r][view.counts[r]++] = slot;
        if (view.counts[r] == 0) { /* another rank has taken its slot */
            comb_view();
            return;
        }
    }
}

/* A view that all ranks share, as shared pointers need it. */
static void same_view(void) {
    view.slots = 1 + below(5);
    int count = 0, places[SLOTS_MAX];
    for (int slot = 0; slot < view.slots; slot++)
        if (slot == 0 || below(2))
            places[count++] = slot;
    for (int r = 0; r < size; r++) {
        view.counts[r] = count;
        memcpy(view.places[r], places, sizeof places);
    }
}

static MPI_Datatype filetype(void) {
    MPI_Datatype slots, tile;
    MPI_Type_create_indexed_block(view.counts[rank], 1, view.places[rank], view.etype, &slots);
    /* Extents count in elements, so that external32 scales them. */
    MPI_Type_create_resized(slots, 0, (MPI_Aint)view.slots * view.width, &tile);
    MPI_Type_free(&slots);
    MPI_Type_commit(&tile);
    return tile;
}

static void set_view(void) {
    static const int widths[] = {1, 2, 4, 8};
    int kind = below(6), which = below(4);
    MPI_Datatype types[] = {MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T};
    view.width = widths[which];
    view.etype = types[which];
    view.displacement = below(3) ? below(100) : 0;
    view.is_external = below(4) == 0;
    view.is_same = kind < 2;
    if (kind == 0)
        solid_view();
    else if (kind == 1)
        same_view();
    else if (kind < 4)
        comb_view();
    else
        random_view();
    MPI_Datatype tile = filetype();
    works("set_view", MPI_File_set_view(file, view.displacement, view.etype, tile,
                                        view.is_external ? "external32" : "native", MPI_INFO_NULL));
    MPI_Type_free(&tile);
    MPI_Offset position;
    works("get_position", MPI_File_get_position(file, &position));
    same("position in a new view", position, 0);
    works("get_position_shared", MPI_File_get_position_shared(file, &position));
    same("shared position in a new view", position, 0);
    MPI_Offset etype = below(ETYPES_MAX), expected = place(rank, etype * view.width);
    works("get_byte_offset", MPI_File_get_byte_offset(file, etype, &position));
    same("byte offset", position, expected);
}

/* ---- accesses ---- */

/* An access of this rank: `n` etypes from etype `start` on. */
static struct {
    int n;
    MPI_Offset start;
    MPI_Datatype type;
    int count, stride, is_read;
    unsigned char memory[2 * ETYPES_MAX * 8];
    MPI_Status status;
} own;

static unsigned char *byte_at(int i) {
    return own.memory + i / view.width * view.width * own.stride + i % view.width;
}

static void prepare(int n, MPI_Offset start, int is_read) {
    own.n = n;
    own.start = start;
    own.is_read = is_read;
    own.stride = 1 + (n > 0 && (seed + (uint64_t)step + (uint64_t)rank) % 2);
    own.count = n;
    own.type = view.etype;
    if (own.stride == 2) {
        MPI_Type_vector(n, 1, 2, view.etype, &own.type);
        MPI_Type_commit(&own.type);
        own.count = 1;
    }
    memset(own.memory, 0xee, sizeof own.memory);
    if (!is_read)
        for (int i = 0; i < n * view.width; i++)
            *byte_at(in_memory(i)) = byte_of(rank, i);
}

static void run(int way) {
    void *m = own.memory;
    int c = own.count, r = own.is_read;
    MPI_Datatype t = own.type;
    MPI_Offset at = own.start;
    MPI_Status *s = &own.status;
    MPI_Request q = MPI_REQUEST_NULL;
    if (way == 2 || way == 3 || way == 6 || way == 7 || way == 9)
        works("seek", MPI_File_seek(file, at, MPI_SEEK_SET));
    switch (way) {
    case 0: works("at", r ? MPI_File_read_at(file, at, m, c, t, s) : MPI_File_write_at(file, at, m, c, t, s)); return;
    case 1:
        works("at_all",
              r ? MPI_File_read_at_all(file, at, m, c, t, s) : MPI_File_write_at_all(file, at, m, c, t, s));
        return;
    case 2: works("individual", r ? MPI_File_read(file, m, c, t, s) : MPI_File_write(file, m, c, t, s)); return;
    case 3: works("all", r ? MPI_File_read_all(file, m, c, t, s) : MPI_File_write_all(file, m, c, t, s)); return;
    case 4: works("iat", r ? MPI_File_iread_at(file, at, m, c, t, &q) : MPI_File_iwrite_at(file, at, m, c, t, &q)); break;
    case 5:
        works("iat_all",
              r ? MPI_File_iread_at_all(file, at, m, c, t, &q) : MPI_File_iwrite_at_all(file, at, m, c, t, &q));
        break;
    case 6: works("i", r ? MPI_File_iread(file, m, c, t, &q) : MPI_File_iwrite(file, m, c, t, &q)); break;
    case 7: works("i_all", r ? MPI_File_iread_all(file, m, c, t, &q) : MPI_File_iwrite_all(file, m, c, t, &q)); break;
    case 8:
        works("at_all_begin",
              r ? MPI_File_read_at_all_begin(file, at, m, c, t) : MPI_File_write_at_all_begin(file, at, m, c, t));
        works("at_all_end", r ? MPI_File_read_at_all_end(file, m, s) : MPI_File_write_at_all_end(file, m, s));
        return;
    case 9:
        works("all_begin", r ? MPI_File_read_all_begin(file, m, c, t) : MPI_File_write_all_begin(file, m, c, t));
        works("all_end", r ? MPI_File_read_all_end(file, m, s) : MPI_File_write_all_end(file, m, s));
        return;
    case 10:
        works("ordered", r ? MPI_File_read_ordered(file, m, c, t, s) : MPI_File_write_ordered(file, m, c, t, s));
        return;
    case 11:
        works("ordered_begin",
              r ? MPI_File_read_ordered_begin(file, m, c, t) : MPI_File_write_ordered_begin(file, m, c, t));
        works("ordered_end", r ? MPI_File_read_ordered_end(file, m, s) : MPI_File_write_ordered_end(file, m, s));
        return;
    case 12: works("shared", r ? MPI_File_read_shared(file, m, c, t, s) : MPI_File_write_shared(file, m, c, t, s)); return;
    default:
        works("ishared", r ? MPI_File_iread_shared(file, m, c, t, &q) : MPI_File_iwrite_shared(file, m, c, t, &q));
    }
    works("wait", MPI_Wait(&q, s));
}

/* The bytes of an access that lie before the end of the file. */
static int there(int of, int n, MPI_Offset start) {
    int i = 0;
    while (i < n * view.width && place(of, start * view.width + i) < model_size)
        i++;
    return view.is_external ? i / view.width * view.width : i;
}

static void check_own(void) {
    int bytes, expected = own.is_read ? there(rank, own.n, own.start) : own.n * view.width;
    MPI_Get_count(&own.status, MPI_BYTE, &bytes);
    same("bytes in the status", bytes, expected);
    if (!own.is_read)
        return;
    for (int i = 0; i < expected; i++) {
        int j = in_memory(i);
        same("a byte that was read", *byte_at(j), model[place(rank, own.start * view.width + i)]);
    }
    if (own.stride == 2)
        for (int i = 0; i < own.n; i++)
            for (int k = 0; k < view.width; k++)
                same("a byte beside the data", own.memory[(2 * i + 1) * view.width + k], 0xee);
}

static void write_model(int of, int n, MPI_Offset start) {
    for (int i = 0; i < n * view.width; i++) {
        MPI_Offset at = place(of, start * view.width + i);
        model[at] = byte_of(of, i);
        if (at >= model_size)
            model_size = at + 1;
    }
}

static void access_file(void) {
    int n[RANKS_MAX], way = below(view.is_same ? WAYS : 10), is_read = below(2), alone = below(size);
    MPI_Offset start[RANKS_MAX], shared = below(40), position;
    for (int r = 0; r < size; r++) {
        n[r] = below(5) ? below(below(2) ? 8 : ETYPES_MAX / 4) : 0;
        start[r] = below(ETYPES_MAX / 2);
    }
    if (way >= 10) { /* at the shared pointer, in turn or by one rank */
        MPI_Offset next = shared;
        works("seek_shared", MPI_File_seek_shared(file, shared, MPI_SEEK_SET));
        for (int r = 0; r < size; r++) {
            n[r] = way >= 12 && r != alone ? 0 : n[r] % 24;
            start[r] = next;
            next += n[r];
        }
        shared = next;
    } else if (view.is_same && !is_read) { /* all see the same bytes: one writes */
        for (int r = 0; r < size; r++)
            n[r] = r == alone ? n[r] : 0;
    }
    prepare(n[rank], start[rank], is_read);
    if (way < 12 || rank == alone) {
        run(way);
        check_own();
    }
    if (own.stride == 2)
        MPI_Type_free(&own.type);
    if (!is_read)
        for (int r = 0; r < size; r++)
            write_model(r, n[r], start[r]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (getenv("FILE_MODEL_SYNC"))
        works("sync", MPI_File_sync(file));
    if (way >= 10) {
        works("get_position_shared", MPI_File_get_position_shared(file, &position));
        same("shared position", position, shared);
    } else if (way == 2 || way == 3 || way == 6 || way == 7 || way == 9) {
        works("get_position", MPI_File_get_position(file, &position));
        if (!is_read || there(rank, n[rank], start[rank]) == n[rank] * view.width)
            same("position", position, start[rank] + n[rank]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* ---- the rest ---- */

static void change_size(void) {
    MPI_Offset bytes = below(20000), found;
    if (below(3)) {
        works("set_size", MPI_File_set_size(file, bytes));
        if (bytes < model_size)
            memset(model + bytes, 0, (size_t)(model_size - bytes));
        model_size = bytes;
    } else {
        works("preallocate", MPI_File_preallocate(file, bytes));
        model_size = bytes > model_size ? bytes : model_size;
    }
    works("get_size", MPI_File_get_size(file, &found));
    same("size", found, model_size);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void check_all(const char *name) {
    FILE *plain = fopen(name, "rb");
    CHECK(plain != NULL);
    unsigned char *bytes = malloc(MODEL_BYTES);
    size_t found = fread(bytes, 1, MODEL_BYTES, plain);
    fclose(plain);
    same("bytes of the file", (long long)found, model_size);
    for (size_t i = 0; i < found; i++)
        if (bytes[i] != model[i]) {
            fprintf(stderr, "file_model: byte %zu of %zu\n", i, found);
            fail("a byte of the file", bytes[i], model[i]);
        }
    free(bytes);
}

static void hint(MPI_Info info, const char *key, int value) {
    char text[20];
    snprintf(text, sizeof text, "%d", value);
    MPI_Info_set(info, key, text);
}

static void open_file(const char *name) {
    static const char *choices[] = {"automatic", "enable", "disable"};
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_cb_read", choices[below(3)]);
    MPI_Info_set(info, "romio_cb_write", choices[below(3)]);
    MPI_Info_set(info, "romio_ds_read", choices[below(3)]);
    MPI_Info_set(info, "romio_ds_write", choices[below(3)]);
    hint(info, "cb_nodes", 1 + below(size));
    hint(info, "cb_buffer_size", 1 << below(15));
    hint(info, "striping_unit", 1 << below(13));
    hint(info, "ind_rd_buffer_size", 1 << below(13));
    hint(info, "ind_wr_buffer_size", 1 << below(13));
    works("open", MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, info, &file));
    MPI_Info_free(&info);
    works("set_atomicity", MPI_File_set_atomicity(file, below(6) == 0));
}

static void try_seed(const char *folder, int steps) {
    char name[4096];
    snprintf(name, sizeof name, "%s/model-%llu", folder, (unsigned long long)seed);
    state = mix(seed + 77);
    memset(model, 0, sizeof model);
    model_size = 0;
    step = 0;
    open_file(name);
    set_view();
    for (step = 1; step <= steps; step++) {
        int what = below(12);
        if (what == 0)
            set_view();
        else if (what == 1)
            change_size();
        else
            access_file();
    }
    works("close", MPI_File_close(&file));
    if (getenv("FILE_MODEL_PLANTED") && seed % 4 == 0 && model_size > 0)
        model[model_size / 2] ^= 1;
    if (rank == 0) {
        check_all(name);
        remove(name);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc >= 4 && size <= RANKS_MAX);
    uint64_t first = strtoull(argv[2], NULL, 10), seeds = strtoull(argv[3], NULL, 10);
    int steps = argc > 4 ? atoi(argv[4]) : 25;
    if (getenv("FILE_MODEL_FAULTS"))
        disk_short = disk_interrupted = 6;
    for (seed = first; seed < first + seeds; seed++)
        try_seed(argv[1], steps);
    CHECK(!getenv("FILE_MODEL_FAULTS") || disk_faults > 0);
    report("file_model", rank, size);
    MPI_Finalize();
    return 0;
}
