/* The system's calls that read and write files, with faults: the library finds these functions of
 * the program in the place of the C library's. */
#ifndef VERBENA_DISK_H
#define VERBENA_DISK_H
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* One call in so many is short, or interrupted; 0: none. */
static atomic_int disk_short, disk_interrupted;
/* The number of calls until one fails with this error; 0: none does. */
static atomic_int disk_fails_in, disk_error;
/* Number of faults so far. */
static atomic_int disk_faults;

static uint64_t disk_random(void) {
    static _Atomic uint64_t state = 1;
    uint64_t x = atomic_fetch_add(&state, 0x9e3779b97f4a7c15ull);
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    return (x ^ x >> 27) * 0x94d049bb133111ebull >> 20;
}

static int disk_strikes(int once_in) {
    if (once_in == 0 || disk_random() % (uint64_t)once_in != 0)
        return 0;
    atomic_fetch_add(&disk_faults, 1);
    return 1;
}

/* The bytes that a call of `n` may move; -1 if it fails. */
static ssize_t disk_spared(size_t n) {
    int left = atomic_load(&disk_fails_in);
    if (left > 0 && atomic_fetch_sub(&disk_fails_in, 1) == 1) {
        atomic_fetch_add(&disk_faults, 1);
        errno = atomic_load(&disk_error);
        return -1;
    }
    if (disk_strikes(atomic_load(&disk_interrupted))) {
        errno = EINTR;
        return -1;
    }
    if (n > 1 && disk_strikes(atomic_load(&disk_short)))
        return (ssize_t)(1 + disk_random() % (n - 1));
    return (ssize_t)n;
}

ssize_t pread(int fd, void *memory, size_t n, off_t at) {
    ssize_t spared = disk_spared(n);
    return spared < 0 ? -1 : syscall(SYS_pread64, fd, memory, (size_t)spared, at);
}

ssize_t pwrite(int fd, const void *memory, size_t n, off_t at) {
    ssize_t spared = disk_spared(n);
    return spared < 0 ? -1 : syscall(SYS_pwrite64, fd, memory, (size_t)spared, at);
}

ssize_t pread64(int fd, void *memory, size_t n, off64_t at) { return pread(fd, memory, n, at); }

ssize_t pwrite64(int fd, const void *memory, size_t n, off64_t at) { return pwrite(fd, memory, n, at); }
#endif
