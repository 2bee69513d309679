# Two raw system calls.
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

    movl $60, %eax          # exit
    xorl %edi, %edi
    syscall
