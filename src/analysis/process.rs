//! One process while its events are read: its memory, its descriptors, its executable.

use super::address_space::{AddressSpace, Content};
use super::binaries::{Binaries, MemoryLayout};
use super::descriptors::Descriptors;
use super::page_size::PageSize;
use super::step::{Code, CodeOrigin, Region, Role};
use firstbyte_measure::tracer::event::Image;
use std::sync::Arc;

const AT_PHDR: u64 = 3;
const AT_BASE: u64 = 7;
const AT_ENTRY: u64 = 9;
const AT_SYSINFO_EHDR: u64 = 33;
/// The stack: how far it may grow down by default (`RLIMIT_STACK`), and how much the arguments may take above its start.
const STACK_BELOW: u64 = 8 << 20;
const STACK_ABOVE: u64 = 256 << 10;

#[derive(Clone, Debug, Default)]
pub(super) struct Process {
    pub(super) memory: AddressSpace,
    pub(super) descriptors: Descriptors,
    pub(super) executable: Arc<str>,
    /// The name by which the executable was started, without folders.
    pub(super) program: Arc<str>,
    pub(super) page: PageSize,
    loader: Arc<str>,
}

impl Process {
    pub(super) fn tracee() -> Process {
        Process { descriptors: Descriptors::standard(), ..Process::default() }
    }

    /// Replaces the image, as an exec does.
    pub(super) fn exec(&mut self, image: &Image, binaries: &dyn Binaries) {
        self.descriptors.exec();
        self.memory = AddressSpace::default();
        self.page = PageSize::of(image);
        self.executable = image.executed.as_str().into();
        self.program = image.path.rsplit('/').next().unwrap_or_default().into();
        let entry = image.auxiliary(AT_ENTRY).unwrap_or(0);

        let layout = binaries.layout(&image.executed).filter(|layout| is_layout_of(layout, image, entry));
        match &layout {
            Some(layout) => {
                let bias = entry.wrapping_sub(layout.entry);
                map_segments(&mut self.memory, self.page, layout, bias, &self.executable);
            }
            None => self.map_roughly(image),
        }
        self.map_loader(image, layout.and_then(|l| l.interpreter.clone()), binaries);

        self.memory.set_heap(image.brk);
        let from = image.stack.saturating_sub(STACK_BELOW);
        self.memory.map(from, STACK_BELOW + STACK_ABOVE, Content::Stack, false);
        if let Some(vdso) = image.auxiliary(AT_SYSINFO_EHDR) {
            // its data is on the pages before it
            let page = self.page.bytes();
            self.memory.map(vdso.saturating_sub(6 * page), 8 * page, Content::Vdso, true);
        }
    }

    /// Maps what the kernel's own figures show, if the file cannot be read.
    fn map_roughly(&mut self, image: &Image) {
        let headers = image.auxiliary(AT_PHDR).map_or(image.code[0], |at| self.page.begin(at));
        let from = headers.min(image.code[0]);
        let path = Arc::clone(&self.executable);
        let end = self.page.round_up(image.data[1].max(image.code[1]));
        self.memory.map(from, end.saturating_sub(from), Content::File { path, offset: 0 }, true);
    }

    fn map_loader(&mut self, image: &Image, name: Option<String>, binaries: &dyn Binaries) {
        self.loader = "".into();
        let Some(base) = image.auxiliary(AT_BASE).filter(|base| *base != 0) else { return };
        let name = name.unwrap_or_else(|| "ld.so".to_owned());
        self.loader = name.as_str().into();
        if let Some(layout) = binaries.layout(&name) {
            let lowest = layout.segments.iter().map(|s| self.page.begin(s.address)).min().unwrap_or(0);
            let bias = base.wrapping_sub(lowest);
            map_segments(&mut self.memory, self.page, &layout, bias, &self.loader);
        } else {
            let content = Content::File { path: Arc::clone(&self.loader), offset: 0 };
            self.memory.map(base, 256 << 10, content, true);
        }
    }

    /// The code at an address; `None` if no known mapping includes it.
    pub(super) fn code(&self, ip: u64, binaries: &dyn Binaries) -> Option<Code> {
        let found = self.memory.find(ip)?;
        let (module, function) = match &found.content {
            Content::File { path, .. } => (self.module(path), binaries.function(path, found.offset)),
            Content::Bss(path) => (self.module(path), None),
            Content::Vdso => (CodeOrigin::without_file(Role::Vdso), None),
            _ => (CodeOrigin::without_file(Role::Anonymous), None),
        };
        Some(Code { module, function })
    }

