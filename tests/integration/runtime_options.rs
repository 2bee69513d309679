//! `firstbyte cc`: options that it accepts, and functions that compilers call by themselves.

use crate::runtime::{cache, fed, folder, glibc, native, ours, page_faults, there};
use crate::support::skipped;
use firstbyte_cc::{Arguments, Compiler, Driver};
use firstbyte_elf::Architecture;
use std::os::unix::process::ExitStatusExt;

/// With the options that makefiles pass to every program it compiles, links and runs.
#[test]
fn a_damaged_cache_is_built_again() {
    let place = tempfile::tempdir().unwrap();
    let Ok(compiler) = Compiler::find(Architecture::host().unwrap()) else {
        return skipped("there is no C compiler here");
    };
    let driver = || Driver::of_folder(&folder(), place.path(), compiler.clone()).unwrap();
    let whole = driver().runtime;
    for file in ["libfirstbyte.a", "include/stdio.h"] {
        std::fs::remove_file(whole.join(file)).unwrap();
        assert_eq!(driver().runtime, whole);
        assert!(whole.join(file).is_file(), "{file}");
    }
    std::fs::remove_dir_all(whole.join("include/sys")).unwrap();
    assert!(driver().runtime.join("include/sys/types.h").is_file());
}

#[test]
fn harmless_options_are_accepted_and_the_program_runs() {
    let Some(driver) = native() else { return };
    let place = tempfile::tempdir().unwrap();
    let lines = "-static|-O0|-O3|-Ofast|-flto|-pie|-static-pie|-fPIE|-fPIC|-fstack-protector-all|-fopenmp-simd|-rdynamic|-lm|\
        -lc -lrt|-ansi|-std=c89|-std=c99 -pedantic -Wall -Wextra -Werror|-D_FORTIFY_SOURCE=2 -O2|-ftrapv|-fwrapv|\
        -fstack-clash-protection -fcf-protection|-Wl,-z,now -Wl,-z,relro|-Wl,--as-needed|-fno-plt -fvisibility=hidden|\
        -ffreestanding|-fexceptions|-m64|-g|-fsanitize=undefined -fsanitize-undefined-trap-on-error";
    for line in lines.split('|') {
        if line == "-m64" && !cfg!(target_arch = "x86_64") {
            continue;
        }
        let program = place.path().join("program");
        let options: Vec<&str> = line.split_whitespace().collect();
        ours(&driver, &options, &folder().join("samples/copy.c"), &program);
        assert_eq!(fed(&program, &[], b"copied").stdout, b"copied", "{line}");
    }
}

#[test]
fn option_r_joins_objects_without_a_final_link() {
    let Some(driver) = native() else { return };
    let place = tempfile::tempdir().unwrap();
    let (object, joined, program) =
        (place.path().join("a.o"), place.path().join("b.o"), place.path().join("program"));
    ours(&driver, &["-c"], &folder().join("samples/copy.c"), &object);
    ours(&driver, &["-r"], &object, &joined);
    ours(&driver, &[], &joined, &program);
    assert_eq!(fed(&program, &[], b"copied").stdout, b"copied");
}

/// Compares every function that compilers call on i386 for 64-bit arithmetic with the operators of this machine.
#[test]
fn the_integer_library_of_i386_agrees_with_64_bit_arithmetic() {
    if !cfg!(target_arch = "x86_64") {
        return skipped("i386 programs do not run on this machine");
    }
    let place = tempfile::tempdir().unwrap();
    let source = folder().join("tests/integers.c");
    let (expected, found) = (place.path().join("expected"), place.path().join("found"));
    glibc(&["cc"], &["-O1", "-fno-builtin", "-w"], &source, &expected);
    let expected = fed(&expected, &[], b"").stdout;
    for command in ["gcc -m32", "clang -m32"] {
        if !there(&command[..command.len() - 5], "gcc clang") {
            continue;
        }
        let compiler = Compiler::chosen(command, Architecture::I386).unwrap();
        let driver = Driver::of_folder(&folder(), &cache(), compiler).unwrap();
        for options in [&["-O0"][..], &["-O2"], &["-Os"]] {
            ours(&driver, options, &source, &found);
            let output = fed(&found, &[], b"");
            let text = String::from_utf8_lossy(&output.stdout);
            let expected = String::from_utf8_lossy(&expected);
            let difference = text.lines().zip(expected.lines()).find(|(ours, theirs)| ours != theirs);
            assert!(output.status.success() && text == expected, "{command} {options:?}: {difference:?}");
            let overflown = fed(&found, &["trap"], b"");
            assert_eq!(overflown.status.signal(), Some(libc::SIGABRT), "{command} {options:?}");
        }
    }
}

/// A program without streams does not touch their page. It has the page faults of an empty program.
#[test]
fn a_program_without_streams_touches_no_page_of_variables() {
    let Some(driver) = native() else { return };
    let place = tempfile::tempdir().unwrap();
    let (source, program) = (place.path().join("write.c"), place.path().join("write"));
    let text = "#include <unistd.h>\nint main(void) { return write(1, \"hello world\\n\", 12) != 12; }\n";
    std::fs::write(&source, text).unwrap();
    ours(&driver, &[], &source, &program);
    assert_eq!(fed(&program, &[], b"").stdout, b"hello world\n");
    if let Some(faults) = page_faults(&program, b"") {
        assert!(faults <= 2, "{faults}");
    }
}

/// A system header that the runtime lacks is an error that names it and says what to use instead.
#[test]
fn every_missing_header_says_what_is_missing() {
    let Some(driver) = native() else { return };
    let place = tempfile::tempdir().unwrap();
    let source = place.path().join("header.c");
    let mut missing = 0;
    for folder in ["", "sys", "arpa", "netinet"] {
        for entry in crate::runtime::folder().join("include").join(folder).read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir()
                || !std::fs::read_to_string(&path).unwrap().contains("#error \"firstbyte's runtime has")
            {
                continue;
            }
            let name = std::path::Path::new(folder).join(path.file_name().unwrap()).display().to_string();
            std::fs::write(&source, format!("#include <{name}>\n")).unwrap();
            let arguments = ["-c".into(), source.clone().into_os_string(), "-o".into(), "/dev/null".into()];
            let output = driver.command(&Arguments::parse(arguments).unwrap()).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(!output.status.success() && said.contains(&format!("(<{name}>)")), "{name}: {said}");
            missing += 1;
        }
    }
    assert!(missing >= 50, "{missing}");
}
