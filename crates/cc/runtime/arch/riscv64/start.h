/* The entry point on riscv64: the kernel enters with sp -> argc (see src/start/start.c for the picture), 16-byte
 * aligned.
 *
 *   gp          the psABI's global pointer: the linker may address small data through it
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
