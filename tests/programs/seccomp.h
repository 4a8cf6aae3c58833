/* Lets the kernel refuse process_vm_readv and process_vm_writev from now on, as containers do. */
#ifndef VERBENA_SECCOMP_H
#define VERBENA_SECCOMP_H
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* The ways to refuse. "kill" shows that the calls are made at all. */
static inline unsigned refusal(const char *way) {
    if (!strcmp(way, "kill"))
        return SECCOMP_RET_KILL_PROCESS;
    return SECCOMP_RET_ERRNO | (!strcmp(way, "enosys") ? ENOSYS : EPERM);
}

/* Refuses these two calls (which may be the same); 0 if that worked. */
static inline int refuse(int call, int other, unsigned answer) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)other, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, answer),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
#endif
