# Response to Response, "Assembly for original Go version", in GNU syntax, with libc's atoi.
    .intel_syntax noprefix
    .globl _start
    .text
_start:
    mov rdi, [rsp + 16]
    call atoi@plt

    mov r12, rax

.Lhelloloop:
    mov rdx, offset len
    mov rsi, offset msg
    mov rdi, 1
    mov rax, 1
    syscall
    dec r12
    cmp r12, 0
    jg .Lhelloloop

    mov rdi, 0
    mov rax, 60
    syscall

    .data
msg: .ascii "hello world\n"
    .set len, . - msg
    .section .note.GNU-stack, "", @progbits
