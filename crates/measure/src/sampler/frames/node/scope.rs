//! What a function is called, and where it begins: `ScopeInfo` (`src/objects/scope-info.tq` of V8).

use super::objects::{Heap, small};

/// The name and the position of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Scope {
    pub(super) name: String,
    /// Where it begins in the source.
    pub(super) start: u32,
}

/// Where the words of a `ScopeInfo` begin, and which they are.
const FIRST: u64 = 8;
const FLAGS: u64 = 0;
const LOCALS: u64 = 2;
const AFTER_LOCALS: u64 = 3;
/// More local variables are in a table of their own: `kScopeInfoMaxInlinedLocalNamesSize`.
const MOST_LOCALS: u64 = 75;

/// Its flags: its type, and what it has besides.
const TYPE: u32 = 15;
const CLASS_VARIABLE: u32 = 1 << 10;
const OWN_NAME: u32 = 3 << 12;
const INFERRED_NAME: u32 = 1 << 14;
/// Instead of the name of a function that has none: `SharedFunctionInfo::kNoSharedNameSentinel`.
const NO_NAME: u64 = 0;
/// The type of a module's scope: 3 or, in later versions, 5. Then 3 is that of `eval`, whose scope is all of its source, too.
const MODULES: [u32; 2] = [3, 5];

impl Heap<'_, '_> {
    /// From the field `name_or_scope_info`; `length` is that of the source. `None`: it is not understood, or it is none.
    pub(super) fn scope(&mut self, scope: u64, length: usize) -> Option<Scope> {
        (self.kind(scope)? == self.layout.types.scope).then_some(())?;
        let flags = flags(self.field(scope, FIRST + 8 * FLAGS)?);
        if !MODULES.contains(&(flags & TYPE)) {
            return self.scope_with(scope, flags, length, 0).map(|(scope, _)| scope);
        }
        // from V8 12 on, the number of its variables is before the names
        [0, 1].into_iter().find_map(|more| {
            self.scope_with(scope, flags, length, more)
                .filter(|(_, is_whole)| *is_whole)
                .map(|(scope, _)| scope)
        })
    }

    /// `more` words are before the names. Also tells whether it is all of the source.
    fn scope_with(&mut self, scope: u64, flags: u32, length: usize, more: u64) -> Option<(Scope, bool)> {
        let word = |heap: &mut Self, at: u64| heap.field(scope, FIRST + 8 * at);
        let locals = u64::from(small(word(self, LOCALS)?)?);

        let early = self.layout.has_early_positions;
        let names = if locals < MOST_LOCALS { locals } else { 1 };
        let mut at = AFTER_LOCALS + if early { 2 } else { 0 } + more + names + locals;
        if flags & CLASS_VARIABLE != 0 {
            at += 1;
        }
        let mut name = String::new();
        if flags & OWN_NAME != 0 {
            let own = word(self, at)?;
            if own != NO_NAME {
                name = self.name(own)?;
            }
            at += 2;
        }
        if flags & INFERRED_NAME != 0 {
            let inferred = word(self, at)?;
            // it may be undefined
            if name.is_empty() {
                name = self.name(inferred).unwrap_or_default();
            }
            at += 1;
        }

        let positions = if early { AFTER_LOCALS } else { at };
        let [start, end] = [positions, positions + 1].map(|at| word(self, at).and_then(small));
        let (start, end) = (start?, end?);
        (start <= end && usize::try_from(end).is_ok_and(|end| end <= length)).then_some(())?;
        let is_whole = start == 0 && usize::try_from(end) == Ok(length);
        if name.is_empty() {
            name.push_str(if is_whole { "<module>" } else { "(anonymous)" });
        }
        Some((Scope { name, start }, is_whole))
    }
}

/// A small integer, from 13.6 on 32 bits.
fn flags(word: u64) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "one of both halves")]
    let (low, high) = (word as u32, (word >> 32) as u32);
    if low == 0 { high } else { low }
}

#[cfg(test)]
mod tests {
    use super::super::super::memory::Memory;
    use super::super::super::random::words;
    use super::super::layout::example;
    use super::*;

    const SOURCE: u32 = 100;
    const FUNCTION: u32 = 4;
    /// Where no integer and no pointer may be.
    const VARIABLE: u64 = 0xbad << 8;
    /// Strings, and where one would be that is none.
    const OWN: u64 = 0x3001;
    const INFERRED: u64 = 0x4001;
    const UNDEFINED: u64 = 0x5001;

    fn small(number: u32) -> u64 {
        u64::from(number) << 32
    }

    /// An object of a type, with its map beside it and the words after its map.
    fn object(pointer: u64, kind: u64, fields: &[u64]) -> Vec<(u64, u64)> {
        let (at, map) = (pointer - 1, pointer - 0x101);
        let fields = (at + 8..).step_by(8).zip(fields.iter().copied());
        [(map + 8, kind << 32), (at, map + 1)].into_iter().chain(fields).collect()
    }

