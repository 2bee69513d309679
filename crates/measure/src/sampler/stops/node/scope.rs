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
            name = self.name(own)?;
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
