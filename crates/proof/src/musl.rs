//! Tells a program that was built with musl instead of glibc: PHP is slower with musl's memory
//! allocator, so such a build is no measure of the other.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::LazyLock;

use regex::bytes::Regex;

/// How much of a file is looked at in one go.
const PART: usize = 1 << 20;
/// What compilers for musl write into a program.
static SIGN: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("/lib/ld-musl-|-linux-musl").expect("a pattern of ours"));
/// The longest sign.
const LONGEST: usize = 13;
/// The most bytes that are looked at: static builds of PHP have up to 200 MB.
const BYTES_MAX: u64 = 512 << 20;

/// Whether `program` was built with musl. False for scripts and what cannot be read.
pub fn is_musl(program: &Path) -> bool {
    let Ok(mut file) = File::open(program) else { return false };
    let mut magic = [0; 4];
    if file.read_exact(&mut magic).is_err() || magic != *b"\x7fELF" {
        return false;
    }
    let begun = file.seek(SeekFrom::Start(0)).is_ok();
    begun && has_sign(&mut file.take(BYTES_MAX))
}

fn has_sign(file: &mut impl std::io::Read) -> bool {
    let mut part = Vec::new();
    loop {
        // The end of the last part stays: a sign may begin in it.
        let kept = part.len().min(LONGEST);
        part.drain(..part.len() - kept);
        let read = file.by_ref().take(PART as u64).read_to_end(&mut part);
        if !matches!(read, Ok(1..)) {
            return false;
        }
        if SIGN.is_match(&part) {
            return true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_is_found_wherever_it_is() {
        for begin in [0, 100, PART - 5, PART, 2 * PART - 1] {
            let mut bytes = vec![b'x'; begin];
            bytes.extend(b"/lib/ld-musl-x86_64.so.1");
            bytes.extend([b'y'; 50]);
            assert!(has_sign(&mut bytes.as_slice()), "{begin}");
        }
        assert!(!has_sign(&mut vec![b'x'; 3 * PART].as_slice()));
    }

    #[test]
    fn programs_of_this_machine_and_scripts_are_not_built_with_musl() {
        assert!(!is_musl(Path::new("/bin/sh")));
        let script = tempfile::NamedTempFile::new().expect("file");
        std::fs::write(script.path(), "#!/bin/sh\n# x86_64-linux-musl\n").expect("written");
        assert!(!is_musl(script.path()));
    }
}
