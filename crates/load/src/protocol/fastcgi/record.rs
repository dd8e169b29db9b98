//! Records, the units that FastCGI sends on a connection (FastCGI Specification 1.0, section 3).
//!
//! A connection carries one request at a time, and its id is always 1: neither php-fpm nor any
//! other server that we know of accepts several at once.

/// Appends the records of a complete responder request: begin, parameters and body.
pub fn write_request(out: &mut Vec<u8>, params: &[u8], body: &[u8], keep: KeepConnection) {
    write_begin(out, keep);
    write_stream(out, PARAMS, params);
    write_stdin(out, body);
}

/// Appends the record that begins a responder request.
pub(super) fn write_begin(out: &mut Vec<u8>, keep: KeepConnection) {
    let flags = match keep {
        KeepConnection::Yes => 1,
        KeepConnection::No => 0,
    };
    write(out, BEGIN_REQUEST, &[0, RESPONDER, flags, 0, 0, 0, 0, 0]);
}

/// Makes the stream of parameters of what was appended from index `begin` on. Their length is only
/// known once they are written, so they are moved to make room for the headers of their records.
pub(super) fn end_params(out: &mut Vec<u8>, begin: usize) {
    let length = out.len() - begin;
    let pieces = length.div_ceil(CONTENT_MAX);
    out.resize(out.len() + pieces * HEADER_BYTES, 0);
    // The last one first, so that none is overwritten before it is moved.
    for piece in (0..pieces).rev() {
        let from = begin + piece * CONTENT_MAX;
        let bytes = CONTENT_MAX.min(length - piece * CONTENT_MAX);
        let to = from + (piece + 1) * HEADER_BYTES;
        out.copy_within(from..from + bytes, to);
        out[to - HEADER_BYTES..to].copy_from_slice(&header(PARAMS, bytes));
    }
    write(out, PARAMS, &[]);
}

/// Appends the body of a request.
pub(super) fn write_stdin(out: &mut Vec<u8>, body: &[u8]) {
    write_stream(out, STDIN, body);
}

/// Whether the server is asked to keep the connection after the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepConnection {
    /// `FCGI_KEEP_CONN` is set.
    Yes,
    /// The server closes the connection.
    No,
}

/// Appends a name and a value in the encoding of parameters (section 3.4). A length up to 127 takes
/// one byte, a longer one four bytes with the top bit set.
pub fn write_param(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    write_lengths(out, name.len(), value.len());
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(value);
}

/// Appends the lengths of a name and of a value, which have to follow.
pub(super) fn write_lengths(out: &mut Vec<u8>, name: usize, value: usize) {
    for length in [name, value] {
        match u8::try_from(length) {
            Ok(short) if short < 128 => out.push(short),
            _ => out.extend_from_slice(&(length as u32 | 1 << 31).to_be_bytes()),
        }
    }
}

/// Appends a stream: its content, if any, and an empty record that ends it.
fn write_stream(out: &mut Vec<u8>, kind: u8, content: &[u8]) {
    content.chunks(CONTENT_MAX).for_each(|piece| write(out, kind, piece));
    write(out, kind, &[]);
}

fn write(out: &mut Vec<u8>, kind: u8, content: &[u8]) {
    out.extend_from_slice(&header(kind, content.len()));
    out.extend_from_slice(content);
}

fn header(kind: u8, content_bytes: usize) -> [u8; HEADER_BYTES] {
    let length = u16::try_from(content_bytes).expect("pieces are cut to what a record holds");
    let [high, low] = length.to_be_bytes();
    [VERSION, kind, 0, REQUEST, high, low, 0, 0]
}

/// Kind of a record that a server sends to the client of a responder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The end of the request.
    End,
    /// The answer.
    Stdout,
    /// Messages besides the answer.
    Stderr,
}

/// Reads records one after another from split reads.
#[derive(Debug)]
pub struct RecordReader {
    header: [u8; HEADER_BYTES],
    /// Bytes of the header so far.
    filled: usize,
    /// Bytes of the current record that are still to come.
    content: usize,
    padding: usize,
    kind: Kind,
}

