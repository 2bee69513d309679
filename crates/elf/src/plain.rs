//! The plain layout: ELF header, one program header, code, message.
//!
//! The whole file is one readable and executable segment, mapped from offset 0 at [`BASE`]. There are no section
//! headers, no `PT_GNU_STACK` and no build id, because the kernel requires none of them.

use super::code::{self, Write};
use super::header::{self, Field};
use super::{Architecture, ElfError};

/// The address of the file in memory: above every usual `vm.mmap_min_addr`, and a multiple of every page size.
pub const BASE: u64 = 0x40_0000;

/// The longest image in bytes. It must fit into a 32-bit address space together with the stack.
pub const MAX_IMAGE_BYTES: usize = 1 << 30;

const READ_EXECUTE: u64 = 5;

/// An executable that writes `message` to stdout and exits with `exit`. If `exit` is `None`, it crashes after the
/// message. An empty message is not written at all.
///
/// # Errors
/// [`ElfError::NothingToRun`] and [`ElfError::TooLong`].
pub fn image(architecture: Architecture, message: &[u8], exit: Option<u8>) -> Result<Vec<u8>, ElfError> {
    if message.is_empty() && exit.is_none() {
        return Err(ElfError::NothingToRun);
    }
    let code_address = BASE + headers_size(architecture) as u64;
    wrap(architecture, &code_and_message(architecture, code_address, message, exit))
}

/// The code, directly followed by the message.
pub(super) fn code_and_message(
    architecture: Architecture,
    code_address: u64,
    message: &[u8],
    exit: Option<u8>,
) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    let draft = Write { message_address: code_address, code_address, length, exit };
    let code_size = code::write_and_exit(architecture, &draft).len() as u64;
    let write = Write { message_address: code_address + code_size, ..draft };
    [&code::write_and_exit(architecture, &write), message].concat()
}

/// An executable that runs any flat machine code. The code is loaded after the headers, readable and executable. It
/// starts at its first byte, with registers and stack as `execve(2)` leaves them.
///
/// # Errors
/// [`ElfError::EmptyCode`] and [`ElfError::TooLong`].
pub fn wrap(architecture: Architecture, code: &[u8]) -> Result<Vec<u8>, ElfError> {
    if code.is_empty() {
        return Err(ElfError::EmptyCode);
    }
    let limit = MAX_IMAGE_BYTES - headers_size(architecture);
    if code.len() > limit {
        return Err(ElfError::TooLong { length: code.len(), limit });
    }
    let mut image = headers(architecture, code.len());
    image.extend_from_slice(code);
    Ok(image)
}

/// The length of both headers, which is the file offset of the code.
pub fn headers_size(architecture: Architecture) -> usize {
    let class = architecture.class();
    header::size(header::elf_header(class)) + header::size(header::program_header(class))
}

fn headers(architecture: Architecture, code_size: usize) -> Vec<u8> {
    let elf_header = header::elf_header(architecture.class());
    let program_header = header::program_header(architecture.class());
    let elf_header_size = header::size(elf_header);
    let image_size = (headers_size(architecture) + code_size) as u64;
    let mut image = vec![0; headers_size(architecture)];
    for (name, value) in elf_header_values(architecture) {
        set(&mut image, header::named(elf_header, name), value);
    }
    for (name, value) in program_header_values(architecture, image_size) {
        set(&mut image[elf_header_size..], header::named(program_header, name), value);
    }
    image
}

