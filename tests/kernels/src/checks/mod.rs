//! All checks, in their order.

mod android;
mod bench;
mod build;
mod doctor;
mod languages;
mod rights;
mod trace;
mod tracees;
mod watch;

use crate::report::{Checked, Found, fact, row};
use crate::tool::User;
use std::fs;
use std::path::Path;

/// The folder of the tracees.
pub(crate) const TRACEES: &str = "/t";

pub(crate) fn all() {
    facts();
    let only = only();
    let wanted = |name: &str| only.as_ref().is_none_or(|only| name.contains(only.as_str()));
    for (backend, name, check) in list() {
        if wanted(&format!("{backend} {name}")) {
            row(backend, &name, &check());
        }
    }
}

/// `firstbyte.only=WORD` on the kernel's command line selects the checks whose backend and name contain WORD.
fn only() -> Option<String> {
    let line = fs::read_to_string("/proc/cmdline").ok()?;
    line.split_whitespace().find_map(|word| Some(word.strip_prefix("firstbyte.only=")?.replace('_', " ")))
}

fn facts() {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    fact("kernel", &release);
    // SAFETY: sysconf(3) takes no pointer.
    fact("page size", &unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.to_string());
}

type Check = (&'static str, String, Box<dyn Fn() -> Checked>);

fn check(backend: &'static str, name: impl Into<String>, check: impl Fn() -> Checked + 'static) -> Check {
    (backend, name.into(), Box::new(check))
}

/// Without the command on the disk, only those of the library.
fn list() -> Vec<Check> {
    let mut list = tracees::list();
    if !Path::new("/bin/firstbyte").exists() {
        return list;
    }
    for user in [User::Root, User::Other] {
        list.extend(doctor::list(user));
        list.extend(bench::list(user));
        list.extend(trace::list(user));
        list.extend(bench::cold(user));
        list.extend(languages::list(user));
    }
    list.extend(watch::list());
    list.extend(rights::list());
    list.extend(build::list());
    list.extend(android::list());
    list
}

/// A tracee's path, if the disk has it.
fn tracee(name: &str) -> Option<String> {
    let path = format!("{TRACEES}/{name}");
    Path::new(&path).exists().then_some(path)
}

/// Whether this kernel runs the 32-bit programs of this architecture. The error says why not.
fn runs_32_bit() -> Result<(), String> {
    let Some(path) = tracee("writer_32") else { return Err("no 32-bit tracee was built".to_owned()) };
    match std::process::Command::new(path).arg("silent").status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("a 32-bit program ended with {status}")),
        Err(error) => Err(format!("this kernel runs no 32-bit programs: {error}")),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "it ends a check")]
fn skipped(why: impl Into<String>) -> Checked {
    Ok(Found::Skipped(why.into()))
}

#[expect(clippy::unnecessary_wraps, reason = "it ends a check")]
fn right(remark: impl Into<String>) -> Checked {
    Ok(Found::Right(remark.into()))
}
