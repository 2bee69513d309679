//! From events to phases, instants, processes. Pure.
