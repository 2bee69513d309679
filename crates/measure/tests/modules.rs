//! The table of modules in the README is true.

use std::fs;
use std::path::{Path, PathBuf};

#[test]
fn a_module_uses_only_modules_above_it_in_the_table() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let table = include_str!("../README.md").split_once("\n## Modules\n").unwrap().1;
    let order: Vec<&str> =
        table.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();

    for (index, module) in order.iter().enumerate() {
        for path in files(&source, module) {
            let text = fs::read_to_string(&path).unwrap();
            let below = order[index + 1..].iter().find(|below| text.contains(&format!("crate::{below}")));
            assert_eq!(below, None, "{}", path.display());
        }
    }

    let declared = include_str!("../src/lib.rs").lines().filter_map(|line| line.strip_prefix("pub mod "));
    let mut declared: Vec<&str> = declared.map(|name| name.trim_end_matches(';')).collect();
    let mut listed = order.clone();
    declared.sort_unstable();
    listed.sort_unstable();
    assert_eq!(listed, declared);
}

/// `module.rs`, or all files of the folder `module`.
fn files(source: &Path, module: &str) -> Vec<PathBuf> {
    let (mut found, mut folders) = (vec![source.join(format!("{module}.rs"))], vec![source.join(module)]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found.retain(|path| path.is_file() && path.extension().is_some_and(|extension| extension == "rs"));
    found
}
