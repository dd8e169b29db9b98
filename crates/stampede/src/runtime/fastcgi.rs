//! As much FastCGI as asking a status page takes (FastCGI Specification 1.0, sections 3
//! and 4). The load's own FastCGI is `stampede-load`'s.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

const VERSION: u8 = 1;
const BEGIN_REQUEST: u8 = 1;
const END_REQUEST: u8 = 3;
const PARAMS: u8 = 4;
const STDIN: u8 = 5;
const STDOUT: u8 = 6;
/// A status page has some hundred bytes a worker.
const ANSWER_BYTES_MAX: usize = 4 << 20;

/// Asks `path?query` over a unix socket; gives the body.
///
/// # Errors
/// No connection, no whole answer within `timeout` a read, or an answer that is none.
pub fn get(socket: &Path, path: &str, query: &str, timeout: Duration) -> io::Result<String> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))?;
    stream.write_all(&request(path, query))?;
    let mut out = Vec::new();
    loop {
        let mut header = [0; 8];
        stream.read_exact(&mut header)?;
        let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
        let mut content = vec![0; length + usize::from(header[6])];
        stream.read_exact(&mut content)?;
        match header[1] {
            STDOUT => out.extend_from_slice(&content[..length]),
            END_REQUEST => break,
            _ => {}
        }
        if out.len() > ANSWER_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the status page is too long"));
        }
    }
    let text = String::from_utf8_lossy(&out).into_owned();
    let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_string());
    body.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the status page has no body"))
}

fn request(path: &str, query: &str) -> Vec<u8> {
    let mut params = Vec::new();
    for (name, value) in [
        ("SCRIPT_NAME", path),
        ("SCRIPT_FILENAME", path),
        ("REQUEST_URI", path),
        ("QUERY_STRING", query),
        ("REQUEST_METHOD", "GET"),
        ("SERVER_PROTOCOL", "HTTP/1.1"),
        ("GATEWAY_INTERFACE", "CGI/1.1"),
    ] {
        pair(&mut params, name, value);
    }
    // Role 1: responder; flags 0: close the connection after it.
    let mut bytes = record(BEGIN_REQUEST, &[0, 1, 0, 0, 0, 0, 0, 0]);
    bytes.extend(record(PARAMS, &params));
    bytes.extend(record(PARAMS, &[]));
    bytes.extend(record(STDIN, &[]));
    bytes
}

/// Section 3.4: lengths up to 127 are one byte, longer ones four with the top bit set.
fn pair(out: &mut Vec<u8>, name: &str, value: &str) {
    for text in [name, value] {
        match u8::try_from(text.len()) {
            Ok(length) if length < 128 => out.push(length),
            _ => out.extend((text.len() as u32 | 1 << 31).to_be_bytes()),
        }
    }
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(value.as_bytes());
}

/// Request id 1; content up to 65 535 bytes, which names and a path never reach.
fn record(kind: u8, content: &[u8]) -> Vec<u8> {
    let [high, low] = (content.len() as u16).to_be_bytes();
    let mut bytes = vec![VERSION, kind, 0, 1, high, low, 0, 0];
    bytes.extend_from_slice(content);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_have_the_lengths_of_the_specification() {
        let mut out = Vec::new();
        pair(&mut out, "A", &"x".repeat(200));
        assert_eq!(&out[..6], &[1, 0x80, 0, 0, 200, b'A']);
        assert_eq!(out.len(), 1 + 4 + 1 + 200);
    }

    #[test]
    fn a_status_page_is_put_together_from_its_records() {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("s.sock");
        let listener = std::os::unix::net::UnixListener::bind(&path).expect("bind");
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("accept");
            let mut begin = [0; 16];
            stream.read_exact(&mut begin).expect("request");
            assert_eq!(begin[..2], [1, BEGIN_REQUEST]);
            for part in ["Content-Type: x\r\n\r", "\n{\"a\":", "1}"] {
                stream.write_all(&record(STDOUT, part.as_bytes())).expect("write");
            }
            stream.write_all(&record(END_REQUEST, &[0; 8])).expect("write");
            // Until the other side closes: a reset would lose what it has not read.
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let body = get(&path, "/s", "json", Duration::from_secs(5)).expect("body");
        assert_eq!(body, "{\"a\":1}");
        server.join().expect("server");
    }
}
