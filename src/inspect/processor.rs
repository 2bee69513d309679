//! The features of the processor that decide which folders glibc's loader searches.

use std::collections::HashSet;

/// As `/proc/cpuinfo` describes it.
#[derive(Clone, Debug, Default)]
pub(super) struct Processor {
    is_intel: bool,
    features: HashSet<String>,
}

/// The features of each level of the x86-64 ABI above the first, as the kernel calls them.
/// Each level needs those before it (`sysdeps/x86/get-isa-level.h` of glibc).
const LEVELS: [(&str, &str); 3] = [
    ("x86-64-v2", "cx16 lahf_lm popcnt pni ssse3 sse4_1 sse4_2"),
    ("x86-64-v3", "avx avx2 f16c fma abm movbe"),
    ("x86-64-v4", "avx512f avx512bw avx512cd avx512dq avx512vl"),
];

impl Processor {
    /// Reads the text of `/proc/cpuinfo`.
    pub(super) fn parse(text: &str) -> Processor {
        let value = |name: &str| {
            let lines = text.lines().filter_map(|line| line.split_once(':'));
            lines.filter(|(field, _)| field.trim() == name).map(|(_, value)| value.trim()).next()
        };
        Processor {
            is_intel: value("vendor_id") == Some("GenuineIntel"),
            features: value("flags").unwrap_or("").split_whitespace().map(str::to_owned).collect(),
        }
    }

    fn has(&self, features: &str) -> bool {
        features.split_whitespace().all(|feature| self.features.contains(feature))
    }

    /// The levels that it has, from the highest.
    pub(super) fn levels(&self) -> Vec<&'static str> {
        let reached = LEVELS.iter().take_while(|(_, features)| self.has(features));
        let mut levels: Vec<&str> = reached.map(|(name, _)| *name).collect();
        levels.reverse();
        levels
    }

    /// What `$PLATFORM` means: the kernel's name of the platform, or a better one that glibc knows (`init_cpu_features`).
    pub(super) fn platform(&self) -> &'static str {
        let is_phi = self.has("avx512cd avx512er avx512pf");
        match () {
            () if self.is_intel && is_phi => "xeon_phi",
            () if self.is_intel && self.has("avx2 bmi1 bmi2 abm movbe popcnt fma") => "haswell",
            () => "x86_64",
        }
    }

    /// The features that had folders of their own until glibc 2.36.
    pub(super) fn legacy_features(&self) -> Vec<&'static str> {
        let wide = self.is_intel
            && self.has("avx512cd avx512bw avx512dq avx512vl")
            && !self.features.contains("avx512er");
        ["x86_64"].into_iter().chain(wide.then_some("avx512_1")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_platform_and_features_follow_from_the_flags() {
        let text = |vendor: &str, flags: &str| {
            format!("processor\t: 0\nvendor_id\t: {vendor}\nflags\t\t: {flags}\n")
        };
        let old = Processor::parse(&text("GenuineIntel", "cx16 lahf_lm popcnt pni ssse3 sse4_1"));
        assert!(old.levels().is_empty());
        let v3: String = [LEVELS[0].1, LEVELS[1].1, "bmi1 bmi2"].join(" ");
        let amd = Processor::parse(&text("AuthenticAMD", &v3));
        assert_eq!((amd.levels(), amd.platform()), (vec!["x86-64-v3", "x86-64-v2"], "x86_64"));
        assert_eq!(Processor::parse(&text("GenuineIntel", &v3)).platform(), "haswell");
        let v4 = Processor::parse(&text("GenuineIntel", &format!("{v3} {}", LEVELS[2].1)));
        assert_eq!((v4.levels().len(), v4.legacy_features()), (3, vec!["x86_64", "avx512_1"]));
    }
}
