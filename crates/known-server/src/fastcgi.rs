//! FastCGI as far as a server must know it to answer (FastCGI 1.0, sections 3 and 5): where a
//! request ends, which path it names, and the records of an answer.

use crate::request::{BadRequest, ParsedRequest, Persistence, REQUEST_BYTES_MAX, Shape};

/// One complete request at the start of some bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FastCgiRequest {
    pub(crate) parsed: ParsedRequest,
    /// The parameter `REQUEST_URI`; empty where there is none.
    pub(crate) uri: Vec<u8>,
}

impl FastCgiRequest {
    /// Parses the request at the start of `bytes`; `None` while it is not complete. All requests
    /// must have the id [`ID`], as those of a client have that does not multiplex.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Option<FastCgiRequest>, BadRequest> {
        let mut persistence = Persistence::Close;
        let mut params = Vec::new();
        let mut used = 0;
        while let Some((header, rest)) = bytes[used..].split_first_chunk::<HEADER_BYTES>() {
            let [VERSION, kind, ID_HIGH, ID, high, low, padding, _] = *header else {
                return Err(BadRequest);
            };
            let length = usize::from(u16::from_be_bytes([high, low]));
            let Some(content) = rest.get(..length) else { break };
            used += HEADER_BYTES + length + usize::from(padding);
            if used > bytes.len() {
                break;
            }
            match (kind, content) {
                (BEGIN_REQUEST, [_, RESPONDER, flags, ..]) if flags & KEEP_CONNECTION != 0 => {
                    persistence = Persistence::Implicit;
                }
                (BEGIN_REQUEST, [_, RESPONDER, ..]) => {}
                (PARAMS, content) => params.extend_from_slice(content),
                (STDIN, []) => {
                    let parsed =
                        ParsedRequest { length: used, shape: Shape::HeadAndBody, persistence };
                    let uri = param(&params, b"REQUEST_URI").unwrap_or_default().to_vec();
                    return Ok(Some(FastCgiRequest { parsed, uri }));
                }
                (STDIN, _) => {}
                _ => return Err(BadRequest),
            }
        }
        if bytes.len() > REQUEST_BYTES_MAX { Err(BadRequest) } else { Ok(None) }
    }
}

/// The records of an answer with the status 200 and this body.
pub(crate) fn answer(body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let content = [b"Status: 200 OK\r\nContent-Type: text/plain\r\n\r\n", body].concat();
    content.chunks(CONTENT_BYTES_MAX).for_each(|part| write(&mut out, STDOUT, part));
    write(&mut out, STDOUT, &[]);
    // Exit status 0, and "request complete" (0).
    write(&mut out, END_REQUEST, &[0; 8]);
    out
}

fn write(out: &mut Vec<u8>, kind: u8, content: &[u8]) {
    let length = u16::try_from(content.len()).expect("at most CONTENT_BYTES_MAX");
    let [high, low] = length.to_be_bytes();
    out.extend_from_slice(&[VERSION, kind, ID_HIGH, ID, high, low, 0, 0]);
    out.extend_from_slice(content);
}

/// The value of a parameter; `None` where there is none or the pairs are torn.
fn param<'a>(mut params: &'a [u8], wanted: &[u8]) -> Option<&'a [u8]> {
    loop {
        let (name_bytes, rest) = length(params)?;
        let (value_bytes, rest) = length(rest)?;
        let (name, rest) = rest.split_at_checked(name_bytes)?;
        let (value, rest) = rest.split_at_checked(value_bytes)?;
        if name == wanted {
            return Some(value);
        }
        params = rest;
    }
}

/// The length at the start of `bytes`: one byte below 128, else four with the highest bit set.
fn length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    match bytes {
        [short @ 0..128, rest @ ..] => Some((usize::from(*short), rest)),
        [first, second, third, fourth, rest @ ..] => {
            let long = u32::from_be_bytes([first & 127, *second, *third, *fourth]);
            Some((long as usize, rest))
        }
        _ => None,
    }
}

/// The id of every request: the client waits for an answer before it sends the next one.
const ID: u8 = 1;
const ID_HIGH: u8 = 0;
const VERSION: u8 = 1;
const HEADER_BYTES: usize = 8;
const BEGIN_REQUEST: u8 = 1;
const END_REQUEST: u8 = 3;
const PARAMS: u8 = 4;
const STDIN: u8 = 5;
const STDOUT: u8 = 6;
const RESPONDER: u8 = 1;
const KEEP_CONNECTION: u8 = 1;
/// Most bytes of the content of one record: its length is a 16-bit number.
const CONTENT_BYTES_MAX: usize = 65_535;

#[cfg(test)]
mod tests {
    use super::*;

    /// A request with a parameter whose value is longer than 127 bytes before the URI.
    fn request(flags: u8) -> Vec<u8> {
        let mut params = vec![1, 0x80, 0, 0, 200, b'A'];
        params.extend_from_slice(&[b'x'; 200]);
        params.extend_from_slice(&[11, 3]);
        params.extend_from_slice(b"REQUEST_URI/17");
        let mut bytes = Vec::new();
        write(&mut bytes, BEGIN_REQUEST, &[0, RESPONDER, flags, 0, 0, 0, 0, 0]);
        let (first, second) = params.split_at(50);
        write(&mut bytes, PARAMS, first);
        write(&mut bytes, PARAMS, second);
        write(&mut bytes, PARAMS, &[]);
        write(&mut bytes, STDIN, b"body");
        write(&mut bytes, STDIN, &[]);
        bytes
    }

    #[test]
    fn a_request_ends_with_its_empty_input() {
        let bytes = request(KEEP_CONNECTION);
        let more = [&bytes[..], b"next"].concat();
        let found = FastCgiRequest::parse(&more).unwrap().unwrap();
        assert_eq!(found.parsed.length, bytes.len());
        assert_eq!(found.parsed.persistence, Persistence::Implicit);
        assert_eq!(found.uri, b"/17");
        for end in 0..bytes.len() {
            assert_eq!(FastCgiRequest::parse(&bytes[..end]), Ok(None), "{end}");
        }
        let last = FastCgiRequest::parse(&request(0)).unwrap().unwrap();
        assert_eq!(last.parsed.persistence, Persistence::Close);
    }

    #[test]
    fn records_of_another_request_or_kind_are_refused() {
        for (at, value) in [(0, 2), (1, 9), (3, 2)] {
            let mut bytes = request(0);
            bytes[at] = value;
            assert_eq!(FastCgiRequest::parse(&bytes), Err(BadRequest), "byte {at}");
        }
    }

    #[test]
    fn a_large_body_takes_several_records() {
        let head = b"Status: 200 OK\r\nContent-Type: text/plain\r\n\r\n".len();
        let body = vec![b'x'; CONTENT_BYTES_MAX];
        let records = 4;
        assert_eq!(answer(&body).len(), head + body.len() + records * HEADER_BYTES + 8);
        assert_eq!(answer(b"ok").len(), head + 2 + 3 * HEADER_BYTES + 8);
    }
}
