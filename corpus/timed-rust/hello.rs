// timed_hello of Hello World Overdone: times the first and the hundredth print, and two readings of the clock itself.
// The marker bypasses std::io::stdout, which must not be set up before the first print.
use std::fs::File;
use std::io::Write;
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd;
use std::time::Instant;

fn main() {
    let mut clock = u128::MAX;
    for _ in 0..100 {
        clock = clock.min(Instant::now().elapsed().as_nanos());
    }
    let mut raw = ManuallyDrop::new(unsafe { File::from_raw_fd(1) });
    raw.write_all(b">>>> before print >>>>>\n").unwrap();
    let (mut first, mut hundredth) = (0, 0);
    for i in 1..=100 {
        let start = Instant::now();
        println!("hello world");
        let taken = start.elapsed().as_nanos();
        if i == 1 {
            first = taken;
        }
        hundredth = taken;
    }
    eprintln!("first {first} ns, hundredth {hundredth} ns, clock {clock} ns");
}
