//! Writes executables without any toolchain: the floor of every comparison. Pure: bytes out.