/// The fields of the ELF header that are not zero.
fn elf_header_values(architecture: Architecture) -> [(&'static str, u64); 12] {
    let class = architecture.class();
    let elf_header_size = header::size(header::elf_header(class)) as u64;
    [
        ("EI_MAG", u32::from_le_bytes(*b"\x7fELF").into()),
        ("EI_CLASS", if class == super::architecture::Class::Bits32 { 1 } else { 2 }),
        ("EI_DATA", 1),    // ELFDATA2LSB
        ("EI_VERSION", 1), // EV_CURRENT
        ("e_type", 2),     // ET_EXEC
        ("e_machine", architecture.e_machine().into()),
        ("e_version", 1),
        ("e_entry", BASE + headers_size(architecture) as u64),
        ("e_phoff", elf_header_size),
        ("e_ehsize", elf_header_size),
        ("e_phentsize", header::size(header::program_header(class)) as u64),
        ("e_phnum", 1),
    ]
}

/// The program header: the whole file, readable and executable, at [`BASE`].
fn program_header_values(architecture: Architecture, image_size: u64) -> [(&'static str, u64); 8] {
    [
        ("p_type", 1), // PT_LOAD
        ("p_flags", READ_EXECUTE),
        ("p_offset", 0),
        ("p_vaddr", BASE),
        ("p_paddr", BASE),
        ("p_filesz", image_size),
        ("p_memsz", image_size),
        ("p_align", largest_page(architecture)),
    ]
}

/// Sets the alignment that the program header states, in bytes. The kernel maps whole pages whatever it is, so 4, as in
/// Print Benchmark's `print_ultra`, runs as well (`load_elf_binary` in `fs/binfmt_elf.c`).
///
/// # Errors
/// [`ElfError::Alignment`] unless it is a power of two by which [`BASE`] can be divided.
pub fn set_alignment(architecture: Architecture, image: &mut [u8], bytes: u64) -> Result<(), ElfError> {
    if !bytes.is_power_of_two() || !BASE.is_multiple_of(bytes) {
        return Err(ElfError::Alignment { bytes, limit: BASE });
    }
    let class = architecture.class();
    let program_header = header::size(header::elf_header(class));
    set(&mut image[program_header..], header::named(header::program_header(class), "p_align"), bytes);
    Ok(())
}

/// The largest page size of kernels for this architecture, in bytes.
fn largest_page(architecture: Architecture) -> u64 {
    if architecture == Architecture::Aarch64 { 0x1_0000 } else { 0x1000 }
}

fn set(header: &mut [u8], field: Field, value: u64) {
    header[field.offset..field.offset + field.size].copy_from_slice(&value.to_le_bytes()[..field.size]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aarch64_without_exit_has_the_154_bytes_of_print_benchmark() {
        let image = image(Architecture::Aarch64, b"Hello, World!\n", None).unwrap();
        assert_eq!(image.len(), 154);
        assert_eq!(&image[0x8c..], b"Hello, World!\n");
        let words: Vec<u32> =
            image[0x78..0x8c].chunks(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect();
        // mov x0, 1; adr x1, .+16; mov x2, 14; mov x8, 64; svc 0
        assert_eq!(words, [0xd280_0020, 0x1000_0081, 0xd280_01c2, 0xd280_0808, 0xd400_0001]);
    }

    #[test]
    fn another_alignment_changes_its_field_and_nothing_else() {
        for architecture in Architecture::ALL {
            let usual = image(architecture, b"hello", Some(0)).unwrap();
            let mut ultra = usual.clone();
            set_alignment(architecture, &mut ultra, 4).unwrap();
            let differing = usual.iter().zip(&ultra).filter(|(a, b)| a != b).count();
            assert!((1..=3).contains(&differing), "{architecture}: {differing}");
            for wrong in [0, 3, BASE * 2] {
                let refused = set_alignment(architecture, &mut ultra, wrong);
                assert_eq!(refused, Err(ElfError::Alignment { bytes: wrong, limit: BASE }));
            }
        }
    }

    #[test]
    fn nothing_to_run_is_an_error() {
        for architecture in Architecture::ALL {
            assert_eq!(image(architecture, b"", None), Err(ElfError::NothingToRun));
            assert_eq!(wrap(architecture, b""), Err(ElfError::EmptyCode));
        }
    }

    #[test]
    fn the_length_of_the_code_does_not_depend_on_the_addresses() {
        for architecture in Architecture::ALL {
            for length in [0, 1, 4096, 4097, 65_536, 1 << 20] {
                let near = Write { message_address: 0x1000, code_address: 0x1000, length, exit: Some(0) };
                let far = Write { message_address: 0x7f_fff0, ..near };
                let size = |write| code::write_and_exit(architecture, write).len();
                assert_eq!(size(&near), size(&far), "{architecture} {length}");
            }
        }
    }
}
