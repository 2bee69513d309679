//! The architectures for which executables can be written.

use super::ElfError;
use std::fmt;
use std::str::FromStr;

/// An architecture with its Linux system-call convention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Architecture {
    /// x86-64. System calls use `syscall`.
    X86_64,
    /// i386. System calls use `int 0x80`. Runs on x86-64 kernels with IA32 emulation.
    I386,
    /// aarch64. System calls use `svc 0`.
    Aarch64,
    /// riscv64. System calls use `ecall`.
    Riscv64,
}

/// The width of the header fields that contain addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// `ELFCLASS32`: 4 bytes.
    Bits32,
    /// `ELFCLASS64`: 8 bytes.
    Bits64,
}

impl Architecture {
    /// All architectures.
    pub const ALL: [Architecture; 4] =
        [Architecture::X86_64, Architecture::I386, Architecture::Aarch64, Architecture::Riscv64];

    /// The name in options and messages, such as `x86-64`.
    pub fn name(self) -> &'static str {
        match self {
            Architecture::X86_64 => "x86-64",
            Architecture::I386 => "i386",
            Architecture::Aarch64 => "aarch64",
            Architecture::Riscv64 => "riscv64",
        }
    }

    /// The architecture for which this binary was compiled. `None` if executables cannot be written for it.
    pub fn host() -> Option<Architecture> {
        match std::env::consts::ARCH {
            "x86_64" => Some(Architecture::X86_64),
            "x86" => Some(Architecture::I386),
            "aarch64" => Some(Architecture::Aarch64),
            "riscv64" => Some(Architecture::Riscv64),
            _ => None,
        }
    }

    /// Whether its programs run more often under qemu-user than on a kernel of this architecture.
    pub fn is_emulated(self) -> bool {
        matches!(self, Architecture::Aarch64 | Architecture::Riscv64)
    }

    /// The width of its addresses.
    pub fn class(self) -> Class {
        if self == Architecture::I386 { Class::Bits32 } else { Class::Bits64 }
    }

    /// Its `e_machine` (elf.h).
    pub fn e_machine(self) -> u16 {
        match self {
            Architecture::X86_64 => 62,
            Architecture::I386 => 3,
            Architecture::Aarch64 => 183,
            Architecture::Riscv64 => 243,
        }
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Architecture {
    type Err = ElfError;

    fn from_str(name: &str) -> Result<Architecture, ElfError> {
        match name {
            "x86-64" | "x86_64" | "amd64" => Ok(Architecture::X86_64),
            "i386" | "i686" | "x86" => Ok(Architecture::I386),
            "aarch64" | "arm64" => Ok(Architecture::Aarch64),
            "riscv64" => Ok(Architecture::Riscv64),
            other => Err(ElfError::UnknownArchitecture(other.to_owned())),
        }
    }
}
