/* Every kind of element in the representation external32, each in a slot of its own of the file
 * FOLDER/external: `file_external FOLDER [NAME...]`. Slots of these names stay empty: another
 * library cannot fill them. It says which slot is whose: `slot NUMBER NAME`. */
#include "check.h"
#include <complex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

enum { SLOT = 256 };

static MPI_File file;
static int slot, names;
static char **left_out;

/* Writes from element `offset` of a view of these types on. */
static void write_with(const char *name, MPI_Datatype etype, MPI_Datatype filetype, MPI_Offset offset, const void *data,
                       int count, MPI_Datatype type) {
    int is_left_out = 0;
    for (int i = 0; i < names; i++)
        is_left_out |= strcmp(name, left_out[i]) == 0;
    if (!is_left_out) {
        MPI_Offset begin = (MPI_Offset)slot * SLOT;
        CHECK(MPI_File_set_view(file, begin, etype, filetype, "external32", MPI_INFO_NULL) == MPI_SUCCESS);
        CHECK(MPI_File_write_at(file, offset, data, count, type, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        printf("slot %d %s\n", slot, name);
    }
    slot++;
}

#define THREE(type, element, ...)                                                                                      \
    do {                                                                                                               \
        element values_[3] = {__VA_ARGS__};                                                                            \
        if ((type) != MPI_DATATYPE_NULL)                                                                               \
            write_with(#type, type, type, 0, values_, 3, type);                                                            \
    } while (0)

static void integers(void) {
    THREE(MPI_CHAR, char, 'a', 'B', 0x7f);
    THREE(MPI_SIGNED_CHAR, signed char, -1, 2, -128);
    THREE(MPI_UNSIGNED_CHAR, unsigned char, 0, 200, 255);
    THREE(MPI_BYTE, unsigned char, 1, 2, 3);
    THREE(MPI_SHORT, short, -2, 0x1234, -32768);
    THREE(MPI_UNSIGNED_SHORT, unsigned short, 1, 0xfedc, 2);
    THREE(MPI_INT, int, -3, 0x12345678, 1);
    THREE(MPI_UNSIGNED, unsigned, 0xfedcba98u, 1, 2);
    THREE(MPI_LONG, long, -4, 0x1234567, 70000);
    THREE(MPI_UNSIGNED_LONG, unsigned long, 5, 0x7edcba98u, 2);
    THREE(MPI_LONG_LONG, long long, -5, 0x123456789abcdefll, 1);
    THREE(MPI_UNSIGNED_LONG_LONG, unsigned long long, 6, 0xfedcba9876543210ull, 1);
    THREE(MPI_INT8_T, int8_t, -7, 8, 9);
    THREE(MPI_INT16_T, int16_t, -7, 0x1234, 9);
    THREE(MPI_INT32_T, int32_t, -7, 0x12345678, 9);
    THREE(MPI_INT64_T, int64_t, -7, 0x123456789abcdefll, 9);
    THREE(MPI_UINT8_T, uint8_t, 7, 8, 9);
    THREE(MPI_UINT16_T, uint16_t, 7, 0xfedc, 9);
    THREE(MPI_UINT32_T, uint32_t, 7, 0xfedcba98u, 9);
    THREE(MPI_UINT64_T, uint64_t, 7, 0xfedcba9876543210ull, 9);
    THREE(MPI_AINT, MPI_Aint, -8, 0x123456789abl, 1);
    THREE(MPI_OFFSET, MPI_Offset, -9, 0x123456789abl, 1);
    THREE(MPI_COUNT, MPI_Count, -10, 0x123456789abl, 1);
    THREE(MPI_WCHAR, wchar_t, L'a', L'z', L'B');
    THREE(MPI_C_BOOL, bool, true, false, true);
}

static void numbers(void) {
    THREE(MPI_FLOAT, float, 1.5f, -2.25e10f, 0.1f);
    THREE(MPI_DOUBLE, double, 1.5, -2.25e100, 0.1);
    THREE(MPI_LONG_DOUBLE, long double, 1.5L, -2.25e100L, 0.1L);
    THREE(MPI_C_FLOAT_COMPLEX, float complex, 1.5f + 2.5f * I, -1e10f, 0.1f * I);
    THREE(MPI_C_DOUBLE_COMPLEX, double complex, 1.5 + 2.5 * I, -1e100, 0.1 * I);
    THREE(MPI_C_LONG_DOUBLE_COMPLEX, long double complex, 1.5L + 2.5L * I, -1e100L, 0.1L * I);
    THREE(MPI_CHARACTER, char, 'f', 'o', 'r');
    THREE(MPI_INTEGER, int, -11, 0x12345678, 1);
    THREE(MPI_LOGICAL, int, 1, 0, 1);
    THREE(MPI_REAL, float, 1.5f, -2.25e10f, 0.1f);
    THREE(MPI_DOUBLE_PRECISION, double, 1.5, -2.25e100, 0.1);
    THREE(MPI_COMPLEX, float complex, 1.5f + 2.5f * I, -1e10f, 0.1f * I);
    THREE(MPI_DOUBLE_COMPLEX, double complex, 1.5 + 2.5 * I, -1e100, 0.1 * I);
    THREE(MPI_INTEGER1, int8_t, -7, 8, 9);
    THREE(MPI_INTEGER2, int16_t, -7, 0x1234, 9);
    THREE(MPI_INTEGER4, int32_t, -7, 0x12345678, 9);
    THREE(MPI_INTEGER8, int64_t, -7, 0x123456789abcdefll, 9);
    THREE(MPI_REAL4, float, 1.5f, -2.25e10f, 0.1f);
    THREE(MPI_REAL8, double, 1.5, -2.25e100, 0.1);
}

struct mixed {
    char letter;
    double number;
    short few[3];
    int value;
};

/* Elements of several kinds, with gaps in memory. */
static void derived(void) {
    struct mixed data[2] = {{'x', 1.25, {1, -2, 3}, 77}, {'y', -1e-5, {4, 5, -6}, -78}};
    int lengths[4] = {1, 1, 3, 1};
    MPI_Aint places[4] = {offsetof(struct mixed, letter), offsetof(struct mixed, number), offsetof(struct mixed, few),
                          offsetof(struct mixed, value)};
    MPI_Datatype types[4] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT, MPI_INT}, packed, mixed, every;
    CHECK(MPI_Type_create_struct(4, lengths, places, types, &packed) == MPI_SUCCESS);
    CHECK(MPI_Type_create_resized(packed, 0, sizeof data[0], &mixed) == MPI_SUCCESS);
    CHECK(MPI_Type_commit(&mixed) == MPI_SUCCESS);
    short row[8] = {1, 2, 3, 4, 5, 6, 7, -8};
    CHECK(MPI_Type_vector(4, 1, 2, MPI_SHORT, &every) == MPI_SUCCESS && MPI_Type_commit(&every) == MPI_SUCCESS);
    write_with("struct", MPI_BYTE, MPI_BYTE, 0, data, 2, mixed);
    write_with("memory", MPI_SHORT, MPI_SHORT, 0, row, 1, every);
    write_with("view", MPI_SHORT, every, 1, row, 5, MPI_SHORT);
    MPI_Type_free(&packed);
    MPI_Type_free(&mixed);
    MPI_Type_free(&every);
}

int main(int argc, char **argv) {
    char name[4096];
    MPI_Init(&argc, &argv);
    CHECK(argc >= 2);
    left_out = argv + 2;
    names = argc - 2;
    snprintf(name, sizeof name, "%s/external", argv[1]);
    remove(name);
    CHECK(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    integers();
    numbers();
    derived();
    CHECK(MPI_File_set_size(file, (MPI_Offset)slot * SLOT) == MPI_SUCCESS);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    report("file_external", 0, 1);
    MPI_Finalize();
    return 0;
}
