# i386: write with int 0x80, then exit.
	.globl _start
_start:
	movl $4, %eax
	movl $1, %ebx
	movl $text, %ecx
	movl $12, %edx
	int $0x80
	movl $1, %eax
	xorl %ebx, %ebx
	int $0x80
	.section .rodata
text:	.ascii "hello world\n"
