//! Recordings: an accepted one has an account, or an error says why not. The account can be shown and exported.
#![no_main]

use firstbyte::analysis::binaries::{Binaries, MemoryLayout};
use firstbyte::analysis::{Account, Summary, named_spans};
use firstbyte::report::formats::{firefox, perfetto};
use firstbyte::report::text::terminal::Terminal;
use firstbyte::report::text::trace;
use firstbyte_measure::timeline::marks::Marks;
use firstbyte_measure::tracer::module::Module;
use firstbyte_measure::tracer::replay;
use std::rc::Rc;
use std::sync::Arc;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Ok(loaded) = replay::read("fuzz", bytes) else { return };
    let files = Recorded(loaded.modules.unwrap_or_default());
    let Ok(account) = Account::of(&loaded.recording, &files) else { return };
    let self_times: u64 = account.steps.iter().map(|step| step.self_time.0).sum();
    assert_eq!(self_times, account.total.0, "the steps do not sum to the total");
    if let Ok(marks) = Marks::of(&loaded.recording) {
        let chained: u64 = marks.chain.iter().map(|span| span.to.0 - span.from.0).sum();
        assert!(
            marks.chain.is_empty() || chained == account.total.0,
            "plain marks do not partition the total"
        );
        let spans = named_spans::named_spans(&[marks], 0);
        perfetto::render("fuzz", &account, &spans);
        firefox::render("fuzz", &account, &spans, None);
    }

    let text = Summary::of(vec![account])
        .map(|summary| trace::timeline(&summary, &Terminal { width: 80, height: 24, colour: false }));
    assert!(!text.is_some_and(|text| text.contains('\u{1b}')));
});

/// Reads no file of this machine.
struct Recorded(Vec<Module>);

impl Binaries for Recorded {
    fn layout(&self, path: &str) -> Option<Rc<MemoryLayout>> {
        self.0.iter().find(|module| module.path == path).map(|module| Rc::new(module.layout.clone()))
    }

    fn function(&self, _path: &str, _offset: u64) -> Option<Arc<str>> {
        None
    }
}
