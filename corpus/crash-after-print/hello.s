# One system call and no exit. The linker fills the rest of the page with zeros, which decode as `add %al, (%rax)`.
# %rax is 12, the number of bytes written. No memory is mapped at that address: SIGSEGV.
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
