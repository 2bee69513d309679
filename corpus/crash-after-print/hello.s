# One system call: no exit. The linker fills the page after it with zeros, which read `add %al, (%rax)`;
# %rax holds 12, the bytes written, and nothing is ever mapped there: SIGSEGV.
    .globl _start
    .section .rodata
message:
    .ascii "hello world\n"

    .text
_start:
    movl $1, %eax           # write
    movl $1, %edi           # to stdout
    movl $message, %esi
    movl $12, %edx
    syscall
