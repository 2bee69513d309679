# ASM v2 with logs of Response to Response, fixed: logs to stderr, room for the 8-byte stores, 64-bit count, 0 lines, and
# write(2) until all output is written.
    .intel_syntax noprefix
    .globl main
    .text
main:
    push r12
    push r13
    push r14
    cmp rdi, 2
    jne .Lfailure
    mov r13, [rsi + 8]

    mov rdi, 2
    lea rsi, [rip + log1]
    mov rdx, 2
    mov rcx, r13
    xor eax, eax
    call dprintf@plt

    mov rdi, r13
    call atol@plt
    mov r13, rax

    mov rdi, 2
    lea rsi, [rip + log2]
    mov rdx, r13
    xor eax, eax
    call dprintf@plt

    imul r14, r13, offset len
    lea rdi, [r14 + 8]
    call malloc@plt
    test rax, rax
    jz .Lfailure
    mov r12, rax

    mov rdx, r13
    mov rdi, r12
    test rdx, rdx
    jz .Lprint

.Lrepeat_message:
    lea rsi, [rip + msg]
    mov rcx, offset len

.Lcopy_message:
    mov rax, [rsi]
    mov [rdi], rax
    inc rsi
    inc rdi
    dec rcx
    jnz .Lcopy_message

    dec rdx
    jnz .Lrepeat_message

.Lprint:
    test r14, r14
    jz .Lsuccess
    mov rdi, 1
    mov rsi, r12
    mov rdx, r14
    call write@plt
    test rax, rax
    jle .Lfailure
    add r12, rax
    sub r14, rax
    jmp .Lprint

.Lsuccess:
    xor eax, eax
    jmp .Lend
.Lfailure:
    mov eax, 1
.Lend:
    pop r14
    pop r13
    pop r12
    ret

    .data
msg: .ascii "hello world\n"
    .set len, . - msg
    .zero 8
log1: .asciz "argc = %d, argv[1] = %s\n"
log2: .asciz "atoi = %ld\n"
    .section .note.GNU-stack, "", @progbits
