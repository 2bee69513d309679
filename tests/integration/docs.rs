//! README and docs: links lead somewhere, and figures are those of the results.

use crate::support::skipped;
use firstbyte::claims::Post;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

fn pages() -> Vec<PathBuf> {
    let files = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "scripts/figures/README.md"];
    let files = files.into_iter().map(|file| Path::new(ROOT).join(file));
    let folders = ["docs", "docs/history"].into_iter().flat_map(|folder| {
        let entries = fs::read_dir(Path::new(ROOT).join(folder)).unwrap();
        entries.map(|entry| entry.unwrap().path())
    });
    files.chain(folders).filter(|path| path.extension().is_some_and(|ending| ending == "md")).collect()
}

/// The text of a page without its blocks of code.
fn prose(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let parts = text.split("\n```").enumerate().filter(|(number, _)| number % 2 == 0);
    parts.map(|(_, part)| part).collect()
}

/// The targets of links and pictures, without those that lead to other sites.
fn links(prose: &str) -> Vec<&str> {
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    targets.map(|(target, _)| target).filter(|target| !target.contains("://")).collect()
}

/// The anchors that the headings of a page get, as GitHub makes them.
fn anchors(prose: &str) -> BTreeSet<String> {
    let headings = prose.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#').trim())).collect()
}

fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect::<String>().to_lowercase()
}

/// Whether the target of a link of this page exists.
fn leads_somewhere(page: &Path, target: &str) -> bool {
    let (file, heading) = target.split_once('#').unwrap_or((target, ""));
    let path = if file.is_empty() { page.to_owned() } else { page.parent().unwrap().join(file) };
    path.exists() && (heading.is_empty() || anchors(&prose(&path)).contains(heading))
}

#[test]
fn every_link_leads_somewhere() {
    let mut dead = Vec::new();
    for page in pages() {
        let prose = prose(&page);
        let missing = links(&prose).into_iter().filter(|target| !leads_somewhere(&page, target));
        dead.extend(missing.map(|target| format!("{}: {target}", page.display())));
    }
    assert!(dead.is_empty(), "{}", dead.join("\n"));
}

/// What the pages call each post, and its section in docs/findings.md.
const POSTS: [(&str, &str); 5] = [
    ("Hello World Overdone", "hello-world-utterly-overdone"),
    ("Startup Showdown", "startup-showdown"),
    ("Response to Response", "a-response-to-response-to-hello-world"),
    ("Print Benchmark", "print-benchmark"),
    ("C Runtime Overhead", "c-runtime-overhead"),
];

#[test]
fn every_paragraph_that_names_a_post_has_a_link_to_what_is_known_about_it() {
    let mut unlinked = Vec::new();
    for page in
        pages().into_iter().filter(|page| !page.ends_with("claims.md") && !page.ends_with("findings.md"))
    {
        let prose = prose(&page);
        for paragraph in prose.split("\n\n") {
            let flowing = paragraph.replace('\n', " ");
            let named = POSTS.iter().filter(|(name, _)| flowing.contains(name));
            let bare = named.filter(|(_, section)| !flowing.contains(&format!("findings.md#{section})")));
            unlinked.extend(bare.map(|(name, _)| format!("{}: {name}", page.display())));
        }
    }
    assert!(unlinked.is_empty(), "{}", unlinked.join("\n"));
}

#[test]
fn the_findings_credit_each_post_as_the_program_does() {
    let findings = prose(&Path::new(ROOT).join("docs/findings.md")).replace('\n', " ");
    for post in Post::ALL {
        let title = post
            .address()
            .map_or(format!("\"{}\"", post.title()), |address| format!("[{}]({address})", post.title()));
        let credited = [title.clone() + ", " + &post.credit(), title + ", published " + &post.credit()];
        assert!(credited.iter().any(|credit| findings.contains(credit)), "{credited:?}");
    }
}

#[test]
fn the_index_leads_to_every_page() {
    let index = Path::new(ROOT).join("docs/README.md");
    let prose = prose(&index);
    let listed: BTreeSet<&str> = links(&prose).iter().filter_map(|target| target.split('#').next()).collect();
    let docs = pages().into_iter().filter(|page| page.parent() == index.parent() && *page != index);
    let names = docs.map(|page| page.file_name().unwrap().to_str().unwrap().to_owned());
    let missing: Vec<String> = names.filter(|name| !listed.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "docs/README.md has no link to {missing:?}");
}

#[test]
fn tables_have_the_figures_of_the_results() {
    if firstbyte_measure::launch::find_in_path("python3").is_none() {
        return skipped("`python3` is missing");
    }
    let output = Command::new("python3")
        .args(["-B", "scripts/figures/fill", "--check"])
        .current_dir(ROOT)
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
}
