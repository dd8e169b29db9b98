//! The files are embedded in the binary, and `include_dir!` does not say what it read.

fn main() {
    println!("cargo:rerun-if-changed=../../frameworks");
}
