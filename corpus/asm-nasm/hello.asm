section .data
text: db 'hello world', 10

section .text
global _start
_start:
    mov eax, 1
    mov edi, 1
    mov rsi, text
    mov edx, 12
    syscall
    mov eax, 60
    xor edi, edi
    syscall
