//! Where V8 keeps what a reader of its frames needs.
//!
//! The executable says it: it exports constants for debuggers whose names begin with `v8dbg_`
//! (`tools/gen-postmortem-metadata.py` of V8). Some of their names contain types, which differ between versions. The few
//! constants that are not exported in all versions are those of `src/objects` and `src/execution/frame-constants.h`.

use super::super::elf::Elf;
use super::text::Marks;
use std::collections::HashMap;

/// Offsets in bytes: of fields from the beginning of their objects, in frames from the frame pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// `Map.instance_type`.
    pub(super) instance_type: u64,
    pub(super) types: Types,
    pub(super) strings: Strings,
    pub(super) frame: FrameLayout,
    /// `JSFunction.shared`.
    pub(super) shared: u64,
    /// `SharedFunctionInfo`: `name_or_scope_info`, `script`.
    pub(super) name_or_scope: u64,
    pub(super) script: u64,
    /// `Script`: `name`, `source`.
    pub(super) script_name: u64,
    pub(super) script_source: u64,
    /// Whether the positions in a `ScopeInfo` are before its variables.
    pub(super) has_early_positions: bool,
    /// `BytecodeArray.source_position_table`.
    pub(super) positions: u64,
    /// How that table is written.
    pub(super) marks: Marks,
    /// The offset of its first bytecode, as frames count.
    pub(super) first_bytecode: i64,
}

/// The values of `Map.instance_type`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Types {
    pub(super) function: u16,
    pub(super) shared: u16,
    pub(super) scope: u16,
    pub(super) script: u16,
    pub(super) bytecode: u16,
    /// Of a table of positions: a `ByteArray`, in later versions a `TrustedByteArray`.
    pub(super) bytes: [u16; 2],
}

/// What the type of a string says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Strings {
    /// `String.length`.
    pub(super) length: u64,
    /// Bits that no string has.
    pub(super) not_string: u16,
    /// The bits that say how it is represented, and one that says that each character is a byte.
    pub(super) representation: u16,
    pub(super) one_byte: u16,
}

/// What an interpreted frame has: `off_fp_*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FrameLayout {
    pub(super) bytecode: i64,
    pub(super) offset: i64,
}

impl Layout {
    /// `None`: there is no V8 in it, or it does not say enough.
    pub(super) fn of(elf: &Elf<'_>, version: (u32, u32)) -> Option<Layout> {
        Layout::from_constants(&elf.figures("v8dbg_"), version)
    }

    fn from_constants(constants: &HashMap<&str, i32>, version: (u32, u32)) -> Option<Layout> {
        let known = |name: &str| constants.get(name).copied();
        let offset = |name: &str| known(name).and_then(|it| u64::try_from(it).ok());
        // the end of the name is a type
        let field = |start: &str| {
            let mut found =
                constants.iter().filter(|(name, _)| name.starts_with(start)).map(|(_, value)| value);
            found.next().and_then(|value| u64::try_from(*value).ok())
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "16 bits of a mask")]
        let bits = |name: &str| known(name).map(|it| it as u16);
        let kind = |name: &str| bits(&format!("type_{name}"));

