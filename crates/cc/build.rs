//! Builds the crate again after a change in `runtime/`: the macro that embeds the folder does not see new files.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=runtime");
}
