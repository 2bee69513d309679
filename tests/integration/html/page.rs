//! The pages that `report` and `--html` write, and the files that they refuse.

use super::{documents, firstbyte, page};
use std::fs;
use std::path::Path;

/// The page must load nothing else, and forbid the browser to do so.
fn assert_self_contained(page: &str) {
    assert!(page.contains("default-src 'none'"));
    for outside in ["src=\"http", "href=\"http", "src=\"//", "@import", "url(http", "<link rel=\"stylesheet"]
    {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn a_page_of_every_kind_of_document_has_every_section_and_loads_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let page = page(folder.path(), &documents::all());
    for section in
        ["programs", "distributions", "timelines", "diff", "floor", "throughput", "elf", "claims", "watch"]
    {
        assert!(page.contains(&format!("<section id=\"{section}\"")), "{section}");
    }
    let place = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}"));
    let sections =
        ["<section id=\"summary\"", "<section id=\"programs\"", "<section id=\"about\"", "</main>"];
    assert!(sections.map(place).is_sorted(), "the answer is first, and how it was measured is last");
    assert_self_contained(&page);
    for text in
        ["A Processor", "other programs were busy", "1.01 to 1.05", "no compiler", "does not hold here"]
    {
        assert!(page.contains(text), "{text}");
    }
    let prints = ["The first and the hundredth print", "C puts", "first newfstatat, write; hundredth write"];
    assert!(prints.iter().all(|text| page.contains(text)), "the prints of the floor");
    assert!(page.contains("data-cache=\"cold\"") && page.contains("Warm against cold"));
}

#[test]
fn the_page_opens_on_a_sentence_for_each_document_and_says_if_there_are_warnings() {
    let folder = tempfile::tempdir().unwrap();
    let page = page(folder.path(), &documents::all());
    for sentence in [
        "<code>beta</code> is slower than <code>alpha</code> by first byte: 4.00 × (3.90 to 4.10); 400 µs against 100 µs.",
        "<code>one</code>: first byte after 420 µs, exit after 600 µs; 50 % system calls. one could be faster.",
        "a shell takes 1.00 ms; a write takes 250 ns.",
        "<code>ours</code> prints 2000000 lines to pipe-read in 2.00 ms, 1.50 times (1.40 to 1.60) as fast as <code>plain</code>.",
        "An executable of 5 bytes for x86-64.",
        "<code>make -j2</code>: wall time 2.00 s, CPU time 3.00 s (1.50 processors).",
        "2 claims: 1 holds, 1 does not hold here, 0 cannot be tested here.",
    ] {
        assert!(page.contains(sentence), "{sentence}");
    }
    assert!(page.contains("<a class=\"badge\" href=\"#about\">1 warning</a>"), "the badge");
    assert!(page.contains("class=\"interval slower\""), "the verdict as a picture");
    assert!(page.contains("Critical path: who worked while the others waited"));
}

#[test]
fn only_what_was_measured_together_is_said_to_have_alternated() {
    let folder = tempfile::tempdir().unwrap();
    let traces = [("one.json", documents::trace("one", 30)), ("two.json", documents::trace("two", 30))];
    let page = page(folder.path(), &traces);
    assert!(!page.contains("interleaved in a seeded random order"));
    assert!(page.contains("Each trace on this page was made on its own"));
    let one = super::page(folder.path(), &traces[..1]);
    assert!(!one.contains("Each trace on this page was made on its own"));
}

#[test]
fn foreign_text_stays_text_in_the_page() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = vec![("hostile.json", documents::hostile())];
    for (index, name) in documents::HOSTILE.iter().enumerate() {
        let file: &'static str = ["0.json", "1.json", "2.json", "3.json", "4.json", "5.json"][index];
        all.push((file, documents::trace(name, 30)));
    }
    let others = documents::all_hostile();
    all.extend(others.iter().map(|(file, document)| (file.as_str(), document.clone())));
    let page = page(folder.path(), &all);
    for markup in ["<script>window", "<img", "<svg onload", "onmouseover=\"window", "<!--"] {
        assert!(!page.contains(markup), "{markup}");
    }
    // Only its own script, and data that no browser runs.
    let scripts = page.matches("<script>").count();
    let data = page.matches("<script type=\"application/json\"").count();
    assert_eq!((scripts, page.matches("<script").count()), (1, 1 + data));
    assert!(page.contains("&lt;script&gt;window.injected = 1&lt;/script&gt;"), "escaped, not dropped");
    assert!(page.contains("{{ 7 * 7 }}"), "names are not templates");
    for unseen in ['\u{2028}', '\u{202e}', '\u{1b}', '\0'] {
        let place = page.find(unseen).map(|at| page[at.saturating_sub(400)..at].to_owned());
        assert_eq!(place, None, "{unseen:?}");
    }
}

