//! How much a cause must cost for a rule to say it.

/// In per cent of the total. Those of all other rules are 1.
const FLOORS: [(&str, u64); 22] = [
    ("after-first-byte", 10),
    ("competing-threads", 10),
    ("compilation", 5),
    ("dynamic-linking", 10),
    ("failed-connections", 5),
    ("from-disk", 2),
    ("generated-code", 10),
    ("hottest-function", 10),
    ("initialisers", 5),
    ("json", 5),
    ("locks", 5),
    ("modules", 5),
    ("new-memory", 10),
    ("programs", 5),
    ("regular-expressions", 5),
    ("slow-calls", 10),
    ("slow-file", 5),
    ("templates", 5),
    ("unused-libraries", 2),
    ("user-code", 20),
    ("waits", 5),
    ("yaml", 5),
];

/// The part of the total, in per cent, below which a rule is silent: its cause may be there nevertheless.
pub(in crate::analysis) fn floor(rule: &str) -> u64 {
    FLOORS.iter().find(|(name, _)| *name == rule).map_or(1, |(_, percent)| *percent)
}
