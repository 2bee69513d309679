//! Arguments and plan of `firstbyte claims`.

use super::environment::InheritEnvArgs;
use super::export::ExportArgs;
use super::options::{JsonArgs, SeedArgs};
use crate::claims::Post;
use crate::document::Kind;
use crate::output::Target;
use crate::report::formats::Format;
use firstbyte_measure::launch::Environment;
use std::path::PathBuf;

/// The posts by the numbers that `--only` takes.
fn posts() -> String {
    let posts = Post::ALL.map(|post| format!("\n  {}  {}, {}", post.number(), post.title(), post.credit()));
    format!(
        "When run as root, this command drops the page cache of the whole machine from\n\
         time to time, as one of the posts does.\n\nPosts:{}",
        posts.concat()
    )
}

/// Test what five published posts say about starting programs
#[derive(Debug, clap::Args)]
#[command(after_help = posts())]
pub struct Args {
    /// Test only the claims of this post, or only this claim (can be repeated; --list shows all)
    #[arg(long, value_name = "POST|ID", value_delimiter = ',')]
    only: Vec<String>,
    /// Make fewer runs, which takes about one minute instead of seven
    #[arg(long)]
    quick: bool,
    /// List the claims and exit
    #[arg(long)]
    list: bool,
    /// Measure nothing, and read the verdicts from a file that --export-json wrote (can be repeated; verdicts of later files
    /// replace those of earlier ones)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["only", "quick", "list"])]
    from: Vec<PathBuf>,
    #[command(flatten)]
    seed: SeedArgs,
    #[command(flatten)]
    environment: InheritEnvArgs,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten)]
    exports: ExportArgs<{ Kind::Claims as usize }>,
}

#[derive(Debug)]
pub struct Plan {
    /// Numbers of posts and ids of claims; all claims if empty.
    pub only: Vec<String>,
    pub quick: bool,
    pub list: bool,
    /// Files with verdicts; if empty, the claims are measured.
    pub from: Vec<PathBuf>,
    /// The seed of the random order.
    pub seed: u64,
    /// The environment of the programs.
    pub environment: Environment,
    pub exports: Vec<(Format, Target)>,
}

impl Args {
    pub fn plan(self) -> Plan {
        Plan {
            only: self.only,
            quick: self.quick,
            list: self.list,
            from: self.from,
            seed: self.seed.seed,
            environment: self.environment.environment(),
            exports: self.exports.targets_with(&self.json),
        }
    }
}
