//! Where `HotSpot` keeps what a reader of its frames needs.
//!
//! It says so itself: `libjvm.so` has tables of its structures for debuggers (`gHotSpotVMStructs` and `gHotSpotVMTypes`,
//! `src/hotspot/share/runtime/vmStructs.hpp`). The tables are in order when its constructors have run.

use super::super::memory::Reader;
use std::collections::HashMap;

/// `VMStructEntry`: type, field, the field's type, whether it is static, its offset, its address.
const TYPE: u64 = 0;
const FIELD: u64 = 8;
const FIELD_TYPE: u64 = 16;
const IS_STATIC: u64 = 24;
const OFFSET: u64 = 32;
const ADDRESS: u64 = 40;
/// `VMTypeEntry`: the name, the size.
const SIZE: u64 = 32;
/// More entries are a damaged table.
const MAX_ENTRIES: u64 = 1 << 13;
/// The longest names, bytes.
const MAX_NAME: u64 = 256;

/// The addresses of `gHotSpotVMStructs` and `gHotSpotVMTypes`, each with that of the size of its entries.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places {
    pub(super) structs: [u64; 2],
    pub(super) types: [u64; 2],
}

/// Addresses of variables, without what was added to those of the file; offsets and sizes in bytes.
#[derive(Clone, Debug)]
pub(super) struct Tables {
    /// `CodeCache::_heaps`, `StubRoutines::_call_stub_return_address`, `ThreadsSMRSupport::_java_thread_list` or in version 11
    /// `Threads::_thread_list`.
    pub(super) heaps: u64,
    pub(super) call_stub: u64,
    pub(super) threads: u64,
    /// `GrowableArray`: the length, the elements.
    pub(super) array: [u64; 2],
    pub(super) heap: HeapLayout,
    pub(super) blob: BlobLayout,
    /// `nmethod::_method`.
    pub(super) method: u64,
    pub(super) thread: ThreadLayout,
    pub(super) of_method: MethodLayout,
    /// `None`: which methods compiled code has inlined is not known.
    pub(super) scopes: Option<ScopesLayout>,
}

/// `CodeHeap`.
#[derive(Clone, Debug)]
pub(super) struct HeapLayout {
    pub(super) memory: u64,
    pub(super) segments: u64,
    pub(super) log2_segment: u64,
    /// `VirtualSpace`: `_low`, `_high`.
    pub(super) space: [u64; 2],
    /// `HeapBlock`: whether it is used, and its size.
    pub(super) is_used: u64,
    pub(super) header: u64,
}

/// `CodeBlob`.
#[derive(Clone, Debug)]
pub(super) struct BlobLayout {
    pub(super) name: u64,
    pub(super) frame_size: u64,
    pub(super) frame_complete: u64,
    pub(super) is_complete_short: bool,
    pub(super) code: CodeStart,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum CodeStart {
    /// The address is at this place.
    Address(u64),
    /// The offset from the blob is at this place.
    Offset(u64),
}

/// The parts of `nmethod` that say which methods it has inlined where.
#[derive(Clone, Debug)]
pub(super) struct ScopesLayout {
    /// The first `PcDesc`, and the end of the last one.
    pub(super) places: [Part; 2],
    pub(super) data: Part,
    pub(super) metadata: Part,
    /// `PcDesc`: `_pc_offset`, `_scope_decode_offset`, and its size.
    pub(super) of_place: [u64; 3],
}

/// A part of a piece of generated code, by the places of an address and of an offset that is added to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// `None`: that of the piece itself.
    pub(super) address: Option<u64>,
    pub(super) offset: Option<u64>,
}

/// `JavaThread` and what belongs to it.
#[derive(Clone, Debug)]
pub(super) struct ThreadLayout {
    pub(super) list: ThreadList,
    pub(super) os_thread: u64,
    pub(super) pthread: u64,
    pub(super) anchor: u64,
    /// `JavaCallWrapper::_anchor`.
    pub(super) wrapper_anchor: u64,
    /// `JavaFrameAnchor`: the stack pointer, the instruction, the frame pointer.
    pub(super) of_anchor: [u64; 3],
}

#[derive(Clone, Copy, Debug)]
pub(super) enum ThreadList {
    /// `ThreadsList`: `_length`, `_threads`.
    Array([u64; 2]),
    /// The next thread is at this place.
    Chain(u64),
}

