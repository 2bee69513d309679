//! The versioned document and its renderings.
//!
//! [`build`] makes a [`Document`] of series, [`read`] of a file; everything else draws one: [`showdown_text`] for
//! a terminal, [`json`], [`csv`] and [`markdown`] for files and other tools. Renderers return text and never
//! print; [`export`] says where the text goes.

pub mod asciidoc;
pub mod bench_text;
pub mod bencher;
pub mod benchmark_action;
pub mod build;
pub mod check_text;
pub mod claims_document;
pub mod claims_markdown;
pub mod claims_text;
pub mod compare_text;
pub mod comparison;
pub mod conditions;
pub mod csv;
pub mod diff_json;
pub mod diff_text;
mod distribution;
pub mod doctor_text;
pub mod document;
pub mod elf_text;
pub mod export;
pub mod firefox;
mod floor_cores;
mod floor_figure;
mod floor_histogram;
pub mod floor_markdown;
mod floor_prints;
pub mod floor_svg;
pub mod floor_text;
mod floor_waterfall;
pub mod html;
pub mod inspect_text;
pub mod json;
pub mod markdown;
pub mod perfetto;
mod phase_bars;
pub mod png;
pub mod read;
mod row;
pub mod showdown_text;
pub mod terminal;
pub mod throughput_chart;
pub mod throughput_document;
pub mod throughput_text;
pub mod trace_json;
pub mod trace_text;
pub mod warnings;

pub use document::Document;
pub use export::Target;
pub use row::rss;
pub use terminal::Terminal;
