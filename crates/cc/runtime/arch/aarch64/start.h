/* The entry point on aarch64. At entry sp points to argc (see the picture in src/start/start.c) and is 16-byte aligned
 * (AAPCS64 requires that for every call). All other registers are zero.
 *
 *   x29, x30    the outermost frame has no caller
 *   x0          first argument of __fb_start: the initial stack
 */
__asm__(".section .text.firstbyte.start,\"ax\",@progbits\n"
        ".globl _start\n"
        ".type _start,%function\n"
        "_start:\n"
        "    mov x29, #0\n"
        "    mov x30, #0\n"
        "    mov x0, sp\n"
        "    b __fb_start\n"
        ".size _start, .-_start\n"
        ".previous\n");
