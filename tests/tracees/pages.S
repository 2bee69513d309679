# x86-64: touches 30 fresh anonymous pages times its argument, one digit. The stack is the same for every digit.
	.globl _start
_start:
	movq 16(%rsp), %rsi		# argv[1]
	movzbl (%rsi), %r12d
	subl $'0', %r12d
	imull $30, %r12d
	incl %r12d
	movq %r12, %rsi
	shlq $12, %rsi			# one page more than is touched
	movl $9, %eax			# mmap
	xorl %edi, %edi
	movl $3, %edx			# readable, writable
	movl $0x22, %r10d		# private, anonymous
	movq $-1, %r8
	xorl %r9d, %r9d
	syscall
	movq %rax, %rbx
	movl $28, %eax			# madvise, because a huge page would be one fault for many pages
	movq %rbx, %rdi
	movl $15, %edx			# MADV_NOHUGEPAGE
	syscall
next:	decq %r12
	jz done
	movb $1, (%rbx)
	addq $4096, %rbx
	jmp next
done:	movl $60, %eax
	xorl %edi, %edi
	syscall
