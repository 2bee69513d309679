//! The folders that a macro embeds: it does not see new files by itself.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for folder in ["claims", "corpus", "throughput"] {
        println!("cargo:rerun-if-changed={folder}");
    }
}
