//! The records of the BPF programs: any bytes give a recording, and a recording an account or an error.
#![no_main]

use firstbyte::analysis::Account;
use firstbyte::analysis::binaries::NoBinaries;
use firstbyte_measure::timeline::Timeline;
use firstbyte_measure::tracer::bpf::fuzzed;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = Timeline::of(&fuzzed::phases(bytes));
    if let Ok(account) = Account::of(&fuzzed::full(bytes), &NoBinaries) {
        let self_times: u64 = account.steps.iter().map(|step| step.self_time.0).sum();
        assert_eq!(self_times, account.total.0, "the steps do not sum to the total");
    }
});
