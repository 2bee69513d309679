//! Our executables as `/init` of real kernels in qemu-system, because qemu-user's loader is not the kernel's.
//!
//! The kernel reports how its init ended: `Attempted to kill init! exitcode=0x…` (the status of wait(2)).
//! These tests are slow and therefore ignored: `tests/qemu/run` fetches the kernels and runs them.

use crate::support::skipped as skip;
use firstbyte_elf::packed;
use firstbyte_elf::packed::Demands;
use firstbyte_elf::{Architecture, plain};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const HELLO: &[u8] = b"Hello, World!\n";
const REAL_KERNELS: Demands = Demands { real_kernels_only: true, large_mappings: false, exhaustive: false };

/// A machine that qemu-system emulates, and the kernel for it.
struct Emulated {
    architecture: Architecture,
    qemu: &'static str,
    console: &'static str,
    cpu: &'static [&'static str],
}

const MACHINES: [Emulated; 2] = [
    Emulated {
        architecture: Architecture::Aarch64,
        qemu: "qemu-system-aarch64",
        console: "ttyAMA0",
        cpu: &["-cpu", "cortex-a57"],
    },
    Emulated { architecture: Architecture::Riscv64, qemu: "qemu-system-riscv64", console: "ttyS0", cpu: &[] },
];

fn kernel(machine: &Emulated) -> Option<PathBuf> {
    let folder = std::env::var_os("FIRSTBYTE_KERNELS").map(PathBuf::from);
    let kernel = folder.map(|f| f.join(format!("vmlinuz-{}", machine.architecture))).filter(|k| k.is_file());
    if kernel.is_none() {
        skip(&format!("no kernel for {}; help: `tests/qemu/run`", machine.architecture));
    }
    let qemu = Command::new(machine.qemu).arg("--version").stdout(Stdio::null()).status();
    if qemu.is_err() {
        skip(&format!(
            "`{}` is missing; help: `apt-get install qemu-system-arm qemu-system-misc`",
            machine.qemu
        ));
        return None;
    }
    kernel
}

/// An initial file system, in cpio's "newc" format (cpio(5)), whose `/dev/console` is the kernel's log.
///
/// The kernel opens that path as init's standard streams. A terminal would not work: it sends once the serial port's power
/// management has woken the port (`__uart_start`, `drivers/tty/serial/serial_core.c`), and if init ends first, the panic
/// that follows prevents the message from ever being sent. Text written to `/dev/kmsg` is in the log when write(2) returns.
fn initial_file_system(init: &[u8]) -> Vec<u8> {
    const FILE: u32 = 0o100_000;
    const CHARACTER_DEVICE: u32 = 0o020_000;
    const KMSG: (u32, u32) = (1, 11);
    let mut archive = Vec::new();
    // The kernel has a terminal of that name, and keeps it unless the kind of file differs.
    append(&mut archive, "dev/console", FILE | 0o600, (0, 0), &[]);
    append(&mut archive, "dev/console", CHARACTER_DEVICE | 0o600, KMSG, &[]);
    append(&mut archive, "init", FILE | 0o755, (0, 0), init);
    append(&mut archive, "TRAILER!!!", 0, (0, 0), &[]);
    archive
}

fn append(archive: &mut Vec<u8>, name: &str, mode: u32, device: (u32, u32), content: &[u8]) {
    let size = u32::try_from(content.len()).unwrap();
    let name_size = u32::try_from(name.len()).unwrap() + 1;
    // Inode, mode, owner, group, links, time, size, the file's device (2), the device that the file is (2), name, checksum.
    let fields = [0, mode, 0, 0, 1, 0, size, 0, 0, device.0, device.1, name_size, 0];
    archive.extend(b"070701");
    archive.extend(fields.iter().flat_map(|field| format!("{field:08x}").into_bytes()));
    archive.extend(name.bytes().chain([0]));
    archive.resize(archive.len().next_multiple_of(4), 0);
    archive.extend(content);
    archive.resize(archive.len().next_multiple_of(4), 0);
}

