//! What an ELF file is for.

use serde::Serialize;

/// What an ELF file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ElfKind {
    /// At a fixed address, without a dynamic loader.
    Static,
    /// At any address; relocates itself.
    StaticPie,
    /// At a fixed address, with a dynamic loader.
    Dynamic,
    /// At any address, with a dynamic loader.
    Pie,
    /// A library.
    SharedObject,
    /// The output of a compiler, not linked yet.
    Relocatable,
    KernelModule,
    /// The memory of a process that crashed.
    Core,
    Other,
}

impl ElfKind {
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

    pub fn is_executable(self) -> bool {
        matches!(self, ElfKind::Static | ElfKind::StaticPie | ElfKind::Dynamic | ElfKind::Pie)
    }
}