#[test]
fn a_corpus_of_large_traces_stays_below_five_megabytes_and_says_which_steps_were_merged() {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..30).map(|index| format!("{index}.json")).collect();
    let mut all: Vec<(&str, _)> =
        names.iter().map(|name| (name.as_str(), documents::trace(name, 8_000))).collect();
    let showdown = Path::new(env!("CARGO_MANIFEST_DIR")).join("results/2026-11-27-epyc-kvm/showdown.json");
    all.push(("showdown.json", serde_json::from_str(&fs::read_to_string(showdown).unwrap()).unwrap()));
    let page = page(folder.path(), &all);
    assert!(page.len() < 5_000_000, "{}", page.len());
    assert!(page.contains("are combined: 8000 became"));
}

#[test]
fn a_file_that_cannot_be_shown_is_named_and_refused_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("newer.json"), r#"{"schema": "firstbyte/9", "results": []}"#).unwrap();
    fs::write(folder.path().join("other.json"), r#"{"schema": "firstbyte/1", "tool": {"name": "x"}}"#)
        .unwrap();
    fs::write(folder.path().join("binary.json"), [0xff, 0xfe, 0]).unwrap();
    for (file, cause) in [
        ("newer.json", "newer than"),
        ("other.json", "missing field"),
        ("binary.json", "UTF-8"),
        ("none", "No such file"),
    ] {
        let output = firstbyte(folder.path(), &["report", file]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.contains(&format!("`{file}`")) && said.contains(cause) && said.contains("\nhelp: "),
            "{said}"
        );
    }
    assert!(!folder.path().join("report.html").exists());
}

