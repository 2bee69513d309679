//! Starts the C library without asking the processor what it is.
//!
//! Before `main`, static glibc executes CPUID about 40 times to choose between variants of `memcpy` and the like. In a virtual
//! machine each CPUID leaves the guest and takes 1 to 4 µs, so that this was 40 % of our own start. What follows does what
//! `__libc_start_main` of glibc 2.36 does (csu/libc-start.c, for static executables) without that part, so that the variants
//! for any x86-64 processor are chosen. It also leaves out what we do not use: `.preinit_array`, `.fini_array`, the frame for
//! a `pthread_exit` of the main thread, and gdb's list of loaded objects. With another glibc, whose start may differ, its own
//! one goes on.

std::arch::global_asm!(
    // functions and data that are private to the C library: another one may lack them
    ".weak _dl_relocate_static_pie, _dl_aux_init, __tunables_init, __libc_setup_tls, __libc_early_init, __libc_init_first",
    ".weak __libc_check_standard_fds, __libc_enable_secure, __libc_stack_end, _dl_random",
    ".weak __rela_iplt_start, __rela_iplt_end, __init_array_start, __init_array_end",
    ".weak __x86_shared_non_temporal_threshold, __x86_rep_movsb_stop_threshold, _dl_minsigstacksize",
    // the stack is as the kernel leaves it: argc, argv, the environment, the auxiliary vector
    ".globl firstbyte_start_c_library",
    "firstbyte_start_c_library: mov rbx, rsp",
    "mov r15, rdx",
    "and rsp, -16",
    "call gnu_get_libc_version",
    "cmp dword ptr [rax], 0x36332e32", // "2.36"
    "jne 1f",
    "cmp byte ptr [rax + 4], 0",
    "je 2f",
    "1: mov rsp, rbx",
    "mov rdx, r15",
    "jmp _start",
    "2: call _dl_relocate_static_pie",
    "mov r12d, [rbx]",
    "lea r13, [rbx + 8]",
    "lea r14, [r13 + r12 * 8 + 8]",
    "mov [rip + environ], r14",
    "mov [rip + __libc_stack_end], rbx",
    "mov rdi, r14",
    "3: add rdi, 8",
    "cmp qword ptr [rdi - 8], 0",
    "jne 3b",
    "call _dl_aux_init",
    "mov rdi, r14",
    "call __tunables_init",
    // from how many bytes on copies go past the caches: glibc's default for a share of 1 MiB (sysdeps/x86/dl-cacheinfo.h)
    "mov qword ptr [rip + __x86_shared_non_temporal_threshold], 0xc0000",
    "mov qword ptr [rip + __x86_rep_movsb_stop_threshold], 0xc0000",
    // the room that a signal takes: kernels before 5.14 do not say it, and CPUID would
    "cmp qword ptr [rip + _dl_minsigstacksize], 0",
    "jne 9f",
    "mov qword ptr [rip + _dl_minsigstacksize], 0x4000",
    // R_X86_64_IRELATIVE: a function returns the address of the variant
    "9: lea rbp, [rip + __rela_iplt_start]",
    "4: lea rax, [rip + __rela_iplt_end]",
    "cmp rbp, rax",
    "jae 5f",
    "call [rbp + 16]",
    "mov rcx, [rbp]",
    "mov [rcx], rax",
    "add rbp, 24",
    "jmp 4b",
    "5: call __libc_setup_tls",
    // the values that guard return addresses and saved pointers (tcbhead_t)
    "mov rdx, [rip + _dl_random]",
    "mov rax, [rdx]",
    "xor al, al",
    "mov fs:[0x28], rax",
    "mov rax, [rdx + 8]",
    "mov fs:[0x30], rax",
    "mov edi, 1",
    "call __libc_early_init",
    "mov edi, r12d",
    "mov rsi, r13",
    "mov rdx, r14",
    "call __libc_init_first",
    "cmp dword ptr [rip + __libc_enable_secure], 0",
    "je 6f",
    "call __libc_check_standard_fds",
    "6: call _init",
    "lea rbp, [rip + __init_array_start]",
    "7: lea rax, [rip + __init_array_end]",
    "cmp rbp, rax",
    "jae 8f",
    "mov edi, r12d",
    "mov rsi, r13",
    "mov rdx, r14",
    "call [rbp]",
    "add rbp, 8",
    "jmp 7b",
    "8: mov edi, r12d",
    "mov rsi, r13",
    "mov rdx, r14",
    "xor ebp, ebp", // the outermost frame
    "call main",
    "mov edi, eax",
    "call exit",
    "ud2",
);