    /// The code that is responsible for a system call or a page fault at `ip`. The C library and the vdso work for others, so for
    /// them it is the first return address on the stack in another module.
    pub(super) fn caller(&self, ip: u64, stack: &[u64], binaries: &dyn Binaries) -> Option<Code> {
        let code = self.code(ip, binaries)?;
        if !code.module.role.works_for_others() {
            return Some(code);
        }
        let executable = |word: &&u64| self.memory.find(**word).is_some_and(|found| found.executable);
        let mut callers = stack.iter().filter(executable).filter_map(|word| self.code(*word, binaries));
        callers.find(|code| !code.module.role.works_for_others()).or(Some(code))
    }

    pub(super) fn module(&self, path: &Arc<str>) -> CodeOrigin {
        let file = path.rsplit('/').next().unwrap_or_default();
        let role = if *path == self.loader {
            Role::Loader
        } else if *path == self.executable {
            Role::Executable
        } else if file.starts_with("libc.so") || file.starts_with("libc-") {
            Role::Libc
        } else {
            Role::Library
        };
        CodeOrigin { role, path: Arc::clone(path) }
    }

    /// The kind of memory at an address, and its page: in a file, the offset of the page.
    pub(super) fn region(&self, address: u64) -> (Region, u64) {
        let page = self.page.begin(address);
        match self.memory.find(address) {
            None => (Region::Unknown, page),
            Some(found) => match found.content {
                Content::File { path, .. } => (Region::File(path), self.page.begin(found.offset)),
                Content::Bss(path) => (Region::Bss(path), page),
                Content::Anonymous => (Region::Anonymous, page),
                Content::Heap => (Region::Heap, page),
                Content::Stack => (Region::Stack, page),
                Content::Vdso => (Region::Vdso, page),
            },
        }
    }
}

/// Whether the file is the one that was executed. It may have been replaced since, as a compiler does with each test program
/// of a configure script. The kernel's figures of the image are those of `load_elf_binary` in `fs/binfmt_elf.c`.
fn is_layout_of(layout: &MemoryLayout, image: &Image, entry: u64) -> bool {
    let bias = entry.wrapping_sub(layout.entry);
    let start = layout.segments.iter().map(|segment| segment.address).max();
    let end = layout.segments.iter().map(|segment| segment.address.saturating_add(segment.file_size)).max();
    let data = [start, end].map(|at| at.unwrap_or_default().wrapping_add(bias));
    // not every tracer knows them
    image.data == [0, 0] || image.data == data
}

fn map_segments(
    memory: &mut AddressSpace,
    size: PageSize,
    layout: &MemoryLayout,
    bias: u64,
    path: &Arc<str>,
) {
    for segment in &layout.segments {
        let from = segment.address.wrapping_add(bias);
        let page = size.begin(from);
        let skew = from - page;
        let in_file = size.round_up(segment.file_size.saturating_add(skew));
        let in_memory = size.round_up(segment.memory_size.saturating_add(skew));
        let offset = segment.offset.saturating_sub(skew);
        let content = Content::File { path: Arc::clone(path), offset };
        memory.map(page, in_file, content, segment.executable);
        if in_memory > in_file {
            let rest = page.saturating_add(in_file);
            memory.map(rest, in_memory - in_file, Content::Bss(Arc::clone(path)), segment.executable);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::binaries::NoBinaries;
    use firstbyte_measure::tracer::module::LoadSegment;

    /// The kernel maps whole pages (`elf_map` in `fs/binfmt_elf.c`); what the file does not fill is zeros.
    #[test]
    fn a_segment_is_mapped_in_whole_pages_with_its_zeros_behind_it() {
        let size = PageSize::of(&Image { auxv: vec![[6, 0x1000]], ..Image::default() });
        let segment = LoadSegment {
            offset: 0x2800,
            address: 0x1_0800,
            file_size: 0x100,
            memory_size: 0x2000,
            executable: true,
        };
        let layout = MemoryLayout { segments: vec![segment], ..MemoryLayout::default() };
        let path: Arc<str> = "/x".into();
        let mut process = Process { executable: Arc::clone(&path), page: size, ..Process::default() };
        map_segments(&mut process.memory, size, &layout, 0, &path);

        assert_eq!(process.region(0xffff).0, Region::Unknown);
        assert_eq!(process.region(0x1_0000), (Region::File(Arc::clone(&path)), 0x2000));
        assert_eq!(process.region(0x1_0fff), (Region::File(Arc::clone(&path)), 0x2000));
        assert_eq!(process.region(0x1_1000), (Region::Bss(Arc::clone(&path)), 0x1_1000));
        assert_eq!(process.region(0x1_2fff).0, Region::Bss(path));
        assert_eq!(process.region(0x1_3000).0, Region::Unknown);

        let role = |ip| process.code(ip, &NoBinaries).map(|code| code.module.role);
        assert_eq!(
            [0x1_0000, 0x1_1000, 0x1_3000].map(role),
            [Some(Role::Executable), Some(Role::Executable), None]
        );
    }
}
