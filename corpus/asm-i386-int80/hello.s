# Two system calls of a 32-bit program, by interrupt 0x80.
    .globl _start
    .section .rodata
message:
    .ascii "hello world\n"

    .text
_start:
    movl $1, %ebx           # to stdout
    movl $message, %ecx
    movl $12, %edx
    movl $4, %eax           # write
    int $0x80

    movl $0, %ebx
    movl $1, %eax           # exit
    int $0x80