/// `Method` and what belongs to it.
#[derive(Clone, Debug)]
pub(super) struct MethodLayout {
    pub(super) constant: u64,
    /// `ConstMethod`: `_constants`, `_constMethod_size`, `_flags`, `_code_size`, `_name_index`, and its size.
    pub(super) constants: u64,
    pub(super) size: u64,
    pub(super) flags: u64,
    pub(super) code_size: u64,
    pub(super) name: u64,
    pub(super) code: u64,
    /// `ConstantPool`: `_pool_holder`, `_length`, and its size.
    pub(super) holder: u64,
    pub(super) length: u64,
    pub(super) entries: u64,
    pub(super) source: SourceName,
    /// `Klass::_name`; `Symbol`: `_length`, `_body`.
    pub(super) class_name: u64,
    pub(super) symbol: [u64; 2],
}

/// `_source_file_name_index`.
#[derive(Clone, Copy, Debug)]
pub(super) enum SourceName {
    OfConstants(u64),
    /// In version 11.
    OfClass(u64),
}

/// One field of the tables.
#[derive(Clone, Debug)]
struct Field {
    /// Its offset, or its address.
    place: u64,
    kind: String,
}

struct Read {
    fields: HashMap<(String, String), Field>,
    sizes: HashMap<String, u64>,
}

impl Tables {
    /// `bias` is what was added to the addresses of the file. `None`: the tables are not in order yet.
    pub(super) fn of(places: Places, bias: u64, memory: &mut Reader<'_>) -> Option<Tables> {
        let fields = fields(places.structs.map(|place| place.wrapping_add(bias)), memory)?;
        let sizes = sizes(places.types.map(|place| place.wrapping_add(bias)), memory)?;
        Read { fields, sizes }.tables(bias)
    }
}

fn fields([table, stride]: [u64; 2], memory: &mut Reader<'_>) -> Option<HashMap<(String, String), Field>> {
    let mut fields = HashMap::new();
    for entry in entries(memory.word(table)?, memory.word(stride)?)? {
        let Some(kind) = name(memory, entry.wrapping_add(TYPE)) else { return Some(fields) };
        let field = name(memory, entry.wrapping_add(FIELD))?;
        let is_static = memory.half(entry.wrapping_add(IS_STATIC))? != 0;
        let place = memory.word(entry.wrapping_add(if is_static { ADDRESS } else { OFFSET }))?;
        let field_type = name(memory, entry.wrapping_add(FIELD_TYPE)).unwrap_or_default();
        fields.insert((kind, field), Field { place, kind: field_type });
    }
    None
}

fn sizes([table, stride]: [u64; 2], memory: &mut Reader<'_>) -> Option<HashMap<String, u64>> {
    let mut sizes = HashMap::new();
    for entry in entries(memory.word(table)?, memory.word(stride)?)? {
        let Some(kind) = name(memory, entry) else { return Some(sizes) };
        sizes.insert(kind, memory.word(entry.wrapping_add(SIZE))?);
    }
    None
}

/// The addresses of a table's entries. The last one has no name.
fn entries(table: u64, stride: u64) -> Option<impl Iterator<Item = u64>> {
    (stride != 0).then(|| (0..MAX_ENTRIES).map(move |n| table.wrapping_add(stride.wrapping_mul(n))))
}

fn name(memory: &mut Reader<'_>, at: u64) -> Option<String> {
    let address = memory.word(at).filter(|address| *address != 0)?;
    memory.c_string(address, MAX_NAME)
}

impl Read {
    fn field(&self, kind: &str, field: &str) -> Option<&Field> {
        self.fields.get(&(kind.to_owned(), field.to_owned()))
    }

    fn at(&self, kind: &str, field: &str) -> Option<u64> {
        self.field(kind, field).map(|field| field.place)
    }

    fn tables(&self, bias: u64) -> Option<Tables> {
        let variable = |kind, field| self.at(kind, field).map(|address| address.wrapping_sub(bias));
        let length = self.at("GrowableArrayBase", "_len").or_else(|| self.at("GenericGrowableArray", "_len"));
        Some(Tables {
            heaps: variable("CodeCache", "_heaps")?,
            call_stub: variable("StubRoutines", "_call_stub_return_address")?,
            threads: variable("ThreadsSMRSupport", "_java_thread_list")
                .or_else(|| variable("Threads", "_thread_list"))?,
            array: [length?, self.at("GrowableArray<int>", "_data")?],
            heap: self.heap()?,
            blob: self.blob()?,
            method: self.at("nmethod", "_method").or_else(|| self.at("CompiledMethod", "_method"))?,
            thread: self.thread()?,
            of_method: self.method()?,
            scopes: self.scopes(),
        })
    }

