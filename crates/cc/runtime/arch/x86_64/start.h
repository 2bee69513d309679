/* The entry point on x86-64. At entry rsp points to argc (see the picture in src/start/start.c) and is 16-byte aligned.
 * Every other register is zero or undefined (System V ABI, section 3.4.1).
 *
 *   xor ebp     the outermost frame has no caller
 *   mov rdi     first argument of __fb_start: the initial stack
 *   and rsp     the ABI requires an alignment of 16 bytes before the call
 */
__asm__(".section .text.firstbyte.start,\"ax\",@progbits\n"
        ".globl _start\n"
        ".type _start,@function\n"
        "_start:\n"
        "    xorl %ebp, %ebp\n"
        "    movq %rsp, %rdi\n"
        "    andq $-16, %rsp\n"
        "    call __fb_start\n"
        ".size _start, .-_start\n"
        ".previous\n");
