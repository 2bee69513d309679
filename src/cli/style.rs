//! How the output looks: hyperfine's `--style`.

#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct StyleArgs {
    /// Choose how the output looks: no colours and no progress (basic), colours in any case (full), progress without colours
    /// (nocolor), colours without progress (color), no output but exports and errors (none)
    #[arg(long, value_name = "TYPE", default_value = "auto")]
    style: StyleArg,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum StyleArg {
    Auto,
    Basic,
    Full,
    #[value(name = "nocolor")]
    NoColour,
    #[value(name = "color")]
    Colour,
    None,
}

/// What is shown, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Results are printed.
    pub results: bool,
    /// `None`: in colours if the terminal has them.
    pub colours: Option<bool>,
    /// Progress is shown on a terminal.
    pub progress: bool,
}

impl Default for Style {
    fn default() -> Style {
        Style { results: true, colours: None, progress: true }
    }
}

impl StyleArgs {
    pub(super) fn style(self) -> Style {
        let (results, colours, progress) = match self.style {
            StyleArg::Auto => return Style::default(),
            StyleArg::Basic => (true, Some(false), false),
            StyleArg::Full => (true, Some(true), true),
            StyleArg::NoColour => (true, Some(false), true),
            StyleArg::Colour => (true, Some(true), false),
            StyleArg::None => (false, Some(false), false),
        };
        Style { results, colours, progress }
    }
}
