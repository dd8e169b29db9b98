//! Writes and reads messages one after the other. A frame is its length (4 bytes, big endian), its
//! kind (1 byte), and its content: a message in JSON, or bytes of a file.

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Longest content of a frame. A load with a list of requests is the longest message; longer lists
/// travel as files.
pub const FRAME_BYTES_MAX: usize = 64 << 20;
/// Bytes of a file in one frame.
pub const CHUNK_BYTES: usize = 256 << 10;

/// The content of a frame.
#[derive(Clone, Debug, PartialEq)]
pub enum Frame<M> {
    /// A message.
    Message(M),
    /// The next bytes of a file.
    Bytes(Vec<u8>),
}

/// Why no frame could be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The connection failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The frame is longer than any message.
    #[error("a message of {0} bytes, {FRAME_BYTES_MAX} is the most")]
    TooLong(usize),
    /// There is no such kind of frame: the other side is no stampede.
    #[error("no message of stampede")]
    Foreign,
    /// The content is no message.
    #[error("message cannot be read")]
    Malformed(#[from] serde_json::Error),
}

/// Writes a message, and flushes.
///
/// # Errors
/// The connection failed, or the message is too long.
pub fn write_message(to: &mut impl Write, message: &impl Serialize) -> Result<(), FrameError> {
    let content = serde_json::to_vec(message)?;
    write_frame(to, KIND_MESSAGE, &content)
}

/// Writes bytes of a file, at most [`CHUNK_BYTES`], and flushes.
///
/// # Errors
/// The connection failed.
pub fn write_bytes(to: &mut impl Write, bytes: &[u8]) -> Result<(), FrameError> {
    write_frame(to, KIND_BYTES, bytes)
}

fn write_frame(to: &mut impl Write, kind: u8, content: &[u8]) -> Result<(), FrameError> {
    let length = u32::try_from(content.len()).ok().filter(|_| content.len() <= FRAME_BYTES_MAX);
    let length = length.ok_or(FrameError::TooLong(content.len()))?;
    let mut head = [0; 5];
    head[..4].copy_from_slice(&length.to_be_bytes());
    head[4] = kind;
    to.write_all(&head)?;
    to.write_all(content)?;
    Ok(to.flush()?)
}

/// Reads the next frame. `None`: the other side has ended.
///
/// # Errors
/// The connection failed or ended within a frame, or the other side is no stampede.
pub fn read_frame<M: DeserializeOwned>(
    from: &mut impl Read,
) -> Result<Option<Frame<M>>, FrameError> {
    let mut head = [0; 5];
    let mut read = 0;
    while read < head.len() {
        match from.read(&mut head[read..]) {
            Ok(0) if read == 0 => return Ok(None),
            Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            Ok(more) => read += more,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
    let [a, b, c, d, kind] = head;
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    if kind != KIND_MESSAGE && kind != KIND_BYTES {
        return Err(FrameError::Foreign);
    }
    let most = if kind == KIND_BYTES { CHUNK_BYTES } else { FRAME_BYTES_MAX };
    if length > most {
        return Err(FrameError::TooLong(length));
    }
    // Grows with what comes, so that a length alone takes no memory.
    let mut content = Vec::new();
    from.take(length as u64).read_to_end(&mut content)?;
    if content.len() < length {
        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
    }
    match kind {
        KIND_BYTES => Ok(Some(Frame::Bytes(content))),
        _ => Ok(Some(Frame::Message(serde_json::from_slice(&content)?))),
    }
}

const KIND_MESSAGE: u8 = b'm';
const KIND_BYTES: u8 = b'b';

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use stampede_model::time::Nanos;

    use super::*;
    use crate::message::ToAgent;

    fn read_all(mut bytes: &[u8]) -> Result<Vec<Frame<ToAgent>>, FrameError> {
        let mut all = Vec::new();
        while let Some(frame) = read_frame(&mut bytes)? {
            all.push(frame);
        }
        Ok(all)
    }

    fn written() -> Vec<u8> {
        let mut bytes = Vec::new();
        write_message(&mut bytes, &ToAgent::Ping { number: 7 }).unwrap();
        write_bytes(&mut bytes, b"\0file").unwrap();
        write_message(&mut bytes, &ToAgent::StartAt { at: Nanos(u64::MAX) }).unwrap();
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        let expected = [
            Frame::Message(ToAgent::Ping { number: 7 }),
            Frame::Bytes(b"\0file".to_vec()),
            Frame::Message(ToAgent::StartAt { at: Nanos(u64::MAX) }),
        ];
        assert_eq!(read_all(&written()).unwrap(), expected);
    }

    #[test]
    fn a_stranger_and_a_length_without_content_are_refused() {
        let error = |bytes: &[u8]| read_all(bytes).unwrap_err().to_string();
        assert_eq!(error(b"SSH-2.0-OpenSSH_9.2p1\r\n"), "no message of stampede");
        assert_eq!(
            error(b"\xff\xff\xff\xffm"),
            "a message of 4294967295 bytes, 67108864 is the most"
        );
        assert_eq!(error(b"\x03\xff\xff\xffm{}"), "unexpected end of file");
        assert_eq!(error(b"\0\0\0\x02m{}"), "message cannot be read");
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            failure_persistence: None, ..ProptestConfig::default()
        })]

        /// Wherever a connection ends, what came before is read, and the rest is an error.
        #[test]
        fn a_cut_connection_is_an_error(cut in 0_usize..60) {
            let bytes = written();
            let cut = cut.min(bytes.len() - 1);
            let ends = [0, 5 + 21, 5 + 21 + 5 + 5];
            prop_assert_eq!(read_all(&bytes[..cut]).is_ok(), ends.contains(&cut));
        }

        #[test]
        fn any_bytes_are_refused_or_read(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read_all(&bytes);
        }
    }
}