/// What the next bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordStep<'a> {
    /// All were taken; more must arrive.
    NeedMore,
    /// Content of a record; never empty.
    Content(Kind, &'a [u8]),
    /// A record has ended, its padding included.
    End {
        /// Kind of the record.
        kind: Kind,
        /// Whether it had no content, which ends its stream.
        empty: bool,
    },
    /// The last byte taken does not belong to a record that we accept.
    Bad,
}

impl RecordReader {
    /// A reader before the first record.
    pub fn new() -> RecordReader {
        let header = [0; HEADER_BYTES];
        RecordReader { header, filled: 0, content: 0, padding: 0, kind: Kind::Stdout }
    }

    /// Takes the bytes of one step and returns how many. Call it until it returns `NeedMore` or
    /// `Bad`; after `Bad` there is nothing to read. Every other step takes a byte, or ends a record
    /// that did.
    pub fn take<'a>(&mut self, bytes: &'a [u8]) -> (usize, RecordStep<'a>) {
        let mut used = 0;
        while self.filled < HEADER_BYTES {
            let Some(byte) = bytes.get(used) else { return (used, RecordStep::NeedMore) };
            used += 1;
            if !self.take_header(*byte) {
                return (used, RecordStep::Bad);
            }
        }
        let taken = self.content.min(bytes.len() - used);
        if taken > 0 {
            self.content -= taken;
            return (used + taken, RecordStep::Content(self.kind, &bytes[used..used + taken]));
        }
        if self.content > 0 {
            return (used, RecordStep::NeedMore);
        }
        let taken = self.padding.min(bytes.len() - used);
        self.padding -= taken;
        if self.padding > 0 {
            return (used + taken, RecordStep::NeedMore);
        }
        self.filled = 0;
        let empty = self.length() == 0;
        (used + taken, RecordStep::End { kind: self.kind, empty })
    }

    /// Takes the next byte of the header and returns whether it is allowed there. Each byte is
    /// judged by itself, so that a wrong one is found wherever a read ends.
    fn take_header(&mut self, byte: u8) -> bool {
        let at = self.filled;
        self.header[at] = byte;
        self.filled += 1;
        match at {
            0 => byte == VERSION,
            1 => match byte {
                END_REQUEST => self.begin_record(Kind::End),
                STDOUT => self.begin_record(Kind::Stdout),
                STDERR => self.begin_record(Kind::Stderr),
                _ => false,
            },
            2 => byte == 0,
            3 => byte == REQUEST,
            5 => {
                self.content = self.length();
                self.kind != Kind::End || self.content == END_BYTES
            }
            6 => {
                self.padding = usize::from(byte);
                true
            }
            _ => true,
        }
    }

    fn begin_record(&mut self, kind: Kind) -> bool {
        self.kind = kind;
        true
    }

    fn length(&self) -> usize {
        usize::from(u16::from_be_bytes([self.header[4], self.header[5]]))
    }
}

impl Default for RecordReader {
    fn default() -> RecordReader {
        RecordReader::new()
    }
}

const VERSION: u8 = 1;
const HEADER_BYTES: usize = 8;
/// Most content of one record.
const CONTENT_MAX: usize = u16::MAX as usize;
/// Content of the record that ends a request (section 5.5).
pub(super) const END_BYTES: usize = 8;
const REQUEST: u8 = 1;
const RESPONDER: u8 = 1;

