//! The command line: clap arguments in, validated plans out.
