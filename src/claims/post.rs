//! The five posts.

/// A published post whose statements are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Post {
    /// E. Johnson, "Hello World, Utterly Overdone" (2017).
    HelloWorldOverdone,
    /// C. Eckman, "Startup Showdown 1 - Hello" (2024).
    StartupShowdown,
    /// "A response to response to hello world" (2020).
    ResponseToResponse,
    /// "Print Benchmark: Sub-20ms Challenge".
    PrintBenchmark,
    /// R. Hileman, "C Runtime Overhead" (2015).
    CRuntimeOverhead,
}

impl Post {
    /// In the order of their numbers.
    pub const ALL: [Post; 5] = [
        Post::HelloWorldOverdone,
        Post::StartupShowdown,
        Post::ResponseToResponse,
        Post::PrintBenchmark,
        Post::CRuntimeOverhead,
    ];

    /// The number that `--only` takes.
    pub fn number(self) -> &'static str {
        match self {
            Post::HelloWorldOverdone => "000",
            Post::StartupShowdown => "001",
            Post::ResponseToResponse => "002",
            Post::PrintBenchmark => "003",
            Post::CRuntimeOverhead => "004",
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Post::HelloWorldOverdone => "Hello World, Utterly Overdone",
            Post::StartupShowdown => "Startup Showdown 1 - Hello",
            Post::ResponseToResponse => "A response to response to hello world",
            Post::PrintBenchmark => "Print Benchmark: Sub-20ms Challenge",
            Post::CRuntimeOverhead => "C Runtime Overhead",
        }
    }
}
