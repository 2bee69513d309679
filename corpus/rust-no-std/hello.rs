//! No standard library, no start files: two raw system calls.
#![no_std]
#![no_main]

use core::arch::asm;

static MESSAGE: [u8; 12] = *b"hello world\n";

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}

#[no_mangle]
pub extern "C" fn _start() -> ! {
    unsafe {
        call(WRITE, 1, MESSAGE.as_ptr() as usize, MESSAGE.len());
        call(EXIT_GROUP, 0, 0, 0);
    }
    loop {}
}

#[cfg(target_arch = "x86_64")]
const WRITE: usize = 1;
#[cfg(target_arch = "x86_64")]
const EXIT_GROUP: usize = 231;

#[cfg(target_arch = "x86_64")]
unsafe fn call(number: usize, a: usize, b: usize, c: usize) {
    asm!("syscall", inlateout("rax") number => _, in("rdi") a, in("rsi") b, in("rdx") c,
         lateout("rcx") _, lateout("r11") _);
}

#[cfg(target_arch = "aarch64")]
const WRITE: usize = 64;
#[cfg(target_arch = "aarch64")]
const EXIT_GROUP: usize = 94;

#[cfg(target_arch = "aarch64")]
unsafe fn call(number: usize, a: usize, b: usize, c: usize) {
    asm!("svc 0", in("x8") number, inlateout("x0") a => _, in("x1") b, in("x2") c);
}
