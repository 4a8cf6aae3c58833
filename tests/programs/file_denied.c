/* A folder that may not be written: `file_denied FOLDER access` for its permissions, `file_denied
 * FOLDER read_only` for its file system. There is a file `there` in it, which may be read. All
 * ranks hear the same. */
#include "check.h"

int main(int argc, char **argv) {
    int rank, size;
    char there[4096], new[4096], text[8] = "";
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 3);
    int denied = strcmp(argv[2], "access") == 0 ? MPI_ERR_ACCESS : MPI_ERR_READ_ONLY;
    snprintf(there, sizeof there, "%s/there", argv[1]);
    snprintf(new, sizeof new, "%s/new", argv[1]);
    const int creates = MPI_MODE_CREATE | MPI_MODE_RDWR;
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, new, creates, MPI_INFO_NULL, &file), denied);
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, new, creates | MPI_MODE_EXCL, MPI_INFO_NULL, &file), denied);
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, new, MPI_MODE_RDONLY, MPI_INFO_NULL, &file), MPI_ERR_NO_SUCH_FILE);
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, there, MPI_MODE_RDWR, MPI_INFO_NULL, &file), denied);
    CHECK_CLASS(MPI_File_open(MPI_COMM_WORLD, there, MPI_MODE_WRONLY, MPI_INFO_NULL, &file), denied);
    CHECK_CLASS(MPI_File_delete(there, MPI_INFO_NULL), denied);
    /* What may be done is done. */
    CHECK(MPI_File_open(MPI_COMM_WORLD, there, MPI_MODE_RDONLY, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    CHECK(MPI_File_read_at_all(file, 0, text, 4, MPI_CHAR, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    CHECK(strcmp(text, "text") == 0);
    CHECK_CLASS(MPI_File_write_at(file, 0, text, 4, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
    CHECK_CLASS(MPI_File_set_size(file, 0), MPI_ERR_READ_ONLY);
    CHECK(MPI_File_sync(file) == MPI_SUCCESS);
    CHECK(MPI_File_close(&file) == MPI_SUCCESS);
    /* One that cannot be deleted when it is closed: that is said, and a second call closes it. */
    const int deletes = MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE;
    CHECK(MPI_File_open(MPI_COMM_WORLD, there, deletes, MPI_INFO_NULL, &file) == MPI_SUCCESS);
    CHECK_CLASS(MPI_File_close(&file), denied);
    CHECK(file != MPI_FILE_NULL && MPI_File_close(&file) == MPI_SUCCESS && file == MPI_FILE_NULL);
    report("file_denied", rank, size);
    MPI_Finalize();
    return 0;
}
