//! Options that a program of the runtime cannot support, each with the reason.
//!
//! Harmless options pass. Makefiles often set `-pie`, `-static-pie`, `-fPIE` and `-fstack-protector` for every program,
//! so later flags override them.

/// Options without a value.
const WHOLE: [(&str, &str); 25] = [
    ("-shared", NO_LIBRARIES),
    ("--shared", NO_LIBRARIES),
    ("-Wl,-shared", NO_LIBRARIES),
    ("-Wl,--shared", NO_LIBRARIES),
    ("-Wl,-Bshareable", NO_LIBRARIES),
    ("-Wl,-pie", FIXED),
    ("-Wl,--pie", FIXED),
    ("-pthread", NO_THREADS),
    ("-pthreads", NO_THREADS),
    ("-lpthread", NO_THREADS),
    ("-fopenmp", NO_THREADS),
    ("-fopenacc", NO_THREADS),
    ("-lgomp", NO_THREADS),
    ("-lomp", NO_THREADS),
    ("-fgnu-tm", "the runtime has no transactional memory"),
    ("-fsplit-stack", "the runtime has no growing stacks"),
    ("-ldl", "the runtime has no dynamic loading"),
    ("-lstdc++", FOR_C),
    ("-lc++", FOR_C),
    ("-pg", NO_PROFILER),
    ("-p", NO_PROFILER),
    ("-fprofile-arcs", NO_PROFILER),
    ("-coverage", NO_PROFILER),
    ("--coverage", NO_PROFILER),
    ("-mx32", "the runtime supports x86-64 and i386, not x32"),
];

/// Options with a value, or with variants.
const BEGINNINGS: [(&str, &str); 7] = [
    ("-fopenmp=", NO_THREADS),
    ("-ftree-parallelize-loops=", NO_THREADS),
    ("-fprofile-generate", NO_PROFILER),
    ("-fprofile-instr-generate", NO_PROFILER),
    ("-fcoverage-mapping", NO_PROFILER),
    ("-fxray-instrument", NO_PROFILER),
    ("-fcs-profile-generate", NO_PROFILER),
];

const NO_LIBRARIES: &str = "the runtime is for programs, not for libraries";
const FIXED: &str = "the runtime's programs have a fixed address";
const NO_THREADS: &str = "the runtime has no threads";
const FOR_C: &str = "the runtime is for C";
const NO_PROFILER: &str = "the profiler's library needs glibc";
const NO_SANITIZER: &str = "the sanitizer's library needs glibc";
const NEEDS_TRAPS: &str =
    "its messages need a library that needs glibc; with -fsanitize-undefined-trap-on-error it traps instead";

/// The libraries of sanitizers and of gcov, `-lNAME`.
const SANITIZER_LIBRARIES: [&str; 6] = ["-lasan", "-ltsan", "-llsan", "-lubsan", "-lhwasan", "-lgcov"];

/// Checks that can trap instead of printing a message: those of `-fsanitize=undefined` in gcc and clang.
const TRAPPING: [&str; 33] = [
    "undefined",
    "alignment",
    "array-bounds",
    "bool",
    "bounds",
    "bounds-strict",
    "builtin",
    "enum",
    "float-cast-overflow",
    "float-divide-by-zero",
    "implicit-conversion",
    "implicit-integer-arithmetic-value-change",
    "implicit-integer-sign-change",
    "implicit-integer-truncation",
    "implicit-signed-integer-truncation",
    "implicit-unsigned-integer-truncation",
    "integer",
    "integer-divide-by-zero",
    "local-bounds",
    "nonnull-attribute",
    "null",
    "nullability",
    "object-size",
    "pointer-overflow",
    "return",
    "returns-nonnull-attribute",
    "shift",
    "shift-base",
    "shift-exponent",
    "signed-integer-overflow",
    "unreachable",
    "unsigned-integer-overflow",
    "vla-bound",
];

/// Why this option is not supported. `None` if nothing about this option alone speaks against it.
pub(super) fn reason(option: &str) -> Option<&'static str> {
    let whole = WHOLE.iter().find(|(known, _)| *known == option);
    let begun = || BEGINNINGS.iter().find(|(known, _)| option.starts_with(known));
    if let Some((_, reason)) = whole.or_else(begun) {
        // One thread needs no library.
        return (option != "-ftree-parallelize-loops=1").then_some(*reason);
    }
    if SANITIZER_LIBRARIES.contains(&option) {
        return Some(NO_SANITIZER);
    }
    let checks = option.strip_prefix("-fsanitize=")?;
    let all_trap = checks.split(',').all(|check| TRAPPING.contains(&check));
    (!all_trap).then_some(NO_SANITIZER)
}

/// The sanitizer among these options that would need a library to report failures, and why it is not supported.
pub(super) fn reporting_sanitizer<'a>(
    options: impl Iterator<Item = &'a str> + Clone,
) -> Option<(&'a str, &'static str)> {
    let traps = |option: &str| {
        option == "-fsanitize-undefined-trap-on-error"
            || option == "-fsanitize-trap"
            || option.starts_with("-fsanitize-trap=")
    };
    let is_off = options.clone().any(|option| traps(option) || option == "-fno-sanitize=all");
    let mut sanitizers = options.filter(|option| option.starts_with("-fsanitize="));
    sanitizers.next().filter(|_| !is_off).map(|option| (option, NEEDS_TRAPS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_that_need_another_library_are_refused() {
        let refused = "-shared --shared -Wl,-shared -Wl,-pie -pthread -lpthread -ldl -fopenmp -fopenmp=libomp -lgomp \
            -fsanitize=address -fsanitize=address,undefined -fsanitize=undefined,leak -fsanitize=thread -lasan -pg -p \
            --coverage -fprofile-generate -fprofile-generate=x -fsplit-stack -fgnu-tm -lstdc++ -mx32 \
            -ftree-parallelize-loops=4";
        for option in refused.split_whitespace() {
            assert!(reason(option).is_some(), "{option}");
        }
    }

    #[test]
    fn harmless_options_pass() {
        let passing = "-static -pie -static-pie -no-pie -fPIE -fPIC -fpic -fstack-protector -fstack-protector-strong \
            -fstack-protector-all -fopenmp-simd -O2 -Os -O3 -Ofast -flto -march=native -m64 -lm -lc -lrt -lutil -rdynamic \
            -D_FORTIFY_SOURCE=2 -fstack-clash-protection -fcf-protection -ftrapv -fwrapv -ftree-parallelize-loops=1 \
            -fsanitize=undefined -fsanitize=shift,bounds -fno-sanitize=all -Wl,-z,now -Wl,--as-needed -pipe -std=c99 \
            -fprofile-use -o -c -x";
        for option in passing.split_whitespace() {
            assert_eq!(reason(option), None, "{option}");
        }
    }

    #[test]
    fn the_undefined_behaviour_sanitizer_must_trap() {
        let found = |line: &str| reporting_sanitizer(line.split(' ')).is_some();
        assert!(found("-O2 -fsanitize=undefined x.c"));
        assert!(!found("-fsanitize=undefined -fsanitize-undefined-trap-on-error x.c"));
        assert!(!found("-fsanitize=undefined -fsanitize-trap=all x.c"));
        assert!(!found("-fsanitize=undefined -fno-sanitize=all") && !found("-O2 x.c"));
    }
}