        let bytes = kind("ByteArray__BYTE_ARRAY_TYPE")?;
        let has_wrapper = constants.keys().any(|name| name.starts_with("class_BytecodeArray__wrapper__"));
        let script_name = offset("class_Script__name__Object")?;
        let shared = |field_name: &str| field(&format!("class_SharedFunctionInfo__{field_name}"));
        Some(Layout {
            instance_type: offset("class_Map__instance_type__uint16_t")?,
            types: Types {
                function: kind("JSFunction__JS_FUNCTION_TYPE")?,
                shared: kind("SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE")?,
                scope: kind("ScopeInfo__SCOPE_INFO_TYPE")?,
                script: kind("Script__SCRIPT_TYPE")?,
                bytecode: kind("BytecodeArray__BYTECODE_ARRAY_TYPE")?,
                bytes: [bytes, kind("TrustedByteArray__TRUSTED_BYTE_ARRAY_TYPE").unwrap_or(bytes)],
            },
            strings: Strings {
                length: offset("class_String__length__int32_t")?,
                not_string: bits("IsNotStringMask")?,
                representation: bits("StringRepresentationMask")?,
                one_byte: bits("OneByteStringTag")?,
            },
            frame: FrameLayout {
                bytecode: known("off_fp_bytecode_array").unwrap_or(-32).into(),
                offset: known("off_fp_bytecode_offset").unwrap_or(-40).into(),
            },
            shared: offset("class_JSFunction__shared__SharedFunctionInfo")?,
            name_or_scope: shared("name_or_scope_info__")?,
            script: shared("script__").or_else(|| shared("script_or_debug_info__"))?,
            script_name,
            script_source: offset("class_Script__source__Object").or(script_name.checked_sub(8))?,
            has_early_positions: known("scopeinfo_idx_first_vars")? >= 5,
            positions: if has_wrapper { 24 } else { 32 },
            marks: if version <= (13, 6) { Marks::Sign } else { Marks::Bits },
            first_bytecode: i64::from(known("class_BytecodeArray__data__uintptr_t").unwrap_or(54)) - 1,
        })
    }
}

/// For tests of its reader.
#[cfg(any(test, fuzzing))]
pub(super) mod example {
    use super::*;

    /// Some of the constants of Node.js 20.
    pub(super) const CONSTANTS: [(&str, i32); 20] = [
        ("class_Map__instance_type__uint16_t", 12),
        ("type_JSFunction__JS_FUNCTION_TYPE", 2066),
        ("type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", 262),
        ("type_ScopeInfo__SCOPE_INFO_TYPE", 261),
        ("type_Script__SCRIPT_TYPE", 167),
        ("type_BytecodeArray__BYTECODE_ARRAY_TYPE", 191),
        ("type_ByteArray__BYTE_ARRAY_TYPE", 190),
        ("class_String__length__int32_t", 12),
        ("IsNotStringMask", -128),
        ("StringRepresentationMask", 7),
        ("OneByteStringTag", 8),
        ("off_fp_bytecode_array", -32),
        ("off_fp_bytecode_offset", -40),
        ("class_JSFunction__shared__SharedFunctionInfo", 24),
        ("class_SharedFunctionInfo__name_or_scope_info__Object", 16),
        ("class_SharedFunctionInfo__script_or_debug_info__HeapObject", 32),
        ("class_Script__name__Object", 16),
        ("class_Script__source__Object", 8),
        ("scopeinfo_idx_first_vars", 3),
        ("class_BytecodeArray__data__uintptr_t", 54),
    ];

    pub(in super::super) fn layout() -> Layout {
        Layout::from_constants(&HashMap::from(CONSTANTS), (11, 3)).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::example::{CONSTANTS, layout};
    use super::*;

    #[test]
    fn constants_may_be_missing_or_have_other_names() {
        let mut constants = HashMap::from(CONSTANTS);
        constants.remove("class_Script__source__Object");
        constants.remove("class_BytecodeArray__data__uintptr_t");
        assert_eq!(Layout::from_constants(&constants, (11, 3)), Some(layout()));

        constants.remove("class_SharedFunctionInfo__name_or_scope_info__Object");
        assert_eq!(Layout::from_constants(&constants, (11, 3)), None);
        constants.insert("class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_", 24);
        constants.insert("class_SharedFunctionInfo__script__Tagged_HeapObject_", 40);
        constants.insert("class_BytecodeArray__wrapper__Tagged_BytecodeWrapper_", 16);
        constants.insert("scopeinfo_idx_first_vars", 5);
        let later = Layout::from_constants(&constants, (11, 3)).unwrap();
        assert_eq!((later.name_or_scope, later.script, later.positions), (24, 40, 24));
        assert!(later.has_early_positions);
        let marks = |version| Layout::from_constants(&constants, version).unwrap().marks;
        assert_eq!([(9, 4), (13, 6)].map(marks), [Marks::Sign; 2]);
        assert_eq!([(14, 1), (14, 6)].map(marks), [Marks::Bits; 2]);
    }
}
