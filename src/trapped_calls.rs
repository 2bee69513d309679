//! A seccomp filter may answer a system call with SIGSYS, whose default is death. Android's does so for every call that it
//! does not list, and `set_robust_list(2)` and `rseq(2)`, which glibc makes before `main` and in each new thread, are among
//! these. Here such a call fails with ENOSYS instead, and who made it does without it.
//!
//! `build.rs` makes `firstbyte_start` the entry point, so that the handler is there before the C library's first call, and
//! puts `__wrap___clone_internal` in front of the function by which glibc creates threads. glibc blocks all signals for a new
//! thread, and a blocked SIGSYS kills.

#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(
    // rt_sigaction(SIGSYS, {handler, SA_SIGINFO | SA_NODEFER | SA_RESTORER, restorer, no mask}, NULL, 8)
    ".globl firstbyte_start",
    "firstbyte_start: push rdx",
    "push 0",
    "lea rax, [rip + .Lfirstbyte_restorer]",
    "push rax",
    "push 0x44000004",
    "lea rax, [rip + .Lfirstbyte_trapped]",
    "push rax",
    "mov edi, 31",
    "mov rsi, rsp",
    "xor edx, edx",
    "mov r10d, 8",
    "mov eax, 13",
    "syscall",
    "add rsp, 32",
    "pop rdx",
    "jmp firstbyte_start_c_library",
    // si_code is SYS_SECCOMP: uc_mcontext.gregs[REG_RAX] = -ENOSYS
    ".Lfirstbyte_trapped: cmp dword ptr [rsi + 8], 1",
    "jne 1f",
    "mov qword ptr [rdx + 144], -38",
    "1: ret",
    ".Lfirstbyte_restorer: mov eax, 15",
    "syscall",
    // rt_sigprocmask(SIG_UNBLOCK, {SIGSYS}, NULL, 8)
    ".weak __real___clone_internal", // older ones have no such function, and then nobody calls this one
    ".globl __wrap___clone_internal",
    "__wrap___clone_internal: push rdi",
    "push rsi",
    "push rdx",
    "push 0x40000000",
    "mov edi, 1",
    "mov rsi, rsp",
    "xor edx, edx",
    "mov r10d, 8",
    "mov eax, 14",
    "syscall",
    "pop rax",
    "pop rdx",
    "pop rsi",
    "pop rdi",
    "jmp __real___clone_internal",
);

#[cfg(target_arch = "aarch64")]
std::arch::global_asm!(
    // rt_sigaction(SIGSYS, {handler, SA_SIGINFO | SA_NODEFER, no restorer, no mask}, NULL, 8)
    ".globl firstbyte_start",
    "firstbyte_start: mov x9, x0",
    "adrp x10, .Lfirstbyte_trapped",
    "add x10, x10, :lo12:.Lfirstbyte_trapped",
    "mov x11, #4",
    "movk x11, #0x4000, lsl #16",
    "stp x10, x11, [sp, #-32]!",
    "stp xzr, xzr, [sp, #16]",
    "mov x0, #31",
    "mov x1, sp",
    "mov x2, #0",
    "mov x3, #8",
    "mov x8, #134",
    "svc #0",
    "add sp, sp, #32",
    "mov x0, x9",
    "b _start",
    // si_code is SYS_SECCOMP: uc_mcontext.regs[0] = -ENOSYS
    ".Lfirstbyte_trapped: ldr w9, [x1, #8]",
    "cmp w9, #1",
    "b.ne 1f",
    "mov x9, #-38",
    "str x9, [x2, #184]",
    "1: ret",
    // rt_sigprocmask(SIG_UNBLOCK, {SIGSYS}, NULL, 8)
    ".weak __real___clone_internal", // older ones have no such function, and then nobody calls this one
    ".globl __wrap___clone_internal",
    "__wrap___clone_internal: mov x9, #0x40000000",
    "stp x0, x1, [sp, #-32]!",
    "stp x2, x9, [sp, #16]",
    "mov x0, #1",
    "add x1, sp, #24",
    "mov x2, #0",
    "mov x3, #8",
    "mov x8, #135",
    "svc #0",
    "ldr x2, [sp, #16]",
    "ldp x0, x1, [sp], #32",
    "b __real___clone_internal",
);
