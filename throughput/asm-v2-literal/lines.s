# Response to Response, "My optimized Assembly version", in GNU syntax for Linux: main instead of _main, exit call 60.
    .intel_syntax noprefix
    .globl main
    .text
main:
    cmp rdi, 2
    jne .Lexit_failure

    mov r12, rdi
    mov r13, [rsi + 8]

    push rdi

    mov rdi, r13
    call atoi@plt

    mov r13, rax

    pop rdi

    mov rdi, r13
    mov rax, offset len
    imul rdi, rax
    inc rdi
    mov r12, rdi

    push rax

    mov rdi, r12
    xor rax, rax
    call malloc@plt

    test rax, rax
    jz .Lexit_failure

    mov r12, rax

    pop rax

    mov rcx, r13
    mov rdi, r12

.Lrepeat_message_1:
    push rcx
    lea rsi, [rip + msg]
    mov rcx, offset len
    cld

.Lcopy_message:
    mov rax, [rsi]
    mov [rdi], rax
    inc rsi
    inc rdi
    dec rcx
    jnz .Lcopy_message

    pop rcx
    dec rcx
    jnz .Lrepeat_message_1

    xor rax, rax
    mov [rdi], rax

    push rdi

    mov rdi, r12
    xor rax, rax
    call puts@plt

    pop rdi

    push rdi

    mov rdi, r12
    call free@plt

    pop rdi

    xor rdi, rdi
    jmp .Lexit

.Lexit_failure:
    mov rdi, 1

.Lexit:
    mov rax, 60
    syscall

    .data
msg: .ascii "Hello, world\n"
    .set len, . - msg
    .section .note.GNU-stack, "", @progbits
