//! What an ELF file is for.

use serde::Serialize;

/// What an ELF file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ElfKind {
    /// Loaded at a fixed address, no dynamic loader.
    Static,
    /// Loaded anywhere, relocates itself.
    StaticPie,
    /// Loaded at a fixed address, with a dynamic loader.
    Dynamic,
    /// Loaded anywhere, with a dynamic loader.
    Pie,
    /// A library.
    SharedObject,
    /// A compiler's output, not yet linked.
    Relocatable,
    /// A part of the kernel.
    KernelModule,
    /// The memory of a process that died.
    Core,
    /// A type that we do not know.
    Other,
}

impl ElfKind {
    /// In words.
    pub fn describe(self) -> &'static str {
        match self {
            ElfKind::Static => "static executable",
            ElfKind::StaticPie => "static position-independent executable",
            ElfKind::Dynamic => "dynamic executable",
            ElfKind::Pie => "dynamic position-independent executable",
            ElfKind::SharedObject => "shared object",
            ElfKind::Relocatable => "relocatable object",
            ElfKind::KernelModule => "kernel module",
            ElfKind::Core => "core file",
            ElfKind::Other => "ELF file of an unknown type",
        }
    }

    /// Whether the kernel can execute it.
    pub fn is_executable(self) -> bool {
        matches!(self, ElfKind::Static | ElfKind::StaticPie | ElfKind::Dynamic | ElfKind::Pie)
    }
}
