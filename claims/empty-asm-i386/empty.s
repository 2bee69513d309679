# The stub of C Runtime Overhead: one system call.
.globl _start
_start:
    movl $1, %eax           # exit
    xorl %ebx, %ebx
    int  $0x80
