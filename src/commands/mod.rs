//! One file a command: glue between the stations, nothing else.
