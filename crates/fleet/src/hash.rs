//! SHA-256 as it is written in messages.

use std::io::{self, Read};

use sha2::{Digest as _, Sha256};

/// The hash of all that can be read, in hexadecimal, and its length in bytes.
pub(crate) fn of(mut content: impl Read) -> io::Result<(String, u64)> {
    let mut digest = Sha256::new();
    let (mut buffer, mut bytes) = (vec![0; 1 << 16], 0);
    loop {
        match content.read(&mut buffer)? {
            0 => return Ok((hexadecimal(&digest.finalize()), bytes)),
            read => {
                digest.update(&buffer[..read]);
                bytes += read as u64;
            }
        }
    }
}

/// A digest in hexadecimal.
pub(crate) fn hexadecimal(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
