//! Boots from the initial file system to the disk, and switches the machine off.

use crate::report;
use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::time::Duration;

/// Loads the modules, mounts the disk, makes it the root and continues from there.
pub(crate) fn to_disk() -> ! {
    let error = moved().err().unwrap_or_else(|| io::Error::other("nothing was started"));
    let _ = mount("devtmpfs", "/dev", "devtmpfs", 0);
    report::row("-", "boot", &Err(error.to_string()));
    off()
}

fn moved() -> io::Result<()> {
    make_folders(&["/dev", "/disk"])?;
    mount("devtmpfs", "/dev", "devtmpfs", 0)?;
    load_modules()?;
    wait_for(Path::new("/dev/vda"))?;
    mount("/dev/vda", "/disk", "ext4", 0)?;
    mount("/dev", "/disk/dev", "", libc::MS_MOVE)?;
    std::env::set_current_dir("/disk")?;
    // Like switch_root(8). After a mere chroot, user namespaces would be denied.
    mount(".", "/", "", libc::MS_MOVE)?;
    std::os::unix::fs::chroot(".")?;
    std::env::set_current_dir("/")?;
    Err(std::process::Command::new("/bin/firstbyte-kernels").arg("on-disk").exec())
}

/// Loads them in the order of their names.
fn load_modules() -> io::Result<()> {
    let mut modules: Vec<_> =
        fs::read_dir("/modules")?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    modules.sort();
    for module in modules {
        let file = File::open(&module)?;
        // SAFETY: the descriptor is open, and the parameters are an empty string (finit_module(2)).
        let loaded = unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), c"".as_ptr(), 0) };
        let error = io::Error::last_os_error();
        if loaded < 0 && error.raw_os_error() != Some(libc::EEXIST) {
            return Err(io::Error::other(format!("{}: {error}", module.display())));
        }
    }
    Ok(())
}

/// The kernel probes devices concurrently, so this waits for one.
fn wait_for(device: &Path) -> io::Result<()> {
    for _ in 0..300 {
        if device.exists() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Err(io::Error::other(format!("{} did not appear", device.display())))
}

/// Runs the checks on the disk, and switches the machine off.
pub(crate) fn on_disk(checks: fn()) -> ! {
    // SAFETY: nothing else runs yet.
    unsafe { std::env::set_var("HOME", "/root") };
    let mounted = mount("proc", "/proc", "proc", 0).and_then(|()| mount("sysfs", "/sys", "sysfs", 0));
    match mounted {
        Ok(()) => checks(),
        Err(error) => report::row("-", "boot", &Err(error.to_string())),
    }
    off()
}

fn off() -> ! {
    report::done();
    // newer kernels print in a separate thread
    std::thread::sleep(Duration::from_secs(1));
    // SAFETY: takes no pointers, and nothing that runs here can lose data.
    unsafe {
        libc::sync();
        libc::reboot(libc::RB_POWER_OFF);
    }
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}

fn make_folders(paths: &[&str]) -> io::Result<()> {
    paths.iter().try_for_each(fs::create_dir_all)
}

fn mount(from: &str, to: &str, kind: &str, flags: libc::c_ulong) -> io::Result<()> {
    let [from, to, kind] = [from, to, kind].map(CString::new);
    let (from, to, kind) = (from?, to?, kind?);
    // SAFETY: three strings that end in a zero byte and outlive the call; no options (mount(2)).
    let mounted = unsafe { libc::mount(from.as_ptr(), to.as_ptr(), kind.as_ptr(), flags, std::ptr::null()) };
    if mounted < 0 {
        let error = io::Error::last_os_error();
        return Err(io::Error::other(format!("mounting {}: {error}", to.to_string_lossy())));
    }
    Ok(())
}
