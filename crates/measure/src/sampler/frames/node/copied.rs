//! What the kernel copies of V8's objects at a sample: as much as [`super::objects`] and [`super::scope`] read of them.

use super::layout::Layout;
use crate::tracer::bpf::samples_session::{EDGES, Edge, Image, KINDS, Kind};

/// The kinds of objects, by their places in the table.
const FUNCTION: u8 = 0;
const MAP: u8 = 1;
const SHARED: u8 = 2;
const SCRIPT: u8 = 3;
const SCOPE: u8 = 4;
const NAME: u8 = 5;
const SOURCE: u8 = 6;
const BYTECODE: u8 = 7;
const TABLE: u8 = 8;

/// The longest names, sources and tables that are copied, bytes. The sources of Node.js itself are in its file.
const LONGEST_NAME: u32 = 4 << 10;
const LONGEST: u32 = 128 << 10;

/// Pointers have this in their lowest bits.
const TAG_MASK: u64 = 3;
const TAG: u64 = 1;
/// The upper half of a small integer.
const UPPER: u16 = 4;
/// `FixedArrayBase`: its length, and where its bytes begin.
const LENGTH: u16 = 8;
const BYTES: u16 = 16;
/// `Map`, as far as the type of its objects. `String`: its head, with the pointers of one that stands for others.
const MAP_BYTES: u16 = 16;
const STRING_BYTES: u16 = 32;
/// By these bytes an object is recognised.
const RECOGNISED: u16 = 48;

/// `ScopeInfo`: the number of its local variables, the words after it, and how many words it has without those variables:
/// a map, three numbers, two positions and a module's number, at most six words behind the variables.
const LOCALS: u16 = 24;
const AFTER_LOCALS: u16 = 32;
const SCOPE_WORDS: u16 = 13;
/// A local variable: a name and what it is. Of many variables, the names are elsewhere
/// (`kScopeInfoMaxInlinedLocalNamesSize`).
const LOCAL: u16 = 16;
const MOST_LOCALS: u32 = 75;

/// What is copied of objects that have this layout.
pub(super) fn image(layout: &Layout) -> Image {
    let mut kind = [Kind::default(); KINDS];
    let mut set = |place: u8, is: Kind| kind[usize::from(place)] = is;
    let (always, once) = (false, true);

    set(FUNCTION, fields(&[(layout.shared, SHARED, always)]));
    set(MAP, Kind { bytes: MAP_BYTES, ..Kind::default() });
    let shared = fields(&[(layout.name_or_scope, SCOPE, once), (layout.script, SCRIPT, always)]);
    set(SHARED, Kind { is_once: 1, ..shared });
    let script = fields(&[(layout.script_name, NAME, once), (layout.script_source, SOURCE, once)]);
    set(SCRIPT, Kind { is_once: 1, ..script });
    set(SCOPE, scope());
    set(NAME, string(LONGEST_NAME));
    set(SOURCE, string(LONGEST));
    set(BYTECODE, Kind { is_once: 1, ..fields(&[(layout.positions, TABLE, once)]) });
    set(TABLE, Kind { bytes: BYTES, count_at: LENGTH + UPPER, unit: 1, most: LONGEST, ..fields(&[]) });

    let offset = |at: u64| u32::try_from(at).unwrap_or_default();
    Image {
        tag_mask: TAG_MASK,
        tag: TAG,
        bytecode: layout.frame.bytecode,
        type_at: offset(layout.instance_type),
        length_at: offset(layout.strings.length),
        representation: layout.strings.representation,
        one_byte: layout.strings.one_byte,
        function: FUNCTION.into(),
        of_bytecode: BYTECODE.into(),
        kind,
        ..Image::default()
    }
}

/// An object with its map, and with pointers at these offsets to objects of these kinds, which are followed always or once.
fn fields(all: &[(u64, u8, bool)]) -> Kind {
    let map = (0, MAP, false);
    let mut kind = Kind { bytes: RECOGNISED, ..Kind::default() };
    for (place, (at, to, once)) in kind.edge.iter_mut().zip(std::iter::once(&map).chain(all).take(EDGES)) {
        let at = u16::try_from(*at).unwrap_or_default();
        *place = Edge { at, to: *to, rare: u8::from(*once) };
        kind.edges += 1;
        kind.bytes = kind.bytes.max(at + 8);
    }
    kind
}

fn string(most: u32) -> Kind {
    Kind { bytes: STRING_BYTES, is_string: 1, most, ..fields(&[]) }
}

/// The names that it has are among its words.
fn scope() -> Kind {
    Kind {
        bytes: 8 * SCOPE_WORDS,
        count_at: LOCALS + UPPER,
        unit: LOCAL,
        most: LONGEST,
        many: MOST_LOCALS,
        words_to: NAME,
        words_from: AFTER_LOCALS,
        ..fields(&[])
    }
}
