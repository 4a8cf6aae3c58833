/* A file that is opened with MPI_MODE_APPEND has all its pointers at the end when the open returns,
 * on each rank: `file_append FOLDER`. */
#include "check.h"
#include <unistd.h>

enum { LENGTH = 16, OPENS = 200, PIECE = 4 };

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char name[4096];
    snprintf(name, sizeof name, "%s/appended", argv[1]);
    if (rank == 0) {
        FILE *file = fopen(name, "w");
        CHECK(file && fwrite("0123456789abcdef", 1, LENGTH, file) == LENGTH);
        fclose(file);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File file;
    for (int i = 0; i < OPENS; i++) {
        MPI_Offset own, shared;
        CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_WRONLY | MPI_MODE_APPEND, MPI_INFO_NULL, &file) == 0);
        CHECK(MPI_File_get_position_shared(file, &shared) == 0 && shared == LENGTH);
        CHECK(MPI_File_get_position(file, &own) == 0 && own == LENGTH);
        CHECK(MPI_File_close(&file) == 0);
    }
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_WRONLY | MPI_MODE_APPEND, MPI_INFO_NULL, &file) == 0);
    CHECK(MPI_File_write_shared(file, "XXXX", PIECE, MPI_CHAR, MPI_STATUS_IGNORE) == 0);
    CHECK(MPI_File_close(&file) == 0);
    if (rank == 0) {
        char bytes[LENGTH + 8 * PIECE];
        FILE *written = fopen(name, "r");
        CHECK(written && (int)fread(bytes, 1, sizeof bytes, written) == LENGTH + size * PIECE);
        CHECK(memcmp(bytes, "0123456789abcdef", LENGTH) == 0);
        fclose(written);
        CHECK(unlink(name) == 0);
        printf("file_append: ok with %d ranks\n", size);
    }
    MPI_Finalize();
}
