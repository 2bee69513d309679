format ELF64 executable
entry start

segment readable executable
start:
    mov eax, 1
    mov edi, 1
    lea rsi, [text]
    mov edx, 12
    syscall
    mov eax, 60
    xor edi, edi
    syscall

segment readable
text db 'hello world', 10
