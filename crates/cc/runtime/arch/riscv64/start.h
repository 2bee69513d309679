/* The entry point on riscv64. At entry sp points to argc (see the picture in src/start/start.c) and is 16-byte aligned.
 *
 *   gp          the global pointer of the psABI, through which the linker may address small data
 *   a0          first argument of __fb_start: the initial stack
 */
__asm__(".section .text.firstbyte.start,\"ax\",@progbits\n"
        ".globl _start\n"
        ".type _start,@function\n"
        "_start:\n"
        ".weak __global_pointer$\n"
        ".option push\n"
        ".option norelax\n"
        "    lla gp, __global_pointer$\n"
        ".option pop\n"
        "    mv a0, sp\n"
        "    call __fb_start\n"
        ".size _start, .-_start\n"
        ".previous\n");
