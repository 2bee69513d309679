//! `firstbyte watch --listen`: what is served, and to whom. Many and slow clients do no harm.

use crate::prometheus::{LOOP, check_loop, firstbyte, works};
use crate::prometheus_page::Page;
use crate::tracees::built;
use flate2::read::GzDecoder;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

/// `firstbyte watch --listen`, and what it watches: the loop, which has done its work and waits.
pub(crate) struct Listening {
    child: Child,
    pub(crate) address: String,
}

impl Listening {
    pub(crate) fn start(options: &[&str]) -> Listening {
        let all = [&["--listen", "127.0.0.1:0"][..], options].concat();
        let mut command = firstbyte(&all, &["sh", "-c", LOOP]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let address = address(&mut child);
        let mut said = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut said).unwrap();
        assert_eq!(said, "done\n");
        Listening { child, address }
    }

    /// Lets the command end, and returns what firstbyte said.
    fn end(mut self) -> Output {
        drop(self.child.stdin.take());
        self.child.wait_with_output().unwrap()
    }

    fn scraped(&self) -> Page {
        Page::parse(&answer(&self.address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").body)
    }
}

/// Where it says that it listens.
fn address(child: &mut Child) -> String {
    let mut line = String::new();
    // Byte by byte: what follows is for others.
    let stderr = child.stderr.as_mut().unwrap();
    let mut byte = [0];
    while !line.ends_with('\n') && stderr.read(&mut byte).unwrap() == 1 {
        line.push(char::from(byte[0]));
    }
    let address = line.trim().strip_prefix("metrics: http://").and_then(|rest| rest.strip_suffix("/metrics"));
    address.unwrap_or_else(|| panic!("{line}")).to_owned()
}

pub(crate) struct Answer {
    pub(crate) head: String,
    pub(crate) bytes: Vec<u8>,
    pub(crate) body: String,
}

pub(crate) fn connected(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

/// Asks until somebody answers. A client that takes too long gets nothing, and on a busy machine each of them may.
pub(crate) fn answer(address: &str, request: &str) -> Answer {
    let asked = (0..20).find_map(|_| received(address, request).ok().filter(|all| !all.is_empty()));
    let all = asked.unwrap_or_else(|| panic!("no answer to {request}"));
    let end = all.windows(4).position(|window| window == b"\r\n\r\n").unwrap_or_else(|| panic!("{all:?}"));
    let (head, bytes) = (String::from_utf8(all[..end].to_vec()).unwrap(), all[end + 4..].to_vec());
    assert!(
        head.contains(&format!("Content-Length: {}", bytes.len())) || request.starts_with("HEAD"),
        "{head}"
    );
    let body = String::from_utf8_lossy(&bytes).into_owned();
    Answer { head, bytes, body }
}

fn received(address: &str, request: &str) -> io::Result<Vec<u8>> {
    let mut stream = connected(address);
    stream.write_all(request.as_bytes())?;
    let mut all = Vec::new();
    stream.read_to_end(&mut all)?;
    Ok(all)
}

#[test]
fn what_is_served_is_what_was_started_in_both_formats() {
    if !works() {
        return;
    }
    let watch = Listening::start(&[]);
    let ask = |headers: &str| answer(&watch.address, &format!("GET /metrics HTTP/1.1\r\n{headers}\r\n"));
    let older = ask("");
    assert!(older.head.contains("text/plain; version=0.0.4"), "{}", older.head);
    check_loop(&Page::parse(&older.body));

    let open = ask(
        "Accept: application/openmetrics-text;version=1.0.0;q=0.8,*/*;q=0.1\r\nAccept-Encoding: gzip\r\n",
    );
    assert!(open.head.contains("application/openmetrics-text; version=1.0.0"), "{}", open.head);
    let mut text = String::new();
    GzDecoder::new(&open.bytes[..]).read_to_string(&mut text).unwrap();
    check_loop(&Page::parse(&text));
    assert!(!text.contains("hunter2") && !older.body.contains("hunter2"));

    let head = answer(&watch.address, "HEAD /metrics HTTP/1.1\r\n\r\n");
    assert!(head.head.starts_with("HTTP/1.1 200 OK") && head.body.is_empty(), "{}", head.head);
    for (request, status) in [("POST /metrics", "405"), ("GET /", "404"), ("GET /metrics\r\n", "400")] {
        let refused = answer(&watch.address, &format!("{request} HTTP/1.1\r\n\r\n"));
        assert!(refused.head.starts_with(&format!("HTTP/1.1 {status} ")), "{request}: {}", refused.head);
    }
    let long = answer(&watch.address, &format!("GET /metrics HTTP/1.1\r\nX: {}", "x".repeat(100_000)));
    assert!(long.head.starts_with("HTTP/1.1 431 "), "{}", long.head);
    assert_eq!(watch.end().status.code(), Some(0));
}

#[test]
fn there_are_at_most_so_many_labels() {
    if !works() {
        return;
    }
    let watch = Listening::start(&["--max-labels", "0"]);
    let page = watch.scraped();
    assert_eq!(page.value("firstbyte_execs_total", &[("program", "other")]), Some("201"));
    assert_eq!(page.programs(), ["other"]);
    watch.end();
}

#[test]
fn scrapes_in_parallel_get_whole_pages_beside_clients_that_send_or_read_nothing() {
    if !works() {
        return;
    }
    let watch = Listening::start(&[]);
    let mut slow: Vec<TcpStream> = (0..20).map(|_| connected(&watch.address)).collect();
    for (place, stream) in slow.iter_mut().enumerate() {
        let whole = "GET /metrics HTTP/1.1\r\n\r\n";
        stream.write_all(&whole.as_bytes()[..if place % 2 == 0 { whole.len() } else { 9 }]).unwrap();
    }
    std::thread::scope(|scope| {
        for _ in 0..40 {
            scope.spawn(|| {
                for _ in 0..3 {
                    check_loop(&watch.scraped());
                }
            });
        }
    });
    drop(slow);
    watch.end();
}

#[test]
fn ten_thousand_fast_execs_lose_nothing_while_somebody_scrapes() {
    let (Some(tracee), Some(short)) = (built("watched.c"), built("three_calls.S")) else { return };
    if !works() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("firstbyte.prom");
    let half = format!("{} vfork 5000 {}", tracee.display(), short.display());
    let command = format!("{half} & {half} & wait");
    let options = ["--listen", "127.0.0.1:0", "--textfile", file.to_str().unwrap()];
    let mut command = firstbyte(&options, &["sh", "-c", &command]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let address = address(&mut child);
    // until nobody listens any more
    while let Ok(mut stream) = TcpStream::connect(&address) {
        let mut page = Vec::new();
        let _ =
            stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").and_then(|()| stream.read_to_end(&mut page));
    }
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
    let page = Page::parse(&fs::read_to_string(&file).unwrap());
    let name = short.file_name().unwrap().to_str().unwrap();
    assert_eq!(page.value("firstbyte_execs_total", &[("program", name)]), Some("10000"));
    assert_eq!(page.value("firstbyte_lifetime_seconds_count", &[("program", name)]), Some("10000"));
    assert_eq!(page.value("firstbyte_lost_events_total", &[]), Some("0"));
}

/// A watch of the machine, which would go on after a test that failed.
struct Unending(Child);

impl Unending {
    fn start() -> Unending {
        let mut command = firstbyte(&["--listen", "127.0.0.1:0", "--user", "65533"], &[]);
        Unending(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Returns its exit status, and what else it said.
    fn ended_by(mut self, signal: rustix::process::Signal) -> (Option<i32>, String) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.0), signal).unwrap();
        let status = self.0.wait().unwrap();
        let mut said = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (status.code(), said)
    }
}

impl Drop for Unending {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// As Prometheus may be: it is stopped while others still read.
#[test]
fn a_signal_ends_it_at_once_beside_open_connections() {
    if !works() {
        return;
    }
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::INT] {
        let mut watch = Unending::start();
        let address = address(&mut watch.0);
        let mut half = connected(&address);
        half.write_all(b"GET /met").unwrap();
        Page::parse(&answer(&address, "GET /metrics HTTP/1.1\r\n\r\n").body);
        let (status, said) = watch.ended_by(signal);
        assert_eq!(status, Some(0), "{signal:?}: {said}");
        // Another program may have the port by now, so nothing new is asked of it.
        let mut rest = Vec::new();
        let _ = half.read_to_end(&mut rest);
        assert!(rest.is_empty(), "{rest:?}");
    }
}

#[test]
fn an_address_that_cannot_be_used_is_an_error_before_anything_runs() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    let touch = ["touch", mark.to_str().unwrap()];
    for (options, said) in [
        (["--listen", &address], "cannot listen on `127.0.0.1:"),
        (["--listen", "9464"], "is not an address with a port"),
        (["--textfile", "x.txt"], "a name that ends in `.prom`"),
        (["--textfile", "/no/such/folder/x.prom"], "cannot write `/no/such/folder/x.prom`"),
        (["--max-labels", "1000000"], "is not a number of programs"),
    ] {
        let output = firstbyte(&options, &touch).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains(said) && stderr.contains("help: "), "{stderr}");
    }
    assert!(!mark.exists());
}

/// A watched tree may end before anybody has asked.
#[test]
fn it_ends_with_its_command_even_if_nobody_ever_asks() {
    if !works() {
        return;
    }
    let begun = Instant::now();
    let output = firstbyte(&["--listen", "127.0.0.1:0"], &["/bin/true"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?} after {:?}", begun.elapsed());
}

#[test]
fn an_address_that_other_machines_reach_has_a_warning() {
    for (address, is_warned) in [("0.0.0.0:0", true), ("127.0.0.1:0", false)] {
        let output = firstbyte(&["--listen", address], &["/bin/true"]).output().unwrap();
        if output.status.code() == Some(4) {
            return crate::support::skipped("this machine does not watch");
        }
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            said.matches("warning: other machines that reach").count(),
            usize::from(is_warned),
            "{said}"
        );
        assert_eq!(said.contains("help: --listen 127.0.0.1:"), is_warned, "{said}");
    }
}
