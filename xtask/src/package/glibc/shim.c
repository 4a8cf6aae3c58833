/* What the C library kept in libc_nonshared.a before version 2.33: stat and its kin called
 * functions that have the version of the structure as their first argument. They are there to this
 * day. */
#if defined(__x86_64__)
enum { STRUCTURE = 1, NUMBER = 0 };
#elif defined(__aarch64__)
enum { STRUCTURE = 0, NUMBER = 0 };
#else
#error "the versions of struct stat on this processor are not known here"
#endif
#define OWN __attribute__((visibility("hidden")))

extern int __xstat(int version, const char *path, void *status);
extern int __fxstat(int version, int file, void *status);
extern int __lxstat(int version, const char *path, void *status);
extern int __fxstatat(int version, int folder, const char *path, void *status, int flags);
extern int __xstat64(int version, const char *path, void *status);
extern int __fxstat64(int version, int file, void *status);
extern int __lxstat64(int version, const char *path, void *status);
extern int __fxstatat64(int version, int folder, const char *path, void *status, int flags);
extern int __xmknod(int version, const char *path, unsigned mode, unsigned long *device);
extern int __xmknodat(int version, int folder, const char *path, unsigned mode, unsigned long *device);

OWN int stat(const char *path, void *status) { return __xstat(STRUCTURE, path, status); }
OWN int fstat(int file, void *status) { return __fxstat(STRUCTURE, file, status); }
OWN int lstat(const char *path, void *status) { return __lxstat(STRUCTURE, path, status); }
OWN int fstatat(int folder, const char *path, void *status, int flags) {
    return __fxstatat(STRUCTURE, folder, path, status, flags);
}
OWN int stat64(const char *path, void *status) { return __xstat64(STRUCTURE, path, status); }
OWN int fstat64(int file, void *status) { return __fxstat64(STRUCTURE, file, status); }
OWN int lstat64(const char *path, void *status) { return __lxstat64(STRUCTURE, path, status); }
OWN int fstatat64(int folder, const char *path, void *status, int flags) {
    return __fxstatat64(STRUCTURE, folder, path, status, flags);
}
OWN int mknod(const char *path, unsigned mode, unsigned long device) {
    return __xmknod(NUMBER, path, mode, &device);
}
OWN int mknodat(int folder, const char *path, unsigned mode, unsigned long device) {
    return __xmknodat(NUMBER, folder, path, mode, &device);
}
