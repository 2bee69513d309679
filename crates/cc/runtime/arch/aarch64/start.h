/* The entry point on aarch64: the kernel enters with sp -> argc (see src/start/start.c for the picture), 16-byte
 * aligned (AAPCS64 wants that at every call), all other registers zero.
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
