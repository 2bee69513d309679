//! What the dynamic loader charges per mapped library and per relocation. Needs a C compiler.
//!
//! The programs of a pair differ in one thing: one has eight libraries that export one function each, the other none;
//! one has pages with 512 pointers to relocate, the other with one pointer. Both are run in the same rounds.

use super::batch::{BatchResult, Microbenchmark};
use super::spawn::{How, Spawn, SpawnedProgram};
use crate::document::floor::{Figure, Group, Missing};
use firstbyte_measure::launch::find_in_path;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

// The names of the figures.
pub(super) const LIBRARY: &str = "shared library, mapped and linked";
pub(super) const RELATIVE: &str = "relocation, relative";
pub(super) const SYMBOLIC: &str = "relocation, by symbol";

const LIBRARIES: u32 = 8;
const PAGES: u32 = 40;
const POINTERS_A_PAGE: u32 = 512;
const SYMBOLS: u32 = 2000;

/// The pairs, to be measured together.
pub(super) struct Pairs {
    /// Two for each pair, the more expensive one first.
    pub(super) benchmarks: Vec<Microbenchmark>,
    /// Name, how many more things the expensive one has, and a note.
    differences: Vec<(&'static str, u32, &'static str)>,
    missing: Vec<Missing>,
}

/// Compiles both programs of a pair.
type Compile = fn(&Compiler) -> Compiled;

type Compiled = Result<(PathBuf, PathBuf), String>;

impl Pairs {
    /// Compiles the programs into `folder`.
    pub(super) fn new(folder: &Path) -> Pairs {
        let compiler = Compiler::find(folder);
        let mut pairs = Pairs { benchmarks: Vec::new(), differences: Vec::new(), missing: Vec::new() };
        let all: [(&'static str, u32, &'static str, Compile); 3] = [
            (LIBRARY, LIBRARIES, "one exported function; its page faults are included", Compiler::libraries),
            (
                RELATIVE,
                PAGES * (POINTERS_A_PAGE - 1),
                "without the page fault that the first one in each page causes",
                Compiler::relative,
            ),
            (
                SYMBOLIC,
                SYMBOLS,
                "extra cost over a relative one; each looks up another symbol",
                Compiler::symbolic,
            ),
        ];

        for (name, more, note, compile) in all {
            match compiler.as_ref().map_err(Clone::clone).and_then(compile).and_then(benchmarks) {
                Ok(both) => {
                    pairs.benchmarks.extend(both);
                    pairs.differences.push((name, more, note));
                }
                Err(reason) => {
                    pairs.missing.push(Missing { group: Group::Faults, name: name.to_owned(), reason });
                }
            }
        }
        pairs
    }

    /// The differences, per library or relocation.
    pub(super) fn answers(self, results: &[BatchResult]) -> (Vec<Figure>, Vec<Missing>) {
        let (mut figures, mut missing) = (Vec::new(), self.missing);
        for ((name, more, note), both) in self.differences.iter().zip(results.chunks_exact(2)) {
            match (&both[0], &both[1]) {
                (Ok(expensive), Ok(cheap)) => {
                    let pairs = expensive.per_call.iter().zip(&cheap.per_call);
                    let each = |(expensive, cheap): (&f64, &f64)| (expensive - cheap) / f64::from(*more);
                    let samples = pairs.map(each).collect();
                    let figure = Figure::from_samples(Group::Faults, name, samples);
                    figures.extend(figure.map(|figure| Figure { calls: *more, ..figure }.note(Some(note))));
                }
                (Err(reason), _) | (_, Err(reason)) => {
                    let (name, reason) = ((*name).to_owned(), reason.clone());
                    missing.push(Missing { group: Group::Faults, name, reason });
                }
            }
        }
        (figures, missing)
    }
}

fn benchmarks((expensive, cheap): (PathBuf, PathBuf)) -> Result<[Microbenchmark; 2], String> {
    let spawned = |path: PathBuf| {
        let program = SpawnedProgram::new(&path, &[path.as_os_str()]);
        let spawn = program.and_then(|program| Spawn::executing(How::Vfork, program));
        spawn.map(|spawn| Microbenchmark::new("pair", spawn)).map_err(|error| error.to_string())
    };
    Ok([spawned(expensive)?, spawned(cheap)?])
}

/// The C compiler and its output folder.
struct Compiler {
    path: PathBuf,
    folder: PathBuf,
}

impl Compiler {
    fn find(folder: &Path) -> Result<Compiler, String> {
        let found = ["gcc", "cc", "clang"].into_iter().find_map(find_in_path);
        let path = found.ok_or("there is no C compiler in PATH")?;
        Ok(Compiler { path, folder: folder.to_owned() })
    }

