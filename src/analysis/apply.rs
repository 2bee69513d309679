//! What a successful system call changes in its process: descriptors and memory.

use super::address_space::Content as MappedContent;
use super::descriptors::UNKNOWN;
use super::process::Process;
use super::structures;
use firstbyte_measure::arch::{Abi, Argument, CallFacts, Syscall, Use, call_names};
use firstbyte_measure::tracer::event::{Call, Content};
use std::sync::Arc;

const CLOEXEC: u64 = libc::O_CLOEXEC as u64;
const MAP_ANONYMOUS: u64 = 0x20;
const PROT_EXEC: u64 = 4;
/// The unit of the offset of mmap2(2). It does not depend on the page size.
const MMAP2_UNIT: u64 = 4096;
/// `fcntl(2)` commands.
const F_DUPFD: u64 = 0;
const F_SETFD: u64 = 2;
const F_DUPFD_CLOEXEC: u64 = 1030;
/// `ioctl(2)` requests that set and clear close-on-exec (`include/uapi/asm-generic/ioctls.h`).
const FIONCLEX: u64 = 0x5450;
const FIOCLEX: u64 = 0x5451;
/// `close_range(2)`.
const CLOSE_RANGE_CLOEXEC: u64 = 4;

/// The name of a system call, and what is known of it.
#[derive(Clone)]
pub(super) struct KnownCall {
    pub(super) name: Arc<str>,
    pub(super) facts: Option<&'static CallFacts>,
}

impl KnownCall {
    pub(super) fn of(call: Syscall) -> KnownCall {
        let name: Arc<str> = call_names::name(call).into();
        KnownCall { facts: CallFacts::of(&name), name }
    }
}

/// The file of a call: its path argument, or the file behind its descriptor.
pub(super) fn file_of(process: &Process, known: &KnownCall, call: &Call) -> Option<Arc<str>> {
    let KnownCall { name, facts } = known;
    if matches!(&**name, "mprotect" | "pkey_mprotect") {
        return mapped_file(process, call.arguments[0]);
    }
    let register = |kind| Some(call.arguments[usize::from((*facts)?.position(kind)?)]);

    if let Some(path) = call.paths.first().map(Content::text) {
        return match register(Argument::Directory) {
            _ if &**name == "memfd_create" => None, // its name is not a path
            Some(folder) if facts.is_some_and(starts_at_directory) => {
                Some(process.descriptors.resolve(int(folder), &path))
            }
            _ => Some(path.as_str().into()),
        };
    }
    if register(Argument::MappingFlags).is_some_and(|flags| flags & MAP_ANONYMOUS != 0) {
        return None;
    }

    // of two descriptors, the one that is read; if that has no name, the one that is written
    let used = [Use::Reads, Use::File, Use::Writes];
    let mut files = used.into_iter().filter_map(|used| register(Argument::Descriptor(used)));
    files.find_map(|descriptor| process.descriptors.name(int(descriptor)))
}

fn mapped_file(process: &Process, address: u64) -> Option<Arc<str>> {
    match process.memory.find(address)?.content {
        MappedContent::File { path, .. } | MappedContent::Bss(path) => Some(path),
        _ => None,
    }
}

/// Whether the first path is resolved from the first argument. That of `symlinkat` is text.
fn starts_at_directory(call: &CallFacts) -> bool {
    call.arguments(Abi::Native).next() == Some(Argument::Directory)
}

/// Opens, closes, maps and unmaps what the call did.
pub(super) fn apply(process: &mut Process, known: &KnownCall, call: &Call, file: Option<&Arc<str>>) {
    let name = &*known.name;
    if name == "connect" {
        let socket = structures::peer(call).into_iter();
        socket.for_each(|peer| process.descriptors.rename(int(call.arguments[0]), peer.into()));
    }
    let Some(result) = call.value() else { return };
    descriptors(process, known, call, file, result);
    memory(process, name, call, file, result);
}

