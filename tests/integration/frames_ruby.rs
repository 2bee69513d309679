//! Functions, files and lines of Ruby in `firstbyte trace`.

use super::frames::{assert_share, row, sampled};
use super::support::{as_nobody, of_nobody, skipped, write_executable};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

const BURN: &str = "\
def spin(times)
  total = 0
  i = 0
  while i < times
    total += i % 7
    i += 1
  end
  total
end

def heavy(times)
  spin(7 * times)
end

class Light
  def light(times)
    spin(3 * times)
  end
end

def loops(times)
  total = i = j = 0
  while i < 7 * times
    total += (i += 1)
  end
  while j < 3 * times
    total += (j += 1)
  end
  total
end

def down(depth)
  depth > 0 ? down(depth - 1) : loops(60_000)
end

def work(rounds)
  rounds.times do
    heavy(2000)
    Light.new.light(2000)
  end
end
";

const APP: &str = "\
require_relative 'burn'
work(100)
loops(100_000)
down(200)
Thread.new { heavy(60_000) }.join
Process.wait(fork { heavy(60_000) })
puts 'done'
";

/// The interpreters of this machine, and those whose paths are in `FIRSTBYTE_RUBIES`, separated by colons.
fn interpreters() -> Vec<PathBuf> {
    let further = std::env::var_os("FIRSTBYTE_RUBIES").unwrap_or_default();
    let mut all: Vec<PathBuf> = std::env::split_paths(&further).collect();
    all.push(PathBuf::from("/usr/bin/ruby"));
    all.retain(|path| path.exists() && cfg!(target_arch = "x86_64"));
    if all.is_empty() {
        skipped("no Ruby whose frames are read here");
    }
    all
}

fn write_program(folder: &Path) {
    fs::write(folder.join("burn.rb"), BURN).unwrap();
    fs::write(folder.join("app.rb"), APP).unwrap();
}

#[test]
fn functions_of_ruby_have_their_file_their_lines_and_their_share() {
    for ruby in interpreters() {
        let folder = tempfile::tempdir().unwrap();
        write_program(folder.path());
        let [app, burn, shim, exported] =
            ["app.rb", "burn.rb", "shim", "stacks"].map(|name| folder.path().join(name));
        let command = format!("#!/bin/sh\nexec env {} --disable-gems {}\n", ruby.display(), app.display());
        write_executable(&shim, command, 0o755);
        let words = ["-r", "6", "--export-folded", exported.to_str().unwrap(), "--", shim.to_str().unwrap()];
        let Some(result) = sampled(&words) else { return };
        assert!(result["exit_codes"].as_array().unwrap().iter().all(|code| *code == 0));
        let context = ruby.to_str().unwrap();

        let [work, light, loops] = ["block in work", "light", "loops"].map(|name| row(&result, "Ruby", name));
        let total = |row: &Value| row["total_ns"].as_f64().unwrap();
        let samples = |row: &Value| row["samples"].as_f64().unwrap();
        assert_share(total(work) - total(light), total(light), samples(work), context);
        assert_eq!([work, light, loops].map(|it| it["line"].as_u64().unwrap()), [37, 16, 21], "{context}");
        assert_eq!([&light["file"], &light["module"]], [burn.to_str().unwrap(); 2], "{context}");

        let lines = loops["lines"].as_array().unwrap();
        let on = |wanted: [u64; 2]| -> f64 {
            let on = lines.iter().filter(|it| wanted.contains(&it["line"].as_u64().unwrap()));
            on.map(|it| it["ns"].as_f64().unwrap()).sum()
        };
        let (first, second) = (on([23, 24]), on([26, 27]));
        assert_share(first, second, samples(loops), context);
        assert!(first + second > 0.95 * loops["self_ns"].as_f64().unwrap(), "{context}: {lines:?}");

        let stacks = fs::read_to_string(&exported).unwrap();
        // from 3.3 on, `times` is a function of Ruby
        let chain = ";block in work (burn.rb:37);light (burn.rb:16);spin (burn.rb:1)";
        assert!(stacks.contains(chain), "{context}: {stacks}");
        assert!(stacks.contains(";<main> (app.rb:1);work (burn.rb:36);"), "{context}: {stacks}");
        let deep =
            ";<main> (app.rb:1)".to_owned() + &";down (burn.rb:32)".repeat(201) + ";loops (burn.rb:21)";
        assert!(stacks.contains(&deep), "{context}: no recursion\n{stacks}");
        assert!(
            stacks.contains(";block in <main> (app.rb:5);heavy (burn.rb:11)"),
            "{context}: a thread\n{stacks}"
        );
        assert!(
            stacks.contains(";block in <main> (app.rb:6);heavy (burn.rb:11)"),
            "{context}: a fork\n{stacks}"
        );
        eprintln!("{context}: {} samples", result["sampling"]["samples"]);
    }
}

#[test]
fn an_ordinary_user_gets_functions_of_ruby_too() {
    let Some(ruby) = interpreters().pop() else { return };
    let Some(folder) = of_nobody() else { return };
    write_program(folder.path());
    let words = ["./firstbyte", "trace", "--no-overhead", "-r", "3", "--export-json", "-", "--"];
    let words = [&words[..], &[ruby.to_str().unwrap(), "app.rb"]].concat();
    let output = as_nobody(folder.path(), &words).output().unwrap();
    let result =
        serde_json::from_slice::<Value>(&output.stdout).map(|document| document["results"][0].clone());
    match result.ok().filter(|result| !result["sampling"].is_null()) {
        Some(result) => assert_eq!(row(&result, "Ruby", "light")["line"], 16),
        None => skipped("that user may not sample"),
    }
}
