//! The folder that a macro embeds: it does not see new files by itself.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=runtime");
}