/// Everything that the machine's console printed until the kernel gave up because its init had ended.
fn boot(machine: &Emulated, kernel: &Path, init: &[u8]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let initrd = folder.path().join("initrd");
    fs::write(&initrd, initial_file_system(init)).unwrap();
    // `timeout` ends qemu if the kernel hangs.
    let mut child = Command::new("timeout")
        .args(["600", machine.qemu, "-M", "virt", "-m", "512", "-nographic", "-no-reboot", "-nic", "none"])
        .args(machine.cpu)
        .arg("-kernel")
        .arg(kernel)
        .arg("-initrd")
        .arg(&initrd)
        .args(["-append", &format!("console={}", machine.console)])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let text = read_until_ended(child.stdout.take().unwrap());
    // It passes the signal on to qemu.
    let timeout = rustix::process::Pid::from_child(&child);
    let _ = rustix::process::kill_process(timeout, rustix::process::Signal::TERM);
    child.wait().unwrap();
    text
}

fn read_until_ended(mut console: impl Read) -> String {
    let (mut bytes, mut block) = (Vec::new(), [0_u8; 4096]);
    loop {
        let length = console.read(&mut block).unwrap();
        bytes.extend_from_slice(&block[..length]);
        let text = String::from_utf8_lossy(&bytes).replace('\r', "");
        if length == 0 || text.contains("end Kernel panic") {
            return text;
        }
    }
}

fn check(name: &str, wait_status: u32, image: impl Fn(Architecture) -> Vec<u8>) {
    for machine in &MACHINES {
        let Some(kernel) = kernel(machine) else { continue };
        let image = image(machine.architecture);
        let console = boot(machine, &kernel, &image);
        let ended = format!("Attempted to kill init! exitcode=0x{wait_status:08x}");
        assert!(console.contains("] Hello, World!\n"), "{name} {}: {console}", machine.architecture);
        assert!(console.contains(&ended), "{name} {}: {console}", machine.architecture);
        let version = console.lines().find_map(|l| l.split("Linux version ").nth(1)).unwrap_or("?");
        let version = version.split(' ').next().unwrap_or("?");
        eprintln!("{name}: {} bytes run on {} {version}", image.len(), machine.architecture);
    }
}

#[test]
#[ignore = "boots kernels: run by `tests/qemu/run`"]
fn plain_executables_run_on_real_kernels() {
    check("plain", 0, |a| plain::image(a, HELLO, Some(0)).unwrap());
    check("plain, status 42", 42 << 8, |a| plain::image(a, HELLO, Some(42)).unwrap());
}

#[test]
#[ignore = "boots kernels: run by `tests/qemu/run`"]
fn without_exit_a_program_dies_of_a_signal_on_real_kernels() {
    for machine in &MACHINES {
        let Some(kernel) = kernel(machine) else { continue };
        let console = boot(machine, &kernel, &plain::image(machine.architecture, HELLO, None).unwrap());
        assert!(console.contains("] Hello, World!\n"), "{console}");
        let status = console.split("exitcode=0x").nth(1).map(|rest| &rest[..8]);
        let status = u32::from_str_radix(status.unwrap(), 16).unwrap();
        assert!(matches!(status & 0x7f, 4 | 7 | 11), "{status:x}: {console}");
    }
}

#[test]
#[ignore = "boots kernels: run by `tests/qemu/run`"]
fn packed_executables_run_on_real_kernels() {
    let everywhere = Demands::default();
    check("packed", 0, |a| packed::image(a, HELLO, 0, everywhere).unwrap().image);
    check("packed, status 42", 42 << 8, |a| packed::image(a, HELLO, 42, everywhere).unwrap().image);
    check("packed, real kernels only", 0, |a| packed::image(a, HELLO, 0, REAL_KERNELS).unwrap().image);
}