    /// Compiles a source into a program of the same name.
    fn compile(&self, name: &str, source: &str, options: &[&str]) -> Result<PathBuf, String> {
        let (input, output) = (self.folder.join(format!("{name}.c")), self.folder.join(name));
        fs::write(&input, source).map_err(|error| error.to_string())?;
        let done = Command::new(&self.path)
            .args(["-O1", "-w"])
            .arg(&input)
            .arg("-o")
            .arg(&output)
            .args(options)
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("`{}`: {error}", self.path.display()))?;

        if done.status.success() {
            return Ok(output);
        }
        let said = String::from_utf8_lossy(&done.stderr);
        let first = said.lines().find(|line| line.contains("error")).unwrap_or("no message").to_owned();
        Err(format!("`{}` failed: {first}", self.path.display()))
    }

    /// The soname is the file name without a folder, so that programs find the library along their own run path.
    fn library(&self, name: &str, source: &str) -> Result<(), String> {
        self.compile(name, source, &["-shared", "-fPIC", &format!("-Wl,-soname,{name}")]).map(drop)
    }

    fn libraries(&self) -> Compiled {
        let mut options = vec!["-Wl,--no-as-needed".to_owned(), "-Wl,-rpath,$ORIGIN".to_owned()];
        for index in 0..LIBRARIES {
            let name = format!("libfloor{index}.so");
            let source = format!("int firstbyte_{index}(void) {{ return {index}; }}\n");
            self.library(&name, &source)?;
            options.push(format!("./{name}"));
        }

        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let empty = "int main(void) { return 0; }\n";
        Ok((self.compile("libraries", empty, &options)?, self.compile("no-libraries", empty, &[])?))
    }

    fn relative(&self) -> Compiled {
        let table = |pointers: u32| {
            let pad = (POINTERS_A_PAGE - pointers) * 8;
            let pad = if pad > 0 { format!("char pad[{pad}];") } else { String::new() };
            let row = "{ { ".to_owned() + &"&x, ".repeat(pointers as usize) + "} },\n";
            let rows = row.repeat(PAGES as usize);
            format!(
                "static int x;\nstruct page {{ int *pointers[{pointers}]; {pad} }};\n\
                 struct page pages[] __attribute__((aligned(4096))) = {{\n{rows}}};\n\
                 int main(void) {{ return 0; }}\n"
            )
        };
        let pie = ["-fPIE", "-pie"];
        Ok((
            self.compile("relocations", &table(POINTERS_A_PAGE), &pie)?,
            self.compile("no-relocations", &table(1), &pie)?,
        ))
    }

    fn symbolic(&self) -> Compiled {
        let mut library = String::new();
        let (mut extern_, mut by_symbol) = (String::new(), String::new());
        for index in 0..SYMBOLS {
            let _ = writeln!(library, "int firstbyte_symbol_{index}(void) {{ return {index}; }}");
            let _ = writeln!(extern_, "extern int firstbyte_symbol_{index}(void);");
            let _ = writeln!(by_symbol, "(void *)firstbyte_symbol_{index},");
        }
        self.library("libsymbols.so", &library)?;

        let relative = "(void *)&x,\n".repeat(SYMBOLS as usize);
        let program = |table: &str| {
            format!(
                "{extern_}static int x;\nvoid *table[] = {{\n{table}}};\nint main(void) {{ return 0; }}\n"
            )
        };
        let options = ["-fPIE", "-pie", "-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN", "./libsymbols.so"];
        Ok((
            self.compile("symbols", &program(&by_symbol), &options)?,
            self.compile("no-symbols", &program(&relative), &options)?,
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use object::{Object, ObjectSection};

    fn relocations(path: &Path) -> u64 {
        let bytes = fs::read(path).unwrap();
        let file = object::File::parse(bytes.as_slice()).unwrap();
        let section = file.section_by_name(".rela.dyn").expect("relocations");
        section.size() / 24
    }

    #[test]
    fn the_programs_of_a_pair_differ_by_the_relocations_that_the_time_is_divided_by() {
        let folder = tempfile::tempdir().unwrap();
        let compiler = match Compiler::find(folder.path()) {
            Ok(compiler) => compiler,
            Err(why) => return eprintln!("skipped: {why}"),
        };
        let (many, few) = compiler.relative().unwrap();
        assert_eq!(relocations(&many) - relocations(&few), u64::from(PAGES * (POINTERS_A_PAGE - 1)));
        let (by_symbol, relative) = compiler.symbolic().unwrap();
        assert_eq!(relocations(&by_symbol), relocations(&relative));
        let (libraries, none) = compiler.libraries().unwrap();
        for program in [many, few, by_symbol, relative, libraries, none] {
            assert!(Command::new(&program).status().unwrap().success(), "{}", program.display());
        }
    }
}
