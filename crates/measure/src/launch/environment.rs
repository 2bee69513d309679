//! The environment of the programs that are measured.
//!
//! Variables change how programs start: `NODE_EXTRA_CA_CERTS` made Node five times as slow on one machine. A command of
//! the user gets the user's environment, because that is what the user waits for. Experiments that are to be compared
//! between machines get a clean one.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::OnceLock;

/// The variables of a clean environment, which are the same on every machine. This home contains no rc file, and no program can
/// make it: not even root creates folders in `/sys`, and gets the error that says so.
const CLEAN: [(&str, &str); 3] = [
    ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    ("HOME", "/sys/nonexistent"),
    ("LANG", "C.UTF-8"),
];

/// Variables that are known to change how a program starts, and whose values are harmless.
const HARMLESS: [&str; 20] = [
    "GODEBUG",
    "GOGC",
    "GOMAXPROCS",
    "GOMEMLIMIT",
    "LANG",
    "LANGUAGE",
    "LD_BIND_NOW",
    "LD_DEBUG",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED",
    "PYTHONNOUSERSITE",
    "PYTHONUNBUFFERED",
    "PYTHONUTF8",
    "PYTHONVERBOSE",
    "RUST_BACKTRACE",
    "TERM",
    "TZ",
    "UV_THREADPOOL_SIZE",
    "NODE_ENV",
    "POSIXLY_CORRECT",
];

/// The same, but their values may contain paths or secrets.
const PRIVATE: [&str; 18] = [
    "BASH_ENV",
    "CLASSPATH",
    "ENV",
    "GLIBC_TUNABLES",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "PATH",
    "RUBYLIB",
    "RUBYOPT",
    "SHELLOPTS",
    "SSL_CERT_FILE",
    "XDG_CONFIG_HOME",
    "ZDOTDIR",
    "_JAVA_OPTIONS",
    "LUA_INIT",
];

/// Beginnings of further names.
const HARMLESS_FAMILIES: [&str; 1] = ["LC_"];
const PRIVATE_FAMILIES: [&str; 4] = ["MALLOC_", "NODE_", "PERL5", "PYTHON"];

static CHOSEN: OnceLock<Environment> = OnceLock::new();

/// Names and values, and where they come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Environment {
    origin: Origin,
    variables: BTreeMap<OsString, OsString>,
    /// Where programs are looked for; `None`: along the PATH of this process.
    search: Option<OsString>,
}

/// Where an environment comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// It is that of this process.
    Inherited,
    /// It is the same on every machine.
    Clean,
}

impl Origin {
    /// As documents spell it.
    pub fn name(self) -> &'static str {
        match self {
            Origin::Inherited => "inherited",
            Origin::Clean => "clean",
        }
    }
}

impl Environment {
    /// The environment of this process.
    pub fn inherited() -> Environment {
        Environment { origin: Origin::Inherited, variables: std::env::vars_os().collect(), search: None }
    }

    /// A fixed environment: PATH, HOME and LANG.
    pub fn clean() -> Environment {
        let variables = CLEAN.map(|(name, value)| (name.into(), value.into()));
        Environment { origin: Origin::Clean, variables: variables.into(), search: None }
    }

    /// The environment that programs get: the chosen one, else that of this process.
    pub fn of_programs() -> Environment {
        CHOSEN.get().cloned().unwrap_or_else(Environment::inherited)
    }

    /// Gives this environment to every program from now on. Only the first choice counts.
    pub fn choose(self) {
        let _ = CHOSEN.set(self);
    }

    /// Where it comes from.
    pub fn origin(&self) -> Origin {
        self.origin
    }

    /// Sets or replaces a variable.
    pub fn set(&mut self, name: &OsStr, value: &OsStr) {
        self.variables.insert(name.to_owned(), value.to_owned());
    }

    /// Removes a variable.
    pub fn remove(&mut self, name: &OsStr) {
        self.variables.remove(name);
    }

