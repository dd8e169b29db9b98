//! Asks a status page over FastCGI, with the record format of `stampede-load`. It implements no
//! more of FastCGI than this takes.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use stampede_load::protocol::fastcgi::record::{
    KeepConnection, Kind, RecordReader, RecordStep, write_param, write_request,
};

/// The largest answer in bytes. A status page has some hundred bytes per worker.
const ANSWER_BYTES_MAX: usize = 4 << 20;

/// Why a status page could not be read.
#[derive(Debug, thiserror::Error)]
pub enum StatusPageError {
    /// There is no connection, or no complete answer in time.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The answer does not consist of FastCGI records.
    #[error("the status page is not FastCGI")]
    NotFastCgi,
    /// The answer is longer than a page of the largest number of workers.
    #[error("the status page is too long")]
    TooLong,
    /// The answer has headers but no body.
    #[error("the status page has no body")]
    NoBody,
}

/// Asks for `path?query` over a unix socket and returns the body.
///
/// # Errors
/// No connection, no complete answer (each read may take `timeout`), or an answer that is not
/// FastCGI.
pub fn get(
    socket: &Path,
    path: &str,
    query: &str,
    timeout: Duration,
) -> Result<String, StatusPageError> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_read_timeout(Some(timeout))?;
    stream.set_write_timeout(Some(timeout))?;
    stream.write_all(&request(path, query))?;
    let out = answer(&mut stream)?;
    let text = String::from_utf8_lossy(&out).into_owned();
    let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_string());
    body.ok_or(StatusPageError::NoBody)
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
        write_param(&mut params, name, value.as_bytes());
    }
    let mut bytes = Vec::new();
    write_request(&mut bytes, &params, &[], KeepConnection::No);
    bytes
}

/// Reads all of `STDOUT` up to the end of the request.
fn answer(stream: &mut UnixStream) -> Result<Vec<u8>, StatusPageError> {
    let mut records = RecordReader::new();
    let (mut out, mut read) = (Vec::new(), [0; 4096]);
    loop {
        let length = stream.read(&mut read)?;
        if length == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        let mut used = 0;
        loop {
            let (taken, step) = records.take(&read[used..length]);
            used += taken;
            match step {
                RecordStep::NeedMore => break,
                RecordStep::Content(Kind::Stdout, content) => out.extend_from_slice(content),
                RecordStep::End { kind: Kind::End, .. } => return Ok(out),
                RecordStep::Bad => return Err(StatusPageError::NotFastCgi),
                RecordStep::Content(..) | RecordStep::End { .. } => {}
            }
        }
        if out.len() > ANSWER_BYTES_MAX {
            return Err(StatusPageError::TooLong);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_page_is_put_together_from_its_records() {
        let directory = tempfile::tempdir().expect("directory");
        let path = directory.path().join("s.sock");
        let listener = std::os::unix::net::UnixListener::bind(&path).expect("bind");
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("accept");
            let mut begin = [0; 16];
            stream.read_exact(&mut begin).expect("request");
            assert_eq!(begin[..2], [1, 1], "version 1, a request begins");
            for part in ["Content-Type: x\r\n\r", "\n{\"a\":", "1}"] {
                let header = [1, 6, 0, 1, 0, part.len() as u8, 0, 0];
                stream.write_all(&[&header[..], part.as_bytes()].concat()).expect("write");
            }
            stream.write_all(&[1, 3, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).expect("write");
            // Reads until the client closes: a reset would discard what the client has not read
            // yet.
            let _ = stream.read_to_end(&mut Vec::new());
        });
        let body = get(&path, "/s", "json", Duration::from_secs(5)).expect("body");
        assert_eq!(body, "{\"a\":1}");
        server.join().expect("server");
    }
}
