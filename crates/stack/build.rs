//! The catalogue is embedded in the binary, and `include_dir!` does not say what it read: a new file
//! in it would go unseen until the next full build.

fn main() {
    for name in ["apps", "runtimes", "fronts", "databases", "php/src", "php/autoload.php"] {
        println!("cargo:rerun-if-changed=../../{name}");
    }
}
