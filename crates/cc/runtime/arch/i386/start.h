/* The entry point on i386. At entry esp points to argc (see the picture in src/start/start.c).
 *
 *   xor ebp     the outermost frame has no caller
 *   mov eax     the initial stack
 *   and, sub    16 bytes of alignment at the call, with the one argument pushed (System V ABI)
 */
__asm__(".section .text.firstbyte.start,\"ax\",@progbits\n"
        ".globl _start\n"
        ".type _start,@function\n"
        "_start:\n"
        "    xorl %ebp, %ebp\n"
        "    movl %esp, %eax\n"
        "    andl $-16, %esp\n"
        "    subl $12, %esp\n"
        "    pushl %eax\n"
        "    call __fb_start\n"
        ".size _start, .-_start\n"
        ".previous\n");
