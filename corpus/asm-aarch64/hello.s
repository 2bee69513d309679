// Two raw system calls.
    .globl _start
    .section .rodata
message:
    .ascii "hello world\n"

    .text
_start:
    mov x0, #1              // to stdout
    ldr x1, =message
    mov x2, #12
    mov x8, #64             // write
    svc #0

    mov x0, #0
    mov x8, #93             // exit
    svc #0
