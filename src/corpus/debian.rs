//! Debian packages: which are installed, and the command that installs the others.

use super::execute::{Destination, Limits, execute};
use firstbyte_measure::launch::find_in_path;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

const LIMITS: Limits = Limits { timeout: Duration::from_secs(20), output: 1 << 16, interrupted: &|| false };

/// Whether a package is installed; `None` without dpkg.
pub fn is_installed(package: &str) -> Option<bool> {
    let dpkg = find_in_path("dpkg-query")?;
    let argv =
        [dpkg.into(), "--show".into(), "--showformat=${db:Status-Status}".into(), OsString::from(package)];
    let finished = execute(&argv, Path::new("/"), Destination::Stdout, LIMITS).ok()?;
    Some(finished.exit.success() && finished.output == b"installed")
}

/// The command that installs packages, without `sudo`.
pub fn install_argv(packages: &[String]) -> Vec<String> {
    let fixed = ["apt-get", "install", "-y", "--no-install-recommends"];
    fixed.iter().map(|text| (*text).to_owned()).chain(packages.iter().cloned()).collect()
}

/// The command for a person to type; `None` without apt-get, or if `packages` is empty.
pub fn install_command(packages: &[String]) -> Option<String> {
    if packages.is_empty() {
        return None;
    }
    find_in_path("apt-get")?;
    let sudo = if rustix::process::geteuid().is_root() { "" } else { "sudo " };
    Some(format!("{sudo}{}", install_argv(packages).join(" ")))
}
