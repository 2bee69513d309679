# x86-64, but it writes with int 0x80, by the 32-bit table. In the native table the same number, 4, is stat.
	.globl _start
_start:
	movl $4, %eax
	movl $1, %ebx
	movl $text, %ecx
	movl $12, %edx
	int $0x80
	movl $60, %eax
	xorl %edi, %edi
	syscall
	.section .rodata
text:	.ascii "hello world\n"
