//! The instructions of a function, and the functions that it calls.

use super::{InspectError, headers};
use iced_x86::{Decoder, DecoderOptions, FlowControl, Formatter, GasFormatter, Instruction, OpKind};
use object::{Architecture, Object, ObjectSection, ObjectSymbol, RelocationTarget, SymbolKind};
use serde::Serialize;
use std::collections::HashMap;
use std::path::Path;

/// The longest function that is shown, in bytes.
const MAX_FUNCTION_BYTES: u64 = 1 << 20;

/// One instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AssemblyLine {
    pub address: u64,
    pub bytes: Vec<u8>,
    /// In AT&T syntax.
    pub text: String,
    /// The other function that it calls or jumps to.
    pub calls: Option<String>,
}

/// Names by addresses.
type Names = HashMap<u64, String>;

/// The function with this name.
///
/// # Errors
/// [`InspectError::Damaged`], [`InspectError::OtherMachine`] and [`InspectError::NoSuchFunction`].
pub fn disassemble(path: &Path, bytes: &[u8], symbol: &str) -> Result<Vec<AssemblyLine>, InspectError> {
    let shown = path.display().to_string();
    let damaged =
        |error: object::Error| InspectError::Damaged { path: shown.clone(), cause: error.to_string() };
    let none = || InspectError::NoSuchFunction { path: shown.clone(), symbol: symbol.to_owned() };
    // a file that the kernel runs is not damaged; it only has no names
    let refused = |error| if headers::read(bytes).is_ok() { none() } else { damaged(error) };
    let file = object::File::parse(bytes).map_err(refused)?;
    let bits = match file.architecture() {
        Architecture::X86_64 | Architecture::X86_64_X32 => 64,
        Architecture::I386 => 32,
        other => return Err(InspectError::OtherMachine { path: shown, machine: format!("{other:?}") }),
    };
    let (address, code, section) = function(&file, symbol).ok_or_else(none)?;
    let mut names = plt_names(&file, bits);
    names.extend(symbol_names(&file));
    let relocations = relocated_calls(&file, section);
    Ok(lines(code, address, bits, &names, &relocations))
}

fn function<'d>(file: &object::File<'d>, name: &str) -> Option<(u64, &'d [u8], object::SectionIndex)> {
    let symbols = || file.symbols().chain(file.dynamic_symbols());
    // a symbol of an assembler program may have neither a type nor a size
    let symbol = symbols()
        .find(|s| s.name() == Ok(name) && s.section_index().is_some() && s.kind() != SymbolKind::Data)?;
    let index = symbol.section_index()?;
    let section = file.section_by_index(index).ok()?;
    let end = section.address().saturating_add(section.size());
    let next = symbols().filter(|s| s.section_index() == Some(index)).map(|s| s.address());
    let next = next.filter(|&a| a > symbol.address()).min().unwrap_or(end);
    let size = if symbol.size() == 0 { next.saturating_sub(symbol.address()) } else { symbol.size() };
    let size = size.min(MAX_FUNCTION_BYTES).min(end.saturating_sub(symbol.address()));
    let code = section.data_range(symbol.address(), size).ok()??;
    Some((symbol.address(), code, index))
}

fn symbol_names(file: &object::File<'_>) -> Names {
    let symbols = file.symbols().chain(file.dynamic_symbols());
    let functions = symbols.filter(|s| s.is_definition() && s.kind() == SymbolKind::Text);
    functions.filter_map(|s| Some((s.address(), s.name().ok()?.to_owned()))).collect()
}

/// Each stub of the procedure linkage table jumps through a slot, and the relocation of the slot names the function.
fn plt_names(file: &object::File<'_>, bits: u32) -> Names {
    let slots: Names = file
        .dynamic_relocations()
        .into_iter()
        .flatten()
        .filter_map(|(slot, relocation)| Some((slot, target_name(file, relocation.target())?)))
        .collect();

    let mut names = Names::new();
    for section in file.sections().filter(|s| s.name().is_ok_and(|name| name.starts_with(".plt"))) {
        let Ok(code) = section.data() else { continue };
        let mut stub = section.address();
        for instruction in &mut Decoder::with_ip(bits, code, section.address(), DecoderOptions::NONE) {
            if instruction.flow_control() == FlowControl::IndirectBranch
                && let Some(name) = slots.get(&slot_of(&instruction))
            {
                names.insert(stub, name.clone());
                names.insert(instruction.ip(), name.clone());
            }
            // stubs begin at multiples of 8, because padding follows their jump
            if instruction.next_ip().is_multiple_of(8) {
                stub = instruction.next_ip();
            }
        }
    }
    names
}

fn slot_of(instruction: &Instruction) -> u64 {
    if instruction.is_ip_rel_memory_operand() {
        instruction.ip_rel_memory_address()
    } else {
        instruction.memory_displacement64()
    }
}

fn target_name(file: &object::File<'_>, target: RelocationTarget) -> Option<String> {
    let RelocationTarget::Symbol(index) = target else { return None };
    let symbol = file
        .dynamic_symbol_table()
        .and_then(|table| object::ObjectSymbolTable::symbol_by_index(&table, index).ok());
    symbol.and_then(|s| s.name().ok().map(str::to_owned))
}

/// In an object file that is not linked yet, relocations name the functions that are called.
fn relocated_calls(file: &object::File<'_>, section: object::SectionIndex) -> Names {
    if file.kind() != object::ObjectKind::Relocatable {
        return Names::new();
    }
    let Ok(section) = file.section_by_index(section) else { return Names::new() };
    let named = section.relocations().filter_map(|(offset, relocation)| {
        let RelocationTarget::Symbol(index) = relocation.target() else { return None };
        Some((offset, file.symbol_by_index(index).ok()?.name().ok()?.to_owned()))
    });
    named.filter(|(_, name)| !name.is_empty()).collect()
}

fn lines(code: &[u8], address: u64, bits: u32, names: &Names, relocations: &Names) -> Vec<AssemblyLine> {
    let mut formatter = GasFormatter::new();
    let end = address.saturating_add(code.len() as u64);
    let decoder = &mut Decoder::with_ip(bits, code, address, DecoderOptions::NONE);
    let lines = decoder.into_iter().map(|instruction| {
        let mut text = String::new();
        formatter.format(&instruction, &mut text);
        let calls = called(&instruction, address..end, names, relocations);
        let from = usize::try_from(instruction.ip() - address).unwrap_or(0);
        let bytes = code.get(from..from + instruction.len()).unwrap_or_default().to_vec();
        AssemblyLine { address: instruction.ip(), bytes, text, calls }
    });
    lines.collect()
}

/// The target of a call, or of a jump out of the function, which is a tail call.
fn called(
    instruction: &Instruction,
    function: std::ops::Range<u64>,
    names: &Names,
    relocations: &Names,
) -> Option<String> {
    let flow = instruction.flow_control();
    let is_call = matches!(flow, FlowControl::Call | FlowControl::IndirectCall);
    let leaves = matches!(flow, FlowControl::UnconditionalBranch | FlowControl::IndirectBranch);
    if !is_call && !leaves {
        return None;
    }

    let relocated = (instruction.ip()..instruction.next_ip()).find_map(|at| relocations.get(&at));
    if let Some(name) = relocated {
        return Some(name.clone());
    }
    if !matches!(instruction.op0_kind(), OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64) {
        return (is_call).then(|| "(through a pointer)".to_owned());
    }

    let target = instruction.near_branch_target();
    if !is_call && function.contains(&target) {
        return None;
    }
    Some(names.get(&target).cloned().unwrap_or_else(|| format!("{target:#x}")))
}
