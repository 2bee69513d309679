//! Statistics of samples. Pure.