    /// One with these flags, whose number of local variables is followed by these words.
    fn scope(has_early_positions: bool, flags: u32, locals: u32, rest: &[u64]) -> Option<(String, u32)> {
        let mut layout = example::layout();
        layout.has_early_positions = has_early_positions;
        let fields = [&[small(flags), small(0), small(locals)], rest].concat();
        let name = |name: &[u8; 8]| [small(8), u64::from_le_bytes(*name)];
        let memory = [
            object(0x2001, layout.types.scope.into(), &fields),
            object(OWN, 8, &name(b"own name")),
            object(INFERRED, 8, &name(b"inferred")),
            object(UNDEFINED, 131, &[]),
        ];
        let (source, mut read) = (words(memory.concat()), Memory::default());
        let mut heap = Heap { layout: &layout, memory: &mut read.reader(&source) };
        heap.scope(0x2001, SOURCE as usize).map(|it| (it.name, it.start))
    }

    #[expect(clippy::unnecessary_wraps, reason = "as the function that is tested")]
    fn named(name: &str, start: u32) -> Option<(String, u32)> {
        Some((name.to_owned(), start))
    }

    #[test]
    fn a_module_may_have_a_word_before_its_names() {
        let (variables, positions) = ([VARIABLE; 4], [small(0), small(SOURCE)]);
        for kind in [3, 5] {
            let whole = [&variables[..], &positions].concat();
            assert_eq!(scope(false, kind, 2, &whole), named("<module>", 0));
            assert_eq!(scope(false, kind, 2, &[&[small(7)], &whole[..]].concat()), named("<module>", 0));
            // what is no whole source is no scope of a module
            let part = [&variables[..], &[small(0), small(SOURCE - 1)]].concat();
            assert_eq!(scope(false, kind, 2, &part), None);
            assert_eq!(scope(false, kind, 2, &[&[small(7); 2], &whole[..]].concat()), None);
        }
        let later = [&[small(7)], &variables[..], &positions].concat();
        assert_eq!(scope(false, FUNCTION, 2, &later), None, "only those of modules have it");
    }

    #[test]
    fn a_module_may_have_its_positions_before_its_names() {
        for kind in [3, 5] {
            let early = [small(0), small(SOURCE), VARIABLE, VARIABLE];
            assert_eq!(scope(true, kind, 1, &early), named("<module>", 0));
            let named_one = [small(0), small(SOURCE), small(7), VARIABLE, VARIABLE, OWN, small(0)];
            assert_eq!(scope(true, kind | 1 << 12, 1, &named_one), named("own name", 0));
        }
    }

    #[test]
    fn the_names_of_a_function_follow_its_variables() {
        let at = [small(20), small(30)];
        assert_eq!(scope(false, FUNCTION, 0, &at), named("(anonymous)", 20));
        let own = [&[VARIABLE; 2], &[OWN, small(0)], &at[..]].concat();
        assert_eq!(scope(false, FUNCTION | 1 << 12, 1, &own), named("own name", 20));
        let unnamed = [&[NO_NAME, small(0)], &at[..]].concat();
        assert_eq!(scope(false, FUNCTION | 1 << 12, 0, &unnamed), named("(anonymous)", 20));
        let unnamed = [&[NO_NAME, small(0), INFERRED], &at[..]].concat();
        assert_eq!(scope(false, FUNCTION | 1 << 12 | 1 << 14, 0, &unnamed), named("inferred", 20));
        let inferred = [&[INFERRED], &at[..]].concat();
        assert_eq!(scope(false, FUNCTION | 1 << 14, 0, &inferred), named("inferred", 20));
        let undefined = [&[UNDEFINED], &at[..]].concat();
        assert_eq!(scope(false, FUNCTION | 1 << 14, 0, &undefined), named("(anonymous)", 20));
        let all = [&[VARIABLE, OWN, small(0), INFERRED], &at[..]].concat();
        let flags = FUNCTION | 1 << 10 | 2 << 12 | 1 << 14;
        assert_eq!(scope(false, flags, 0, &all), named("own name", 20));
    }

    #[test]
    fn the_names_of_many_variables_are_elsewhere() {
        for (locals, names) in [(74, 74), (75, 1)] {
            let rest = [vec![VARIABLE; names + locals as usize], vec![small(20), small(30)]].concat();
            assert_eq!(scope(false, FUNCTION, locals, &rest), named("(anonymous)", 20), "{locals}");
        }
    }

    #[test]
    fn a_scope_lies_within_its_source() {
        let within = |start, end| scope(false, FUNCTION, 0, &[small(start), small(end)]);
        assert_eq!([within(0, SOURCE), within(1, SOURCE)], [named("<module>", 0), named("(anonymous)", 1)]);
        assert_eq!([within(1, SOURCE + 1), within(31, 30)], [None, None]);
    }

    #[test]
    fn flags_are_in_either_half() {
        assert_eq!([small(7), 7, 0].map(flags), [7, 7, 0]);
    }
}
