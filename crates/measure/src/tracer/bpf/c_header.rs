//! Reads our C headers, so that tests can compare them with their Rust counterparts: constants, enums, layouts.
//!
//! It understands only what these headers use: `#define NAME value`, `enum`, and `struct` with integer, array and
//! nested `struct` members.

use std::collections::HashMap;

/// The headers that both sides share, and those that they include.
const SOURCES: [&str; 10] = [
    include_str!("kernel.h"),
    include_str!("run.h"),
    include_str!("scope.h"),
    include_str!("tree.h"),
    include_str!("marks.h"),
    include_str!("phases_session.h"),
    include_str!("full_session.h"),
    include_str!("samples_session.h"),
    include_str!("uring.h"),
    include_str!("watch_session.h"),
];

/// The text of the headers, without comments.
pub(super) struct Headers(String);

/// Where the members of a `struct` lie.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct StructLayout {
    /// Name and offset of each member, in order.
    pub(super) members: Vec<(String, usize)>,
    pub(super) size: usize,
    align: usize,
}

impl Headers {
    pub(super) fn read() -> Headers {
        Headers(SOURCES.map(without_comments).join("\n"))
    }

    /// The value of `#define NAME value`.
    pub(super) fn constant(&self, name: &str) -> u64 {
        let definitions = self.0.lines().filter_map(|line| line.strip_prefix("#define "));
        let value = definitions.filter_map(|line| line.split_once(' ')).find(|(defined, _)| *defined == name);
        number(value.unwrap_or_else(|| panic!("no header defines `{name}`")).1)
    }

    /// The names and values of `enum NAME`.
    pub(super) fn enumerators(&self, name: &str) -> HashMap<String, u32> {
        let each = self.body("enum", name).split(',').map(str::trim).filter(|each| !each.is_empty());
        let parts = each.map(|each| each.split_once('=').expect("every enumerator states its value"));
        parts.map(|(name, value)| (name.trim().to_owned(), number(value).try_into().unwrap())).collect()
    }

    /// The layout of `struct NAME`, by the rules of the C ABI.
    pub(super) fn layout(&self, name: &str) -> StructLayout {
        let mut layout = StructLayout { members: Vec::new(), size: 0, align: 1 };
        let declarations = self.body("struct", name).split(';').map(str::trim);

        for declaration in declarations.filter(|each| !each.is_empty()) {
            let (of_type, names) = type_and_names(declaration);
            let (size, align) = self.size_and_align(of_type);
            for name in names.split(',') {
                layout.add(name.trim(), self, size, align);
            }
        }

        layout.size = layout.size.next_multiple_of(layout.align);
        layout
    }

    fn body(&self, keyword: &str, name: &str) -> &str {
        let head = format!("{keyword} {name} {{");
        let (_, rest) = self.0.split_once(&head).unwrap_or_else(|| panic!("no header has `{head}`"));
        rest.split_once('}').unwrap().0
    }

    fn size_and_align(&self, of_type: &str) -> (usize, usize) {
        if let Some(name) = of_type.strip_prefix("struct ") {
            let layout = self.layout(name);
            return (layout.size, layout.align);
        }
        let size = match of_type {
            "char" | "u8" => 1,
            "u16" => 2,
            "u32" | "s32" => 4,
            "u64" | "s64" => 8,
            other => panic!("a shared structure has a member of type `{other}`"),
        };
        (size, size)
    }

    /// An array's length: a number or the name of a constant.
    fn length(&self, text: &str) -> usize {
        let is_number = text.starts_with(|first: char| first.is_ascii_digit());
        usize::try_from(if is_number { number(text) } else { self.constant(text) }).unwrap()
    }
}

impl StructLayout {
    /// Appends a member: `name` or `name[length]`.
    fn add(&mut self, name: &str, headers: &Headers, size: usize, align: usize) {
        let (name, count) = match name.split_once('[') {
            Some((name, length)) => (name, headers.length(length.trim_end_matches(']'))),
            None => (name, 1),
        };
        let offset = self.size.next_multiple_of(align);
        self.members.push((name.to_owned(), offset));
        self.size = offset + size * count;
        self.align = self.align.max(align);
    }
}

/// `struct run run` and `u64 at, ip`: the type, and the rest.
fn type_and_names(declaration: &str) -> (&str, &str) {
    let keyword = if declaration.starts_with("struct ") { "struct ".len() } else { 0 };
    let end = keyword + declaration[keyword..].find(' ').expect("a type and a name");
    (&declaration[..end], &declaration[end..])
}

fn without_comments(source: &str) -> String {
    let mut pieces = source.split("/*");
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |text, piece| text + piece.split_once("*/").expect("comments end").1)
}

/// An integer literal, or a shift of two.
fn number(text: &str) -> u64 {
    let text = text.trim().trim_matches(['(', ')']);
    if let Some((value, by)) = text.split_once("<<") {
        return number(value) << number(by);
    }
    let digits = text.trim_end_matches(['u', 'l']);
    let parsed = match digits.strip_prefix("0x") {
        Some(hexadecimal) => u64::from_str_radix(hexadecimal, 16),
        None => digits.parse(),
    };
    parsed.unwrap_or_else(|_| panic!("`{text}` is not a number"))
}

/// Asserts that a `#[repr(C)]` struct has the members of its C counterpart: names, order, offsets and size.
macro_rules! assert_same_layout {
    ($here:ty, $name:literal, [$($member:ident),+ $(,)?]) => {{
        let there = $crate::tracer::bpf::c_header::Headers::read().layout($name);
        let here = [$((stringify!($member).to_owned(), std::mem::offset_of!($here, $member))),+];
        assert_eq!(here.as_slice(), there.members, "struct {}", $name);
        assert_eq!(size_of::<$here>(), there.size, "struct {}", $name);
    }};
}

/// Asserts that constants have the values of the `#define` of the same name.
macro_rules! assert_same_constants {
    ($($name:ident),+ $(,)?) => {{
        let headers = $crate::tracer::bpf::c_header::Headers::read();
        // As text: the constants are of different integer types.
        $(assert_eq!($name.to_string(), headers.constant(stringify!($name)).to_string(), stringify!($name));)+
    }};
}

pub(super) use {assert_same_constants, assert_same_layout};

#[test]
fn layouts_follow_the_c_abi() {
    let text = "struct inner { u64 a; u8 b; }; struct outer { u8 c, d[3]; u32 e; u8 f; struct inner g[2]; };";
    let layout = Headers(text.to_owned()).layout("outer");
    let members = [("c", 0), ("d", 1), ("e", 4), ("f", 8), ("g", 16)];
    assert_eq!(layout.members, members.map(|(name, offset)| (name.to_owned(), offset)));
    assert_eq!((layout.size, layout.align), (48, 8));
}

#[test]
fn numbers_are_read_as_c_writes_them() {
    assert_eq!([number("88"), number(" 0x80000000u"), number("(1 << 20)")], [88, 0x8000_0000, 1 << 20]);
}