#[test]
fn charts_can_be_written_as_separate_pictures() {
    let folder = tempfile::tempdir().unwrap();
    for (name, document) in documents::all() {
        fs::write(folder.path().join(name), document.to_string()).unwrap();
    }
    let files = ["showdown.json", "floor.json", "throughput.json"];
    let output = firstbyte(folder.path(), &[&["report", "--plots", "plots"], &files[..]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for chart in ["phases", "distributions", "waterfall", "throughput", "throughput-log"] {
        let svg = fs::read_to_string(folder.path().join(format!("plots/{chart}.svg"))).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{chart}");
        let png = folder.path().join(format!("plots/{chart}.png"));
        assert_eq!(png.exists(), cfg!(feature = "png"));
        if cfg!(feature = "png") {
            let png = fs::read(png).unwrap();
            assert!(png.starts_with(b"\x89PNG") && png.len() > 5000, "{chart}");
        }
    }
    assert!(!folder.path().join("report.html").exists(), "only charts were asked for");
    let output = firstbyte(folder.path(), &["report", "--plots", "plots", "one.json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let phases = fs::read_to_string(folder.path().join("plots/trace-phases.svg")).unwrap();
    assert!(phases.contains("url(#pattern-setup)") && phases.contains("one"), "{phases}");

    let output = firstbyte(folder.path(), &["report", "--plots", "plots", "elf.json"]);
    assert_eq!(output.status.code(), Some(2));
    let output = firstbyte(folder.path(), &["report", "--plots", "plots", "-o", "page.html", "elf.json"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(folder.path().join("page.html").exists(), "the page needs no chart");
}

#[test]
fn showdown_floor_and_throughput_write_the_page_of_their_own_document() {
    let folder = tempfile::tempdir().unwrap();
    let showdown = &["showdown", "--backend", "pipe", "--only", "floor-elf", "--runs", "3"][..];
    let floor = &["floor", "--quick", "--only", "syscalls"][..];
    let throughput =
        &["throughput", "--n", "1000", "--sink", "null", "--only", "firstbyte lines", "--runs", "2"][..];
    for (command, section) in [(showdown, "programs"), (floor, "floor"), (throughput, "throughput")] {
        let output = firstbyte(folder.path(), &[command, &["--html", "page.html"]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let page = fs::read_to_string(folder.path().join("page.html")).unwrap();
        assert!(page.contains(&format!("<section id=\"{section}\"")), "{section}");
        assert_self_contained(&page);
    }
}

#[test]
fn bench_and_trace_write_the_page_of_their_own_document() {
    let folder = tempfile::tempdir().unwrap();
    let bench = ["bench", "--backend", "pipe", "-r", "3", "--html", "b.html", "true"];
    let trace = [
        "trace",
        "--backend",
        "ptrace",
        "-r",
        "1",
        "--no-overhead",
        "--html",
        "t.html",
        "--",
        "echo",
        "<b>hello",
    ];
    for (arguments, file, section) in
        [(&bench[..], "b.html", "distributions"), (&trace[..], "t.html", "timelines")]
    {
        let output = firstbyte(folder.path(), arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let page = fs::read_to_string(folder.path().join(file)).unwrap();
        assert!(page.contains(&format!("<section id=\"{section}\"")), "{file}");
        assert!(!page.contains("<b>hello"));
        assert_self_contained(&page);
    }
}

#[test]
fn a_page_of_one_document_opens_on_what_it_is_about() {
    let folder = tempfile::tempdir().unwrap();
    let opens_on = |page: &str, id: &str, within: &str| {
        let first = page.split("<section id=\"").nth(1).unwrap();
        assert!(first.starts_with(&format!("{id}\"")) && first.contains(within), "{id}: {first}");
    };
    opens_on(&page(folder.path(), &[("floor.json", documents::floor())]), "floor", "Waterfall: this machine");
    opens_on(
        &page(folder.path(), &[("claims.json", documents::claims())]),
        "claims",
        "C is 100 times faster",
    );

    let traced = page(folder.path(), &[("one.json", documents::trace("./one -x", 30))]);
    assert!(traced.contains("<title>firstbyte: trace of ./one -x</title>"));
    let place = |text: &str| traced.find(text).unwrap_or_else(|| panic!("{text}"));
    assert!(place("What would save time") < place("User code by caller and function"));
    let keys = |text: &str| {
        let list = traced[place(text)..].split("class=\"legend\"").nth(1).unwrap();
        list.split("</ul>").next().unwrap().to_owned()
    };
    assert!(keys("<figcaption>Where the time went").contains("> system calls</li>"), "a key of the kinds");
    assert!(keys("<figcaption>Phases").contains("fill-teardown"), "a key of the phases");
}

#[test]
fn two_files_are_drawn_on_one_scale_and_the_page_says_which_is_faster() {
    let folder = tempfile::tempdir().unwrap();
    let mut new = documents::showdown();
    for result in new["results"].as_array_mut().unwrap() {
        let samples = result["phases"]["total"]["samples"].as_array().unwrap().clone();
        let slower = |n: usize| serde_json::json!(samples[n % samples.len()].as_u64().unwrap() * 2);
        result["phases"]["total"]["samples"] = (0..20).map(slower).collect();
    }
    let mut old = documents::showdown();
    for result in old["results"].as_array_mut().unwrap() {
        let samples = result["phases"]["total"]["samples"].as_array().unwrap().clone();
        result["phases"]["total"]["samples"] = (0..20).map(|n| samples[n % samples.len()].clone()).collect();
    }
    let page = page(folder.path(), &[("old.json", old), ("new.json", new)]);
    let said = "<code>new</code> against <code>old</code>, 4 programs: 0 faster, 4 slower, 0 can&#39;t tell.";
    assert!(page.replace('\'', "&#39;").contains(said), "{}", &page[page.find("<main").unwrap()..][..3000]);
    assert_eq!(page.matches("<figcaption>Phases, medians").count(), 1, "one scale");
    assert!(page.contains("The new file compared with the old one"));
}
