//! What a client of the listener asks for, and the answer.
//!
//! HTTP/1.1 as far as a scrape needs it (RFC 9112): a request without a body, one answer, and the connection is closed.

/// A request may be this long.
pub(super) const MAX_REQUEST_BYTES: usize = 8192;

/// A request that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    Metrics(AcceptedFormat),
    /// Anything else, which is answered at once.
    Refused(Refusal),
}

/// How a client wants the metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AcceptedFormat {
    /// `OpenMetrics`, or else the older text format.
    pub(super) open: bool,
    pub(super) gzip: bool,
    /// Only the head of the answer.
    pub(super) head: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Malformed,
    TooLong,
    WrongMethod,
    NotFound,
}

/// `None` as long as the end of the request was not received.
pub(super) fn parse(received: &[u8]) -> Option<Request> {
    let Some(end) = end(received) else {
        return (received.len() >= MAX_REQUEST_BYTES).then_some(Request::Refused(Refusal::TooLong));
    };
    let text = String::from_utf8_lossy(&received[..end]);
    let mut lines = text.lines();
    Some(understood(lines.next().unwrap_or_default(), lines))
}

/// Where the empty line begins. Some clients end lines with a bare line feed.
fn end(received: &[u8]) -> Option<usize> {
    let find = |end: &[u8]| received.windows(end.len()).position(|window| window == end);
    [find(b"\r\n\r\n"), find(b"\n\n")].into_iter().flatten().min()
}

fn understood<'t>(first: &str, headers: impl Iterator<Item = &'t str>) -> Request {
    let words: Vec<&str> = first.split(' ').collect();
    let [method, target, version] = words[..] else { return Request::Refused(Refusal::Malformed) };
    if !version.starts_with("HTTP/1.") {
        return Request::Refused(Refusal::Malformed);
    }
    if !matches!(method, "GET" | "HEAD") {
        return Request::Refused(Refusal::WrongMethod);
    }
    if target.split('?').next() != Some("/metrics") {
        return Request::Refused(Refusal::NotFound);
    }

    let mut format = AcceptedFormat { open: false, gzip: false, head: method == "HEAD" };
    for (name, value) in headers.filter_map(|header| header.split_once(':')) {
        match name.trim().to_ascii_lowercase().as_str() {
            "accept" => format.open |= accepts(value, "application/openmetrics-text"),
            "accept-encoding" => format.gzip |= accepts(value, "gzip"),
            _ => {}
        }
    }
    Request::Metrics(format)
}

/// Whether a list of acceptable things has this one, and not with the weight 0 (RFC 9110, section 12.4.2).
fn accepts(list: &str, wanted: &str) -> bool {
    let mut items = list.split(',').map(|item| item.split(';').map(str::trim));
    items.any(|mut item| {
        let is_it = item.next().is_some_and(|name| name.eq_ignore_ascii_case(wanted));
        let weight = item.find_map(|parameter| parameter.strip_prefix("q=")?.parse::<f64>().ok());
        is_it && weight != Some(0.0)
    })
}

/// The head of an answer with the metrics.
pub(super) fn head(format: AcceptedFormat, length: usize) -> String {
    let content = if format.open {
        "application/openmetrics-text; version=1.0.0; charset=utf-8"
    } else {
        "text/plain; version=0.0.4; charset=utf-8"
    };
    let encoding = if format.gzip { "Content-Encoding: gzip\r\n" } else { "" };
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {content}\r\n{encoding}Vary: Accept, Accept-Encoding\r\n\
         Content-Length: {length}\r\nConnection: close\r\n\r\n"
    )
}

/// A whole answer without metrics.
pub(super) fn refused(refusal: Refusal) -> String {
    let (status, more) = match refusal {
        Refusal::Malformed => ("400 Bad Request", ""),
        Refusal::TooLong => ("431 Request Header Fields Too Large", ""),
        Refusal::WrongMethod => ("405 Method Not Allowed", "Allow: GET, HEAD\r\n"),
        Refusal::NotFound => ("404 Not Found", ""),
    };
    let body = format!("{status}\nhelp: GET /metrics\n");
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n{more}Content-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<Request> {
        parse(text.as_bytes())
    }

    const PLAIN: AcceptedFormat = AcceptedFormat { open: false, gzip: false, head: false };

    #[test]
    fn a_request_is_complete_with_its_empty_line() {
        assert_eq!(parsed(""), None);
        assert_eq!(parsed("GET /metrics HTTP/1.1\r\nHost: x\r\n"), None);
        assert_eq!(parsed("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"), Some(Request::Metrics(PLAIN)));
        assert_eq!(parsed("GET /metrics?x=1 HTTP/1.0\n\n"), Some(Request::Metrics(PLAIN)));
        let head = AcceptedFormat { head: true, ..PLAIN };
        assert_eq!(parsed("HEAD /metrics HTTP/1.1\r\n\r\n"), Some(Request::Metrics(head)));
    }

    #[test]
    fn prometheus_gets_openmetrics_and_compressed() {
        let accept = "Accept: application/openmetrics-text;version=1.0.0,application/openmetrics-text;\
                      version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        let request = format!("GET /metrics HTTP/1.1\r\n{accept}\r\naccept-encoding: gzip\r\n\r\n");
        assert_eq!(
            parsed(&request),
            Some(Request::Metrics(AcceptedFormat { open: true, gzip: true, head: false }))
        );
        let refusing = "GET /metrics HTTP/1.1\r\nAccept-Encoding: deflate, gzip;q=0\r\n\r\n";
        assert_eq!(parsed(refusing), Some(Request::Metrics(PLAIN)));
    }

    #[test]
    fn everything_else_is_refused() {
        let table = [
            ("POST /metrics HTTP/1.1\r\n\r\n", Refusal::WrongMethod),
            ("GET / HTTP/1.1\r\n\r\n", Refusal::NotFound),
            ("GET /metrics\r\n\r\n", Refusal::Malformed),
            ("\r\n\r\n", Refusal::Malformed),
            ("GET /metrics SSH-2.0\r\n\r\n", Refusal::Malformed),
            (&"x".repeat(MAX_REQUEST_BYTES), Refusal::TooLong),
        ];
        for (text, refusal) in table {
            assert_eq!(parsed(text), Some(Request::Refused(refusal)), "{text}");
        }
        assert_eq!(parse(b"\xff\xfe \0\r\n\r\n"), Some(Request::Refused(Refusal::Malformed)));
    }

    #[test]
    fn an_answer_says_how_long_it_is() {
        let answer = refused(Refusal::WrongMethod);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(
            head.contains(&format!("Content-Length: {}", body.len())) && head.contains("Allow: GET, HEAD")
        );
        assert!(
            super::head(AcceptedFormat { open: true, gzip: true, head: false }, 12)
                .contains("Content-Length: 12\r\n")
        );
    }
}
