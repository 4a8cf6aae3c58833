/* The first instructions of a program, as the ABI of the processor prescribes (System V ABI, AMD64,
 * 3.4.1). A C library before 2.34 does not call the constructors of a program itself: it calls the
 * function that it is given here, and so does a newer one for this version of the symbol. */
#if defined(__x86_64__)
	.text
	.globl _start
	.type _start, @function
_start:
	.cfi_startproc
	.cfi_undefined rip
	xorl %ebp, %ebp
	movq %rdx, %r9 /* what the loader wants to be called at the exit */
	movq (%rsp), %rsi /* the number of arguments */
	leaq 8(%rsp), %rdx /* the arguments */
	movq %rsp, %rax
	andq $-16, %rsp
	subq $8, %rsp
	pushq %rax /* the end of the stack */
	xorl %r8d, %r8d
	leaq verbena_run_constructors(%rip), %rcx
	movq main@GOTPCREL(%rip), %rdi
	call *__libc_start_main@GOTPCREL(%rip)
	hlt
	.cfi_endproc
	.size _start, .-_start
	.section .note.GNU-stack, "", @progbits
#else
#error "the start of a program is written for x86-64 alone"
#endif
