//! The page for users of screen readers and keyboards, by the rules of axe-core.

use super::{Opened, SECTIONS, documents, open, skipped};
use headless_chrome::protocol::cdp::Emulation;
use std::path::Path;

/// axe-core, from `make test`, which installs the version in `package-lock.json`.
fn axe() -> Option<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("node_modules/axe-core/axe.min.js");
    let script = std::fs::read_to_string(&file).ok();
    if script.is_none() {
        skipped(&format!("no {}: npm ci --prefix tests/browser", file.display()));
    }
    script
}

/// The violations of the accessibility rules in the section that is shown.
fn violations(opened: &Opened) -> Vec<String> {
    let found = opened.tab.evaluate(
        "axe.run(document, {preload: false, resultTypes: ['violations']}).then(({violations}) => JSON.stringify(violations \
         .filter(({impact}) => impact === 'serious' || impact === 'critical') \
         .map(({id, nodes}) => `${id}: ${nodes.slice(0, 3).map((node) => node.html).join(' ')}`)))",
        true,
    );
    let found = found.unwrap().value.unwrap();
    serde_json::from_str(found.as_str().unwrap()).unwrap()
}

#[test]
fn a_screen_reader_finds_its_way_through_every_section_in_light_and_dark() {
    let Some(opened) = open(&documents::all()) else { return };
    let Some(axe) = axe() else { return };
    opened.run(&axe);
    let mut all = Vec::new();
    for scheme in ["light", "dark"] {
        let scheme =
            Emulation::MediaFeature { name: "prefers-color-scheme".to_owned(), value: scheme.to_owned() };
        let media = Emulation::SetEmulatedMedia { media: None, features: Some(vec![scheme.clone()]) };
        opened.tab.call_method(media).unwrap();
        for id in SECTIONS {
            opened.click(&format!("nav.tabs a[href='#{id}']"));
            opened.next_frame();
            all.extend(
                violations(&opened).into_iter().map(|found| format!("{} {id}: {found}", scheme.value)),
            );
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}
