# Response to Response, "My version with logs", in GNU syntax for Linux: main instead of _main, exit call 60.
    .intel_syntax noprefix
    .globl main
    .text
main:
    push r12
    push r13

    cmp rdi, 2
    jne .Lexit_failure

    mov r12, rdi
    mov r13, [rsi + 8]

    push rsi
    push rdi
    push rdx

    mov rdi, offset log1
    mov rsi, r12
    mov rdx, r13
    xor rax, rax
    call printf@plt

    pop rdx
    pop rdi
    pop rsi

    push rdi

    mov rdi, r13
    call atoi@plt

    mov r13, rax

    pop rdi

    push rdi
    push rsi

    mov rdi, offset log2
    mov rsi, r13
    xor rax, rax
    call printf@plt

    pop rsi
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
log1: .asciz "argc = %d, argv[1] = %s\n"
log2: .asciz "atoi = %d\n"
    .section .note.GNU-stack, "", @progbits