const BEGIN_REQUEST: u8 = 1;
const END_REQUEST: u8 = 3;
const PARAMS: u8 = 4;
const STDIN: u8 = 5;
const STDOUT: u8 = 6;
const STDERR: u8 = 7;

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A record as servers send it, with `padding` bytes after its content.
    pub(in super::super) fn record(kind: Kind, content: &[u8], padding: u8) -> Vec<u8> {
        let kind = match kind {
            Kind::End => END_REQUEST,
            Kind::Stdout => STDOUT,
            Kind::Stderr => STDERR,
        };
        let mut bytes = Vec::new();
        write(&mut bytes, kind, content);
        bytes[6] = padding;
        bytes.resize(bytes.len() + usize::from(padding), 0xee);
        bytes
    }

    fn read(pieces: &[&[u8]]) -> Vec<String> {
        let mut reader = RecordReader::new();
        let mut steps = Vec::new();
        for piece in pieces {
            let mut used = 0;
            loop {
                let (taken, step) = reader.take(&piece[used..]);
                used += taken;
                match step {
                    RecordStep::NeedMore => break,
                    RecordStep::Bad => {
                        steps.push(format!("bad after {used}"));
                        return steps;
                    }
                    other => steps.push(format!("{other:?}")),
                }
            }
            assert_eq!(used, piece.len());
        }
        steps
    }

    #[test]
    fn lengths_of_parameters_are_those_of_the_specification() {
        let mut out = Vec::new();
        write_param(&mut out, "A", &[b'x'; 127]);
        assert_eq!(out[..3], [1, 127, b'A']);
        out.clear();
        write_param(&mut out, "A", &[b'x'; 200]);
        assert_eq!(out[..6], [1, 0x80, 0, 0, 200, b'A']);
        assert_eq!(out.len(), 1 + 4 + 1 + 200);
    }

    #[test]
    fn a_request_begins_and_sends_and_ends_its_streams() {
        let mut out = Vec::new();
        write_request(&mut out, b"pp", b"body", KeepConnection::Yes);
        let expected: &[&[u8]] = &[
            &[1, 1, 0, 1, 0, 8, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0],
            &[1, 4, 0, 1, 0, 2, 0, 0, b'p', b'p', 1, 4, 0, 1, 0, 0, 0, 0],
            &[1, 5, 0, 1, 0, 4, 0, 0],
            b"body",
            &[1, 5, 0, 1, 0, 0, 0, 0],
        ];
        assert_eq!(out, expected.concat());
        let mut none = Vec::new();
        write_request(&mut none, b"pp", b"", KeepConnection::No);
        assert_eq!((none[10], none.len()), (0, 16 + 18 + 8));
    }

    #[test]
    fn parameters_that_are_written_in_place_make_the_same_records() {
        for length in [0, 1, CONTENT_MAX, CONTENT_MAX + 1, 3 * CONTENT_MAX, 200_000] {
            let params: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            let (mut expected, mut out) = (Vec::new(), Vec::new());
            write_request(&mut expected, &params, b"body", KeepConnection::Yes);
            write_begin(&mut out, KeepConnection::Yes);
            let begin = out.len();
            out.extend_from_slice(&params);
            end_params(&mut out, begin);
            write_stdin(&mut out, b"body");
            assert!(out == expected, "{length}");
        }
    }

    #[test]
    fn a_large_body_is_split_over_several_records() {
        let mut out = Vec::new();
        write_request(&mut out, b"", &[7; 65_536], KeepConnection::No);
        // Begin; no parameters; 65 535 bytes; the last byte; the end.
        assert_eq!(out.len(), 16 + 8 + (8 + 65_535) + (8 + 1) + 8);
        assert_eq!(out[24..32], [1, 5, 0, 1, 0xff, 0xff, 0, 0]);
        assert_eq!(out[32 + 65_535..][..9], [1, 5, 0, 1, 0, 1, 0, 0, 7]);
    }

    #[test]
    fn records_are_separated_with_and_without_padding() {
        let bytes = [
            record(Kind::Stdout, b"ab", 3),
            record(Kind::Stderr, b"", 0),
            record(Kind::End, &[0; 8], 1),
        ]
        .concat();
        assert_eq!(
            read(&[&bytes]),
            [
                "Content(Stdout, [97, 98])",
                "End { kind: Stdout, empty: false }",
                "End { kind: Stderr, empty: true }",
                "Content(End, [0, 0, 0, 0, 0, 0, 0, 0])",
                "End { kind: End, empty: false }",
            ]
        );
    }

    #[test]
    fn an_invalid_byte_is_reported_at_its_position() {
        let right = record(Kind::End, &[0; 8], 0);
        // Wrong version; a management record; an unknown kind; another request's id; a wrong
        // length.
        for (at, wrong) in [(0, 2), (1, 10), (1, 5), (2, 1), (3, 2), (3, 0), (4, 1), (5, 9)] {
            let mut bytes = right.clone();
            bytes[at] = wrong;
            let reported_at = if at == 4 { 6 } else { at + 1 };
            assert_eq!(read(&[&bytes]), [format!("bad after {reported_at}")], "{at} {wrong}");
        }
    }
}
