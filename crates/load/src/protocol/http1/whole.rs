//! Reads one answer with all its headers and its body: for single requests, never for load. It
//! accepts exactly what the load accepts.

use super::body::{Body, Progress};
use super::head::Head;
use super::{HEAD_BYTES_MAX, INTERIM_MAX};
use crate::check::{Check, Sink};
use crate::protocol::AnswerEnd;
use crate::protocol::head::{HeadReader, HeadStep, SharedParsing};
use stampede_traffic::AnswerShape;
use stampede_traffic::fields::{self, OwnedField};

/// One answer, whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WholeAnswer {
    /// 200 to 999; interim 1xx answers are skipped.
    pub status: u16,
    /// Names and values of the final head, in their order, without folds. A name is as it was
    /// written.
    pub headers: Vec<(Vec<u8>, Vec<u8>)>,
    /// The body, without framing.
    pub body: Vec<u8>,
}

/// Why there is no whole answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WholeError {
    /// The peer closed before the end that the headers announced.
    #[error("the connection ended before the answer did")]
    CutShort,
    /// The bytes are no HTTP answer, or a length contradicts itself.
    #[error("the answer is not HTTP/1.x")]
    Malformed,
    /// The head is larger than the limit.
    #[error("the head of the answer is larger than {bytes_max} bytes")]
    HeadTooLarge {
        /// The limit.
        bytes_max: usize,
    },
    /// The body is larger than the limit.
    #[error("the response body is larger than request limit: {bytes_max}")]
    BodyTooLarge {
        /// The limit.
        bytes_max: usize,
    },
}

/// Reads the answer to one request from split reads.
#[derive(Debug)]
pub struct AnswerReader {
    shape: AnswerShape,
    heads: HeadReader<Head>,
    interim: u32,
    /// The final head and what is left of its body; `None` before.
    begun: Option<(Head, Body)>,
    headers: Vec<OwnedField>,
    body: KeptBody,
}

#[derive(Debug)]
struct KeptBody {
    bytes: Vec<u8>,
    bytes_max: usize,
    is_too_large: bool,
}

impl Sink for KeptBody {
    fn piece(&mut self, bytes: &[u8]) {
        if self.bytes.len() + bytes.len() > self.bytes_max {
            self.is_too_large = true;
        } else {
            self.bytes.extend_from_slice(bytes);
        }
    }
}

impl AnswerReader {
    /// A reader of an answer to a request of this shape. Its body may have `body_bytes_max` bytes.
    pub fn new(shape: AnswerShape, body_bytes_max: usize) -> AnswerReader {
        AnswerReader {
            shape,
            heads: HeadReader::new(HEAD_BYTES_MAX, &SharedParsing::new(&Check::default())),
            interim: 0,
            begun: None,
            headers: Vec::new(),
            body: KeptBody { bytes: Vec::new(), bytes_max: body_bytes_max, is_too_large: false },
        }
    }

    /// Takes bytes that arrived, and returns the answer if it ends here. It must not be called
    /// after that. Bytes after the end are ignored.
    ///
    /// # Errors
    /// The bytes are no HTTP answer, or too many.
    pub fn received(&mut self, mut bytes: &[u8]) -> Result<Option<WholeAnswer>, WholeError> {
        while !bytes.is_empty() {
            let taken = match &mut self.begun {
                None => self.take_head(bytes)?,
                Some((_, body)) => {
                    let (taken, progress) = body.take(bytes, &mut self.body, HEAD_BYTES_MAX);
                    match progress {
                        Progress::NeedMore => {}
                        Progress::Done => *body = Body::Length(0),
                        Progress::Bad(end) => return Err(WholeError::from(end)),
                    }
                    taken
                }
            };
            if self.body.is_too_large {
                return Err(WholeError::BodyTooLarge { bytes_max: self.body.bytes_max });
            }
            if let Some((head, body)) = self.begun
                && body.is_empty()
            {
                return Ok(Some(self.whole(head)));
            }
            bytes = &bytes[taken..];
        }
        Ok(None)
    }

    /// The answer that the peer's close ends.
    ///
    /// # Errors
    /// The close does not end it: it is cut short.
    pub fn peer_closed(mut self) -> Result<WholeAnswer, WholeError> {
        match self.begun {
            Some((head, Body::UntilClose)) => Ok(self.whole(head)),
            _ => Err(WholeError::CutShort),
        }
    }

    /// Takes bytes up to the end of a head, and returns how many: at least one.
    fn take_head(&mut self, bytes: &[u8]) -> Result<usize, WholeError> {
        let (taken, step) = self.heads.take(bytes);
        let head = match step {
            HeadStep::NeedMore => return Ok(taken),
            HeadStep::Foreign => return Err(WholeError::Malformed),
            HeadStep::Bad(end) => return Err(WholeError::from(end)),
            HeadStep::Complete(head) => head,
        };
        if head.is_interim().map_err(|_| WholeError::Malformed)? {
            self.interim += 1;
            if self.interim > INTERIM_MAX {
                return Err(WholeError::Malformed);
            }
        } else {
            let body = head.body(self.shape).map_err(|_| WholeError::Malformed)?;
            self.headers = fields::all(self.heads.raw(&bytes[..taken]))?;
            self.begun = Some((head, body));
        }
        self.heads.clear();
        Ok(taken)
    }