    fn heap(&self) -> Option<HeapLayout> {
        Some(HeapLayout {
            memory: self.at("CodeHeap", "_memory")?,
            segments: self.at("CodeHeap", "_segmap")?,
            log2_segment: self.at("CodeHeap", "_log2_segment_size")?,
            space: [self.at("VirtualSpace", "_low")?, self.at("VirtualSpace", "_high")?],
            is_used: self.at("HeapBlock", "_header")?.wrapping_add(self.at("HeapBlock::Header", "_used")?),
            header: *self.sizes.get("HeapBlock")?,
        })
    }

    fn blob(&self) -> Option<BlobLayout> {
        let complete = self.field("CodeBlob", "_frame_complete_offset")?;
        let code = self.at("CodeBlob", "_code_begin").map(CodeStart::Address);
        Some(BlobLayout {
            name: self.at("CodeBlob", "_name")?,
            frame_size: self.at("CodeBlob", "_frame_size")?,
            frame_complete: complete.place,
            is_complete_short: complete.kind == "int16_t",
            code: code.or_else(|| self.at("CodeBlob", "_code_offset").map(CodeStart::Offset))?,
        })
    }

    fn thread(&self) -> Option<ThreadLayout> {
        let anchor = |field| self.at("JavaFrameAnchor", field);
        let os_thread = self.at("JavaThread", "_osthread").or_else(|| self.at("Thread", "_osthread"));
        Some(ThreadLayout {
            list: self.threads()?,
            os_thread: os_thread?,
            pthread: self.at("OSThread", "_pthread_id")?,
            anchor: self.at("JavaThread", "_anchor")?,
            wrapper_anchor: self.at("JavaCallWrapper", "_anchor")?,
            of_anchor: [anchor("_last_Java_sp")?, anchor("_last_Java_pc")?, anchor("_last_Java_fp")?],
        })
    }

    fn threads(&self) -> Option<ThreadList> {
        let array = self.at("ThreadsList", "_length").zip(self.at("ThreadsList", "_threads"));
        let array = array.map(|(length, threads)| ThreadList::Array([length, threads]));
        array.or_else(|| self.at("JavaThread", "_next").map(ThreadList::Chain))
    }

    fn scopes(&self) -> Option<ScopesLayout> {
        let (code, blob) = (|field| self.at("nmethod", field), |field| self.at("CodeBlob", field));
        let immutable = code("_immutable_data");
        let part = |field| Some(Part { address: immutable, offset: Some(code(field)?) });
        let place = |field| self.at("PcDesc", field);
        let of_place = [place("_pc_offset")?, place("_scope_decode_offset")?, *self.sizes.get("PcDesc")?];
        let places = part("_scopes_pcs_offset")?;
        if immutable.is_some() {
            let data = part("_scopes_data_offset")?;
            let metadata =
                Part { address: Some(blob("_mutable_data")?), offset: Some(blob("_relocation_size")?) };
            return Some(ScopesLayout { places: [places, data], data, metadata, of_place });
        }

        let data = self.at("CompiledMethod", "_scopes_data_begin")?;
        let data = Part { address: Some(data), offset: None };
        let (end, metadata) = (part("_dependencies_offset")?, part("_metadata_offset")?);
        Some(ScopesLayout { places: [places, end], data, metadata, of_place })
    }

    fn method(&self) -> Option<MethodLayout> {
        let constant = |field| self.at("ConstMethod", field);
        let pool = |field| self.at("ConstantPool", field);
        let of_class = || self.at("InstanceKlass", "_source_file_name_index").map(SourceName::OfClass);
        Some(MethodLayout {
            constant: self.at("Method", "_constMethod")?,
            constants: constant("_constants")?,
            size: constant("_constMethod_size")?,
            flags: constant("_flags").or_else(|| constant("_flags._flags"))?,
            code_size: constant("_code_size")?,
            name: constant("_name_index")?,
            code: *self.sizes.get("ConstMethod")?,
            holder: pool("_pool_holder")?,
            length: pool("_length")?,
            source: pool("_source_file_name_index").map(SourceName::OfConstants).or_else(of_class)?,
            entries: *self.sizes.get("ConstantPool")?,
            class_name: self.at("Klass", "_name")?,
            symbol: [self.at("Symbol", "_length")?, self.at("Symbol", "_body")?],
        })
    }
}
