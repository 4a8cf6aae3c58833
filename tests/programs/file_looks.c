/* What MPI_File_sync asks of the system on NFS, where a machine keeps what it has read: each rank
 * moves what it wrote to the server, and only once all have done so does it look anew for the size
 * and drop what it keeps: `file_looks FOLDER`. */
#include "check.h"
#include "file_system.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>

static int rank, size;
static char name[4096];
static atomic_int syncs, looks, drops;
/* The time of the last of each, in seconds. */
static double synced, looked;

int fdatasync(int fd) {
    atomic_fetch_add(&syncs, 1);
    usleep(rank == 0 ? 50000 : 0);
    long failed = syscall(SYS_fdatasync, fd);
    synced = MPI_Wtime();
    return failed ? -1 : 0;
}

int statx(int fd, const char *restrict path, int flags, unsigned mask, struct statx *restrict about) {
    if (flags & AT_STATX_FORCE_SYNC) {
        atomic_fetch_add(&looks, 1);
        looked = MPI_Wtime();
    }
    return (int)syscall(SYS_statx, fd, path, flags, mask, about);
}

int posix_fadvise(int fd, off_t at, off_t bytes, int advice) {
    if (advice == POSIX_FADV_DONTNEED && at == 0 && bytes == 0)
        atomic_fetch_add(&drops, 1);
    return syscall(SYS_fadvise64, fd, at, bytes, advice) ? errno : 0;
}

int posix_fadvise64(int fd, off64_t at, off64_t bytes, int advice) { return posix_fadvise(fd, at, bytes, advice); }

static void expect(const char *what, int synced_so_far, int looked_so_far) {
    if (syncs == synced_so_far && looks == looked_so_far && drops == looked_so_far)
        return;
    fprintf(stderr, "file_looks: rank %d after %s: %d syncs, %d looks, %d drops\n", rank, what, syncs, looks, drops);
    MPI_Abort(MPI_COMM_WORLD, 3);
}

static MPI_File open_file(void) {
    MPI_File file;
    int amode = MPI_MODE_RDWR | MPI_MODE_CREATE;
    CHECK(MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &file) == 0);
    return file;
}

int main(int argc, char **argv) {
    int value = 5;
    double first;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(argc == 2);
    snprintf(name, sizeof name, "%s/looks", argv[1]);
    file_system_kind = NFS;
    MPI_File file = open_file();
    expect("opening", 0, 0);
    CHECK(rank != 0 || MPI_File_write_at(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE) == 0);
    CHECK(MPI_File_sync(file) == 0);
    expect("a sync", rank == 0, 1);
    /* Nobody looks before rank 0's bytes are on the server. */
    first = synced;
    CHECK(MPI_Bcast(&first, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD) == 0 && first > 0 && looked >= first - 0.001);
    CHECK(MPI_File_sync(file) == 0);
    expect("a sync without a write", rank == 0, 2);
    CHECK(MPI_File_set_size(file, 100) == 0);
    expect("setting the size", rank == 0, 3);
    CHECK(MPI_File_close(&file) == 0);
    expect("closing", 2 * (rank == 0), 3);
    /* A file system of this machine has nothing to look for. */
    file_system_kind = 0;
    file = open_file();
    CHECK(MPI_File_sync(file) == 0);
    expect("a sync elsewhere", 2 * (rank == 0), 3);
    CHECK(MPI_File_close(&file) == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(rank != 0 || remove(name) == 0);
    report("file_looks", rank, size);
    MPI_Finalize();
    return 0;
}