    fn whole(&mut self, head: Head) -> WholeAnswer {
        WholeAnswer {
            status: head.status,
            headers: std::mem::take(&mut self.headers),
            body: std::mem::take(&mut self.body.bytes),
        }
    }
}

impl From<AnswerEnd> for WholeError {
    fn from(end: AnswerEnd) -> WholeError {
        match end {
            AnswerEnd::CutShort => WholeError::CutShort,
            AnswerEnd::HeadTooLarge => WholeError::HeadTooLarge { bytes_max: HEAD_BYTES_MAX },
            AnswerEnd::Whole { .. }
            | AnswerEnd::Malformed
            | AnswerEnd::Rejected
            | AnswerEnd::Tls
            | AnswerEnd::Displaced => WholeError::Malformed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is read of `answer` in pieces of `piece` bytes, before the peer closes.
    fn read(answer: &str, piece: usize, shape: AnswerShape) -> Result<WholeAnswer, WholeError> {
        let mut reader = AnswerReader::new(shape, 8);
        for piece in answer.as_bytes().chunks(piece) {
            if let Some(whole) = reader.received(piece)? {
                return Ok(whole);
            }
        }
        reader.peer_closed()
    }

    fn whole(status: u16, headers: &[(&str, &str)], body: &str) -> WholeAnswer {
        let bytes = |text: &str| text.as_bytes().to_vec();
        let headers = headers.iter().map(|(name, value)| (bytes(name), bytes(value)));
        WholeAnswer { status, headers: headers.collect(), body: bytes(body) }
    }

    #[test]
    fn an_answer_is_read_however_its_bytes_are_split() {
        let table = [
            ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokmore", [("Content-Length", "2")], "ok"),
            ("HTTP/1.0 200 OK\nA : b\n  c\n\nall", [("A", "b c")], "all"),
            (
                "HTTP/1.1 103 Early\r\nB: c\r\n\r\n\r\nHTTP/1.1 200\r\nno field\r\n\
                 Transfer-Encoding: chunked\r\n\r\n2\r\na\n\r\n1;x\r\nc\r\n0\r\nD: e\r\n\r\n",
                [("Transfer-Encoding", "chunked")],
                "a\nc",
            ),
            ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nx", [("Content-Length", "0")], ""),
            (
                "HTTP/1.1  200\r\nContent-Length: 2, 2\r\n\r\nokx",
                [("Content-Length", "2, 2")],
                "ok",
            ),
            (
                "\r\n\r\nHTTP/1.0 200 OK\nTransfer-Encoding: identity\n\nok",
                [("Transfer-Encoding", "identity")],
                "ok",
            ),
        ];
        for (answer, headers, body) in table {
            for piece in [1, 3, 1_000] {
                let read = read(answer, piece, AnswerShape::ByHeaders);
                assert_eq!(read, Ok(whole(200, &headers, body)), "{answer:?} by {piece}");
            }
        }
    }

    #[test]
    fn the_answer_to_head_has_no_body() {
        let answer = "HTTP/1.1 404 No\r\nContent-Length: 7\r\n\r\n";
        let read = read(answer, 5, AnswerShape::NoBody);
        assert_eq!(read, Ok(whole(404, &[("Content-Length", "7")], "")));
    }

    #[test]
    fn what_is_no_whole_answer_is_an_error() {
        let interim = "HTTP/1.1 100 Continue\r\n\r\n".repeat(INTERIM_MAX as usize + 1);
        let long = format!("HTTP/1.1 200 OK\r\nA: {}\r\n\r\n", "b".repeat(HEAD_BYTES_MAX));
        let head_too_large = WholeError::HeadTooLarge { bytes_max: HEAD_BYTES_MAX };
        for (answer, error) in [
            ("", WholeError::CutShort),
            ("HTTP/1.1 200 OK\r\nA: b\r\n", WholeError::CutShort),
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok", WholeError::CutShort),
            ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx", WholeError::Malformed),
            ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", WholeError::Malformed),
            ("HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n", WholeError::Malformed),
            ("HTTP/1.1 101 Switching\r\n\r\n", WholeError::Malformed),
            ("SSH-2.0-x\r\n\r\n", WholeError::Malformed),
            (interim.as_str(), WholeError::Malformed),
            (long.as_str(), head_too_large),
            ("HTTP/1.1 200 OK\r\n\r\n123456789", WholeError::BodyTooLarge { bytes_max: 8 }),
        ] {
            for piece in [1, 1_000_000] {
                assert_eq!(read(answer, piece, AnswerShape::ByHeaders), Err(error), "{answer:.40}");
            }
        }
    }
}