fn descriptors(process: &mut Process, known: &KnownCall, call: &Call, file: Option<&Arc<str>>, result: u64) {
    let name = &*known.name;
    let [a, b, c, ..] = call.arguments;
    let all = &mut process.descriptors;
    let named = |fallback: &str| file.cloned().unwrap_or_else(|| fallback.into());

    if let Some(facts) = known.facts.filter(|facts| facts.opens()) {
        let flags = facts.position(Argument::OpenFlags).map_or(0, |at| call.arguments[usize::from(at)]);
        return all.open(int(result), named(UNKNOWN), flags & CLOEXEC != 0);
    }
    match name {
        "close" => all.close(int(a)),
        "close_range" if c & CLOSE_RANGE_CLOEXEC != 0 => all.mark_range(a & 0xffff_ffff, b & 0xffff_ffff),
        "close_range" => all.close_range(a & 0xffff_ffff, b & 0xffff_ffff),
        "dup" => all.duplicate(int(a), int(result), false),
        "dup2" => all.duplicate(int(a), int(b), false),
        "dup3" => all.duplicate(int(a), int(b), c & CLOEXEC != 0),
        "fcntl" | "fcntl64" if b == F_DUPFD => all.duplicate(int(a), int(result), false),
        "fcntl" | "fcntl64" if b == F_DUPFD_CLOEXEC => all.duplicate(int(a), int(result), true),
        "fcntl" | "fcntl64" if b == F_SETFD => all.mark(int(a), c & 1 != 0),
        "ioctl" if matches!(b, FIOCLEX | FIONCLEX) => all.mark(int(a), b == FIOCLEX),
        "accept" => all.open(int(result), "socket".into(), false),
        "accept4" => all.open(int(result), "socket".into(), call.arguments[3] & CLOEXEC != 0),
        "socket" => all.open(int(result), "socket".into(), b & CLOEXEC != 0),
        "pipe" | "pipe2" => {
            let flags = if name == "pipe2" { b } else { 0 };
            call.pair.into_iter().for_each(|pair| all.open_pipe(pair, call.entered, flags & CLOEXEC != 0));
        }
        "socketpair" => {
            let ends = call.pair.into_iter().flatten();
            ends.for_each(|end| all.open(end, "socket pair".into(), b & CLOEXEC != 0));
        }
        "memfd_create" => {
            let name = format!("memfd:{}", call.paths.first().map(Content::text).unwrap_or_default());
            all.open(int(result), name.into(), b & 1 != 0);
        }
        "epoll_create1" | "epoll_create" => all.open(int(result), "epoll".into(), true),
        "eventfd" => all.open_eventfd(int(result), call.entered, false),
        "eventfd2" => all.open_eventfd(int(result), call.entered, b & CLOEXEC != 0),
        _ => {}
    }
}

fn memory(process: &mut Process, name: &str, call: &Call, file: Option<&Arc<str>>, result: u64) {
    let [address, length, protection, flags, _, at] = call.arguments;
    let memory = &mut process.memory;
    let page = process.page;
    let pages = |bytes: u64| page.round_up(bytes);

    match name {
        "mmap" | "mmap2" => {
            let offset = if name == "mmap2" { at.saturating_mul(MMAP2_UNIT) } else { at };
            let content = match file.filter(|_| flags & MAP_ANONYMOUS == 0) {
                Some(path) => MappedContent::File { path: Arc::clone(path), offset },
                None => MappedContent::Anonymous,
            };
            memory.map(result, pages(length), content, protection & PROT_EXEC != 0);
        }
        "munmap" => memory.unmap(address, pages(length)),
        // the third argument is the new length
        "mremap" => memory.remap(address, pages(length), result, pages(protection)),
        "mprotect" | "pkey_mprotect" => memory.protect(address, pages(length), protection & PROT_EXEC != 0),
        "brk" => memory.set_break(result),
        _ => {}
    }
}

/// A C int is in the low half of its register.
#[allow(clippy::cast_possible_truncation)]
fn int(value: u64) -> i32 {
    value as i32
}
