//! Places and sizes, for tests of the reader.

use super::tables::{
    BlobLayout, CodeStart, HeapLayout, MethodLayout, Part, Places, ScopesLayout, SourceName, Tables,
    ThreadLayout, ThreadList,
};

pub(super) const PLACES: Places = Places { structs: [0x1000, 0x1008], types: [0x1010, 0x1018] };

/// Those of `OpenJDK` 17, with variables in the random memory.
pub(super) fn tables() -> Tables {
    Tables {
        heaps: 0x1000,
        call_stub: 0x1008,
        threads: 0x1010,
        array: [0, 8],
        heap: HeapLayout {
            memory: 8,
            segments: 120,
            log2_segment: 256,
            space: [16, 24],
            is_used: 8,
            header: 16,
        },
        blob: BlobLayout {
            name: 96,
            frame_size: 28,
            frame_complete: 20,
            is_complete_short: false,
            code: CodeStart::Address(32),
        },
        method: 112,
        thread: ThreadLayout {
            list: ThreadList::Array([4, 16]),
            os_thread: 560,
            pthread: 24,
            anchor: 656,
            wrapper_anchor: 32,
            of_anchor: [0, 8, 16],
        },
        of_method: MethodLayout {
            constant: 8,
            constants: 8,
            size: 24,
            flags: 28,
            code_size: 32,
            name: 34,
            code: 48,
            holder: 24,
            length: 60,
            source: SourceName::OfConstants(54),
            entries: 72,
            class_name: 24,
            symbol: [4, 6],
        },
        scopes: Some(ScopesLayout {
            places: [268, 272].map(|offset| Part { address: None, offset: Some(offset) }),
            data: Part { address: Some(120), offset: None },
            metadata: Part { address: None, offset: Some(260) },
            of_place: [0, 4, 16],
        }),
    }
}
