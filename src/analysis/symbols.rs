//! The functions of one ELF file: from its own symbol tables, and from its debug file or from packed symbols where it has
//! been stripped.

use super::debug_files::{DebugFolders, packed_symbols};
use super::unnamed_parts::Parts;
use object::{Object, ObjectSymbol, SymbolKind};
use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

/// Functions written in assembly often have no size. Up to the next one, but no more than this, the code is theirs.
const MAX_UNSIZED_BYTES: u64 = 4096;

#[derive(Default)]
pub(super) struct Symbols {
    /// Address, size and the name as the linker knows it; sorted by address.
    all: Vec<(u64, u64, Arc<str>)>,
    /// Names that were asked for, as people write them.
    readable: RefCell<HashMap<u64, Arc<str>>>,
}

impl Symbols {
    pub(super) fn of(file: &object::File<'_>, path: &Path, debug: &DebugFolders) -> Symbols {
        let mut all = functions(file);
        if file.symbol_table().is_none() {
            let more = debug.debug_file(file, path).or_else(|| packed_symbols(file));
            let more = more.as_deref().and_then(|bytes| object::File::parse(bytes).ok());
            all.extend(more.iter().flat_map(functions));
        }
        all.extend(cold_parts(file, &all));
        all.extend(builtins(file, &all));

        // of several names of one function, the one that a program uses: `malloc`, not `__libc_malloc`
        let underscores = |name: &str| name.len() - name.trim_start_matches('_').len();
        all.sort_by_cached_key(|(address, size, name)| {
            (*address, Reverse(*size), underscores(name), Arc::clone(name))
        });
        all.dedup_by_key(|symbol| symbol.0);
        for n in 0..all.len() {
            let next = all.get(n + 1).map_or(u64::MAX, |next| next.0);
            let (address, size, _) = &mut all[n];
            if *size == 0 {
                *size = (next - *address).min(MAX_UNSIZED_BYTES);
            }
        }
        Symbols { all, readable: RefCell::default() }
    }

    /// The function at an address of the file.
    pub(super) fn at(&self, address: u64) -> Option<Arc<str>> {
        let after = self.all.partition_point(|(start, ..)| *start <= address);
        let (start, size, name) = self.all.get(after.checked_sub(1)?)?;
        if address - start >= *size {
            return None;
        }
        let mut readable = self.readable.borrow_mut();
        Some(Arc::clone(readable.entry(*start).or_insert_with(|| demangled(name))))
    }
}

/// Interpreters' main loops, which compilers divide.
const DIVIDED: [&str; 1] = ["_PyEval_EvalFrameDefault"];

/// The cold parts of functions, where they have no symbols.
fn cold_parts(file: &object::File<'_>, all: &[(u64, u64, Arc<str>)]) -> Vec<(u64, u64, Arc<str>)> {
    let is_divided = |name: &str| DIVIDED.contains(&name);
    let is_cold = |name: &str| name.strip_suffix(".cold").is_some_and(is_divided);
    if all.iter().any(|(.., name)| is_cold(name)) {
        return Vec::new();
    }
    let cold = |(address, size, name): &(u64, u64, Arc<str>)| {
        let function = *address..address.saturating_add(*size);
        let cold = Parts::of(file)?.cold(&function)?;
        Some((cold.start, cold.end - cold.start, format!("{name}.cold").into()))
    };
    // each is looked for once, however many symbols a file has
    let first = |divided: &&str| all.iter().find(|(.., name)| &**name == *divided);
    DIVIDED.iter().filter_map(first).filter_map(cold).collect()
}

/// What Node.js exports about V8 for debuggers, also where it is stripped.
const OF_V8: &str = "v8dbg_";
/// V8's own code for executing functions: the beginning of its names, and one for all of it.
pub(super) const V8_BUILTIN: &str = "Builtins_";
pub(super) const V8_BUILTINS: &str = "Builtins_*";

/// The builtins of V8, where they have no symbols.
fn builtins(file: &object::File<'_>, all: &[(u64, u64, Arc<str>)]) -> Option<(u64, u64, Arc<str>)> {
    let is_of_v8 = |symbol: object::Symbol<'_, '_>| symbol.name().is_ok_and(|name| name.starts_with(OF_V8));
    if !file.dynamic_symbols().any(is_of_v8) || all.iter().any(|(.., name)| name.starts_with(V8_BUILTIN)) {
        return None;
    }
    let range = Parts::of(file)?.builtins()?;
    let is_within = |(address, size, _): &(u64, u64, Arc<str>)| {
        *address < range.end && address.saturating_add((*size).max(1)) > range.start
    };
    let is_known = all.iter().any(is_within);
    (!is_known).then(|| (range.start, range.end - range.start, V8_BUILTINS.into()))
}

fn functions(file: &object::File<'_>) -> Vec<(u64, u64, Arc<str>)> {
    let all = file.symbols().chain(file.dynamic_symbols());
    let functions = all.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition());
    functions
        .filter_map(|symbol| Some((symbol.address(), symbol.size(), symbol.name().ok()?.into())))
        .collect()
}

/// The name as its author wrote it: Rust's and C++'s names are encoded for the linker.
fn demangled(name: &str) -> Arc<str> {
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return format!("{rust:#}").into();
    }
    if !name.starts_with("_Z") {
        return name.into();
    }
    let options = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
    let cpp = cpp_demangle::Symbol::new(name).ok().and_then(|it| it.demangle_with_options(&options).ok());
    cpp.map_or_else(|| name.into(), Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_shown_as_they_were_written() {
        let all =
            ["_ZN4node7LoadEnvEPKc", "_RNvC4main3foo", "_ZN3foo3bar17h05af221e174051e9E", "main", "_Zxyz"];
        let shown: Vec<Arc<str>> = all.iter().map(|name| demangled(name)).collect();
        assert_eq!(
            shown.iter().map(|name| &**name).collect::<Vec<_>>(),
            ["node::LoadEnv", "main::foo", "foo::bar", "main", "_Zxyz"]
        );
    }

    #[test]
    fn our_own_functions_are_found_at_every_address_of_theirs() {
        let this_binary = std::env::current_exe().unwrap();
        let bytes = std::fs::read(&this_binary).unwrap();
        let file = object::File::parse(&*bytes).unwrap();
        let symbols = Symbols::of(&file, &this_binary, &DebugFolders::NONE);
        let wanted = "firstbyte::analysis::symbols::demangled";
        let (start, size, _) = symbols.all.iter().find(|(.., name)| &*demangled(name) == wanted).unwrap();
        let name = symbols.at(*start).unwrap();
        assert_eq!(&*name, wanted);
        assert_eq!(symbols.at(start + size - 1), Some(name));
        assert_eq!(symbols.at(0), None);
    }
}
