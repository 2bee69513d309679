//! The five posts: what they are called, who published them, and where.

use std::fmt::Write;

/// A published post whose statements are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Post {
    HelloWorldOverdone,
    StartupShowdown,
    ResponseToResponse,
    PrintBenchmark,
    CRuntimeOverhead,
}

/// What is known about a post.
struct Publication {
    /// The number that `--only` takes.
    number: &'static str,
    title: &'static str,
    author: Option<&'static str>,
    year: Option<u16>,
    address: Option<&'static str>,
}

const UNSIGNED: Publication = Publication { number: "", title: "", author: None, year: None, address: None };

impl Post {
    /// In the order of their numbers.
    pub const ALL: [Post; 5] = [
        Post::HelloWorldOverdone,
        Post::StartupShowdown,
        Post::ResponseToResponse,
        Post::PrintBenchmark,
        Post::CRuntimeOverhead,
    ];

    const fn publication(self) -> Publication {
        match self {
            Post::HelloWorldOverdone => Publication {
                number: "000",
                title: "Hello World, Utterly Overdone",
                author: Some("E. Johnson"),
                year: Some(2017),
                ..UNSIGNED
            },
            Post::StartupShowdown => Publication {
                number: "001",
                title: "Startup Showdown 1 - Hello",
                author: Some("C. Eckman"),
                year: Some(2024),
                address: Some("https://cceckman.com/writing/startup-showdown/1-hello-bench/"),
            },
            Post::ResponseToResponse => Publication {
                number: "002",
                title: "A response to response to hello world",
                author: Some("shybovycha"),
                year: Some(2020),
                address: Some(
                    "https://shybovycha.github.io/2020/01/10/a-response-to-response-to-hello-world.html",
                ),
            },
            Post::PrintBenchmark => {
                Publication { number: "003", title: "Print Benchmark: Sub-20ms Challenge", ..UNSIGNED }
            }
            Post::CRuntimeOverhead => Publication {
                number: "004",
                title: "C Runtime Overhead",
                author: Some("Ryan Hileman"),
                year: Some(2015),
                ..UNSIGNED
            },
        }
    }

    /// The number that `--only` takes.
    pub fn number(self) -> &'static str {
        self.publication().number
    }

    pub fn title(self) -> &'static str {
        self.publication().title
    }

    /// The author and the year: `by Ryan Hileman, 2015`.
    pub fn credit(self) -> String {
        let Publication { author, year, .. } = self.publication();
        let mut credit = author.map_or("without an author".to_owned(), |author| format!("by {author}"));
        let _ = match year {
            Some(year) => write!(credit, ", {year}"),
            None => write!(credit, " or a date"),
        };
        credit
    }

    /// Where it can be read, if that is known.
    pub fn address(self) -> Option<&'static str> {
        self.publication().address
    }
}
