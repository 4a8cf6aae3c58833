/* error_places WAY: an error that ends the program, called from a place that is hard to tell:
   through a pointer behind bytes that look like a call, with a spoilt stack, from a function whose
   name begins as MPI's in Fortran, from a callback, with many files loaded. */
#pragma GCC optimize("no-omit-frame-pointer")
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int byte;

static int fails(void) {
    return MPI_Send(&byte, 1, MPI_BYTE, 99, 0, MPI_COMM_WORLD);
}

/* Calls the function with the communicator. The displacement of a move stands five bytes before the
   return address, where a direct call has its first byte: e8. */
int call_behind(MPI_Comm comm, int (*function)(MPI_Comm));
#ifdef __x86_64__
__asm__(".text\n"
        ".globl call_behind\n"
        ".type call_behind, @function\n"
        "call_behind:\n"
        ".cfi_startproc\n"
        "push %rbp\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset %rbp, -16\n"
        "mov %rsp, %rbp\n"
        ".cfi_def_cfa_register %rbp\n"
        "mov %rsi, %rdx\n"
        ".byte 0x8b, 0x45, 0xe8\n" /* mov -24(%rbp), %eax */
        ".byte 0x89, 0xc0\n"       /* mov %eax, %eax */
        ".byte 0xff, 0xd2\n"       /* call *%rdx */
        "pop %rbp\n"
        ".cfi_def_cfa %rsp, 8\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size call_behind, . - call_behind\n");
#else
int call_behind(MPI_Comm comm, int (*function)(MPI_Comm)) {
    return function(comm);
}
#endif

/* As an array that is written two words too far does. */
static void spoilt(void) {
    long *frame = __builtin_frame_address(0);
    frame[0] = 0x1000;
    frame[1] = 0x4242424242;
    fails();
}

void mpi_step(void) {
    fails();
}

static int copies(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
    (void)comm, (void)key, (void)extra, (void)in, (void)out;
    *flag = 0;
    return fails();
}

static void in_callback(void) {
    MPI_Comm copy;
    int key;
    MPI_Comm_create_keyval(copies, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    MPI_Comm_dup(MPI_COMM_SELF, &copy);
}

/* Copies of a library that stands beside the program. */
static void with_files(const char *library, int count) {
    char command[2000], copy[1000];
    for (int i = 0; i < count; i++) {
        snprintf(copy, sizeof copy, "%s-a-copy-with-a-name-as-long-as-those-that-package-managers-like-%d", library, i);
        snprintf(command, sizeof command, "cp %s %s", library, copy);
        if (system(command) != 0 || !dlopen(copy, RTLD_NOW)) {
            puts(dlerror());
            exit(3);
        }
        remove(copy);
    }
    fails();
}

int main(int argc, char **argv) {
    const char *way = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    if (!strcmp(way, "pointer"))
        call_behind(MPI_COMM_NULL, MPI_Barrier);
    if (!strcmp(way, "spoilt"))
        spoilt();
    if (!strcmp(way, "name"))
        mpi_step();
    if (!strcmp(way, "callback"))
        in_callback();
    if (!strcmp(way, "files"))
        with_files(argv[2], 150);
    MPI_Finalize();
    return 0;
}
