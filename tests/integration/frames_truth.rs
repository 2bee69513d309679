//! Functions, files and lines of programs whose truth is known, in `firstbyte trace`: the same program in each language.

mod programs;

use self::programs::{ALL, Truth};
use super::frames::{assert_share, chosen, row, sampled};
use super::support::{as_nobody, of_nobody, skipped, write_executable};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

impl Truth {
    /// Those whose paths are in the variable, separated by colons; without it, that of this machine.
    fn interpreters(&self) -> Vec<PathBuf> {
        let mut all = chosen(self.variable).unwrap_or_else(|| vec![PathBuf::from(self.interpreter)]);
        all.retain(|path| path.exists() && cfg!(target_arch = "x86_64"));
        if all.is_empty() {
            skipped(&format!("no {} whose frames are read here", self.language));
        }
        all
    }

    /// Whether the program is there.
    fn write(&self, interpreter: &Path, folder: &Path) -> bool {
        for (name, text) in self.files {
            fs::write(folder.join(name), text).unwrap();
        }
        let is_ready = self.prepare.is_none_or(|prepare| prepare(interpreter, folder));
        if !is_ready {
            skipped(&format!("{} cannot be prepared", self.language));
        }
        is_ready
    }

    fn words(&self, interpreter: &Path, folder: &Path, options: &str) -> String {
        let words = format!("{} {options} {}", interpreter.display(), self.program);
        words.replace("FOLDER", folder.to_str().unwrap())
    }

    /// What is traced, and the stacks, one in each line.
    fn traced(&self, interpreter: &Path, folder: &Path, options: &str) -> Option<(Value, String)> {
        let (shim, exported) = (folder.join("shim"), folder.join("stacks"));
        let command = format!("#!/bin/sh\nexec env {}\n", self.words(interpreter, folder, options));
        write_executable(&shim, command, 0o755);
        let words = ["-r", "6", "--export-folded", exported.to_str().unwrap(), "--", shim.to_str().unwrap()];
        let result = sampled(&words)?;
        assert!(result["exit_codes"].as_array().unwrap().iter().all(|code| *code == 0));
        Some((result, fs::read_to_string(&exported).unwrap()))
    }

    /// The function that calls both parts, and the smaller part.
    fn assert_share(&self, result: &Value, context: &str) {
        let [work, light] = [self.work, self.light].map(|name| row(result, self.language, name));
        let total = |row: &Value| row["total_ns"].as_f64().unwrap();
        assert_share(total(work) - total(light), total(light), samples(work), context);
    }

    fn assert_lines(&self, result: &Value, context: &str) {
        let [work, light, loops] =
            [self.work, self.light, self.loops].map(|name| row(result, self.language, name));
        let defined = [work, light, loops].map(|it| it["line"].as_u64().unwrap());
        assert_eq!(defined, self.defined, "{context}");
        let file = Path::new(light["file"].as_str().unwrap());
        assert_eq!(file.file_name().unwrap(), self.files[0].0, "{context}");
        assert_eq!(light["file"], light["module"], "{context}: own code");

        let lines = loops["lines"].as_array().unwrap();
        let on = |wanted: [u64; 2]| -> f64 {
            let on = lines.iter().filter(|it| wanted.contains(&it["line"].as_u64().unwrap()));
            on.map(|it| it["ns"].as_f64().unwrap()).sum()
        };
        let [first, second] = self.loop_lines.map(on);
        assert_share(first, second, samples(loops), context);
        let [own, all] = ["self_ns", "total_ns"].map(|time| loops[time].as_f64().unwrap());
        assert!(first + second > 0.95 * own, "{context}: {lines:?}");
        // only what the interpreter needs for it is called, such as `malloc`
        assert!(own > 0.5 * all, "{context}: {own} of {all} ns");
    }

    fn assert_stacks(&self, stacks: &str, context: &str) {
        for stack in self.stacks {
            assert!(stacks.contains(stack), "{context}: no {stack}\n{stacks}");
        }
        let [outer, repeated, inner] = self.recursion;
        let deep = outer.to_owned() + &repeated.repeat(201) + inner;
        assert!(stacks.contains(&deep), "{context}: no recursion\n{stacks}");
    }
}

fn samples(row: &Value) -> f64 {
    row["samples"].as_f64().unwrap()
}

#[test]
#[ignore = "samples for minutes, and needs the processors: `make frames` and `make proofs` run it alone"]
fn functions_have_their_file_their_lines_and_their_share() {
    for truth in &ALL {
        for interpreter in truth.interpreters() {
            let folder = tempfile::tempdir().unwrap();
            if !truth.write(&interpreter, folder.path()) {
                continue;
            }
            let Some((result, stacks)) = truth.traced(&interpreter, folder.path(), truth.options) else {
                return;
            };
            let context = interpreter.to_str().unwrap();
            truth.assert_share(&result, context);
            truth.assert_lines(&result, context);
            truth.assert_stacks(&stacks, context);
            eprintln!("true: {} {context}: {} samples", truth.language, result["sampling"]["samples"]);
        }
    }
}

#[test]
#[ignore = "samples for minutes, and needs the processors: `make frames` and `make proofs` run it alone"]
fn functions_of_compiled_code_have_their_share() {
    for truth in &ALL {
        let Some(all_options) = truth.compiled else { continue };
        for interpreter in truth.interpreters() {
            let folder = tempfile::tempdir().unwrap();
            if !truth.write(&interpreter, folder.path()) {
                continue;
            }
            for (options, is_inlined) in all_options.into_iter().zip([false, true]) {
                let Some((result, stacks)) = truth.traced(&interpreter, folder.path(), options) else {
                    return;
                };
                let context = format!("{} {options}", interpreter.display());
                if is_inlined {
                    // not each instruction is known, but nearly all are of the functions inside
                    let work = row(&result, truth.language, truth.work);
                    let [own, all] = ["self_ns", "total_ns"].map(|time| work[time].as_f64().unwrap());
                    assert!(own < 0.2 * all, "{context}: {work:?}");
                } else {
                    truth.assert_share(&result, &context);
                }
                assert!(stacks.contains(truth.stacks[0]), "{context}: no {}\n{stacks}", truth.stacks[0]);
            }
        }
    }
}

#[test]
#[ignore = "samples for minutes, and needs the processors: `make frames` and `make proofs` run it alone"]
fn an_ordinary_user_gets_functions_too() {
    for truth in &ALL {
        let Some(interpreter) = truth.interpreters().pop() else { continue };
        let Some(folder) = of_nobody() else { return };
        if !truth.write(&interpreter, folder.path()) {
            continue;
        }
        let program = truth.words(&interpreter, folder.path(), truth.options);
        let words = ["./firstbyte", "trace", "--no-overhead", "-r", "3", "--export-json", "-", "--"];
        let words: Vec<&str> = words.into_iter().chain(program.split_whitespace()).collect();
        let output = as_nobody(folder.path(), &words).output().unwrap();
        let result =
            serde_json::from_slice::<Value>(&output.stdout).map(|document| document["results"][0].clone());
        match result.ok().filter(|result| !result["sampling"].is_null()) {
            Some(result) => assert_eq!(row(&result, truth.language, truth.light)["line"], truth.defined[1]),
            None => skipped("that user may not sample"),
        }
    }
}
