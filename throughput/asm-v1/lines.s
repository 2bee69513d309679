# ASM v1 of Response to Response, fixed: 64-bit count, no line for 0, short writes are continued, exit status 1 on error.
    .intel_syntax noprefix
    .globl _start
    .text
_start:
    cmp qword ptr [rsp], 2
    jne .Lfailure
    mov rdi, [rsp + 16]
    call atol@plt
    mov r12, rax

.Lline:
    dec r12
    js .Lsuccess
    mov r13, offset len
    mov r14, offset msg
.Lrest:
    mov rdx, r13
    mov rsi, r14
    mov rdi, 1
    mov rax, 1
    syscall
    test rax, rax
    jle .Lfailure
    add r14, rax
    sub r13, rax
    jnz .Lrest
    jmp .Lline

.Lsuccess:
    mov rdi, 0
    mov rax, 60
    syscall
.Lfailure:
    mov rdi, 1
    mov rax, 60
    syscall

    .data
msg: .ascii "hello world\n"
    .set len, . - msg
    .section .note.GNU-stack, "", @progbits
