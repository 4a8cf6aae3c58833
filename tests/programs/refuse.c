/* refuse WAY PROGRAM ARGUMENTS...: runs a program to which the kernel refuses single-copy. WAY
 * is eperm, enosys or kill for both calls, read or write for one of them. No MPI here. */
#include "seccomp.h"
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv) {
    const char *way = argc > 2 ? argv[1] : "";
    int call = !strcmp(way, "write") ? SYS_process_vm_writev : SYS_process_vm_readv;
    int other = !strcmp(way, "read") ? SYS_process_vm_readv : SYS_process_vm_writev;
    if (argc < 3 || refuse(call, other, refusal(way))) {
        perror("refuse");
        return 125;
    }
    execvp(argv[2], argv + 2);
    perror(argv[2]);
    return 127;
}