    /// The variables by name.
    pub fn variables(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.variables.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// Each variable as `NAME=value`.
    pub fn entries(&self) -> impl Iterator<Item = Vec<u8>> {
        self.variables().map(|(name, value)| [name.as_bytes(), b"=", value.as_bytes()].concat())
    }

    /// Gives the variables that change how programs start the values of another time, as far as [`Environment::to_fix`]
    /// lists them. A variable of this kind that was not set then is removed, unless its value is private: it may be what
    /// this machine needs. Programs are looked for in the folders of that PATH first, then in those of today's.
    pub fn fix(&mut self, then: &BTreeMap<String, String>) {
        self.variables.retain(|name, _| {
            name.to_str()
                .is_none_or(|name| !affects_start(name) || !is_harmless(name) || then.contains_key(name))
        });
        for (name, value) in then.iter().filter(|(name, _)| affects_start(name) && is_harmless(name)) {
            self.set(name.as_ref(), value.as_ref());
        }

        if let Some(path) = then.get(PATH) {
            let path = joined(path.as_ref(), self.variables.get(OsStr::new(PATH)));
            self.set(PATH.as_ref(), &path);
            self.search = Some(path);
        }
    }

    /// The variables that [`Environment::fix`] needs: those of [`Environment::record`], with the value of PATH.
    pub fn to_fix(&self) -> BTreeMap<String, String> {
        let mut all = self.record();
        if let Some(path) = self.variables.get(OsStr::new(PATH)).and_then(|path| path.to_str()) {
            all.insert(PATH.to_owned(), path.to_owned());
        }
        all
    }

    /// The PATH along which programs are looked for; `None`: that of this process.
    pub(super) fn search(&self) -> Option<&OsStr> {
        self.search.as_deref()
    }

    /// The variables that are known to change how programs start, with their [`shown`] values.
    pub fn record(&self) -> BTreeMap<String, String> {
        let known = self.variables().filter_map(|(name, value)| {
            let name = name.to_str()?;
            affects_start(name).then(|| (name.to_owned(), recorded(name, value)))
        });
        known.collect()
    }
}

/// A value of the clean environment is no secret.
fn recorded(name: &str, value: &OsStr) -> String {
    let fixed = CLEAN.iter().any(|(clean, fixed)| *clean == name && value == *fixed);
    if fixed { value.to_string_lossy().into_owned() } else { shown(name, value) }
}

const PATH: &str = "PATH";

/// The folders of the first PATH, then those that only the second has.
fn joined(first: &OsStr, second: Option<&OsString>) -> OsString {
    let mut folders: Vec<PathBuf> = std::env::split_paths(first).collect();
    for folder in second.iter().flat_map(|path| std::env::split_paths(path)) {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    std::env::join_paths(folders).unwrap_or_else(|_| first.to_owned())
}

/// Whether a variable is known to change how programs start.
pub(crate) fn affects_start(name: &str) -> bool {
    let families = || HARMLESS_FAMILIES.iter().chain(&PRIVATE_FAMILIES);
    HARMLESS.contains(&name) || PRIVATE.contains(&name) || families().any(|family| name.starts_with(family))
}

/// A value as a document shows it: itself if it is harmless, else a hash, which is enough to see that two differ.
pub fn shown(name: &str, value: &OsStr) -> String {
    if is_harmless(name) {
        value.to_string_lossy().into_owned()
    } else {
        format!("hash {:016x}", hash(value.as_bytes()))
    }
}

fn is_harmless(name: &str) -> bool {
    HARMLESS.contains(&name) || HARMLESS_FAMILIES.iter().any(|family| name.starts_with(family))
}

/// FNV-1a, 64 bits (<https://datatracker.ietf.org/doc/draft-eastlake-fnv/>).
fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// `NAME=value` in two parts; `None` if it has no name or no equals sign.
pub fn parsed(text: &OsStr) -> Option<(OsString, OsString)> {
    let bytes = text.as_bytes();
    let equals = bytes.iter().position(|byte| *byte == b'=').filter(|place| *place > 0)?;
    let part = |bytes: &[u8]| OsString::from_vec(bytes.to_owned());
    Some((part(&bytes[..equals]), part(&bytes[equals + 1..])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clean_environment_has_three_variables_and_shows_them() {
        let clean = Environment::clean();
        let names: Vec<_> = clean.variables().map(|(name, _)| name.to_owned()).collect();
        assert_eq!(names, ["HOME", "LANG", "PATH"]);
        assert_eq!(clean.record()["LANG"], "C.UTF-8");
        assert!(clean.record()["PATH"].starts_with("/usr/local/sbin:"));
    }

    #[test]
    fn a_private_value_is_hashed_and_two_values_have_two_hashes() {
        let mut one = Environment::clean();
        one.set("NODE_OPTIONS".as_ref(), "--require /home/me/secret.js".as_ref());
        let record = one.record();
        assert!(record["NODE_OPTIONS"].starts_with("hash "), "{record:?}");
        let mut other = one.clone();
        other.set("NODE_OPTIONS".as_ref(), "".as_ref());
        assert_ne!(record, other.record());
        other.remove("NODE_OPTIONS".as_ref());
        assert_eq!(other, Environment::clean());
    }

    #[test]
    fn what_does_not_change_a_start_is_not_recorded() {
        let mut environment = Environment::clean();
        environment.set("AWS_SECRET".as_ref(), "x".as_ref());
        assert_eq!(environment.record(), Environment::clean().record());
        assert!(affects_start("LC_ALL") && affects_start("MALLOC_ARENA_MAX") && !affects_start("EDITOR"));
    }

    #[test]
    fn the_variables_of_another_time_are_set_and_private_ones_stay() {
        let mut then = Environment::clean();
        then.set("PATH".as_ref(), "/a:/b".as_ref());
        then.set("NODE_OPTIONS".as_ref(), "secret".as_ref());
        let then = then.to_fix();
        let mut now = Environment::clean();
        for (name, value) in
            [("PATH", "/b:/c"), ("LANG", "de_DE"), ("LC_ALL", "C"), ("LD_PRELOAD", "x"), ("EDITOR", "vi")]
        {
            now.set(name.as_ref(), value.as_ref());
        }
        now.fix(&then);
        let of = |name: &str| now.variables.get(OsStr::new(name)).and_then(|value| value.to_str());
        let names = ["PATH", "LANG", "LC_ALL", "LD_PRELOAD", "EDITOR", "NODE_OPTIONS"];
        let expected = [Some("/a:/b:/c"), Some("C.UTF-8"), None, Some("x"), Some("vi"), None];
        assert_eq!(names.map(of), expected);
        assert_eq!(now.search(), Some("/a:/b:/c".as_ref()));
    }

    #[test]
    fn an_assignment_needs_a_name_and_an_equals_sign() {
        assert_eq!(parsed("A=b=c".as_ref()), Some(("A".into(), "b=c".into())));
        assert_eq!(parsed("A=".as_ref()), Some(("A".into(), "".into())));
        assert_eq!((parsed("A".as_ref()), parsed("=b".as_ref())), (None, None));
    }

    #[test]
    fn the_hash_is_that_of_the_draft() {
        assert_eq!(hash(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash(b"a"), 0xaf63_dc4c_8601_ec8c);
    }
}
