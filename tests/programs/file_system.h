/* A file system of another name: the library finds this function of the program in the place of the
 * C library's. */
#ifndef VERBENA_FILE_SYSTEM_H
#define VERBENA_FILE_SYSTEM_H
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { NFS = 0x6969, LUSTRE = 0x0bd00bd0 };

/* The number that the kind of every file system has; 0: its own. */
static long file_system_kind;

int fstatfs(int fd, struct statfs *about) {
    long failed = syscall(SYS_fstatfs, fd, about);
    if (failed == 0 && file_system_kind)
        about->f_type = file_system_kind;
    return failed ? -1 : 0;
}
#endif
