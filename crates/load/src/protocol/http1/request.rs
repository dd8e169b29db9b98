//! Encodes a request in HTTP/1.0 or 1.1 (RFC 9112 sections 3 and 6).

use std::io::Write as _;

use stampede_model::load::{ConnectionHabit, Habits, HttpVersion};

use stampede_traffic::request::{Content, Message, Request};

/// The bytes of a request on a connection with these habits.
pub fn text(request: &Request, habits: Habits) -> Vec<u8> {
    let mut out = Vec::new();
    append(request, habits, &mut out);
    out
}

/// Appends the bytes of a request. Allocates only where `out` has to grow.
#[inline]
pub(super) fn append(request: &Request, habits: Habits, out: &mut Vec<u8>) {
    match request.content() {
        Content::Encoded(bytes) => out.extend_from_slice(bytes),
        Content::Message(message) => encode(message, habits, out),
    }
}

/// Adds `Content-Length` if there is a body, or for a POST, PUT or PATCH. Adds `Connection` if the
/// habit is not the default of the version (RFC 9112 section 9.3).
fn encode(message: Message<'_>, habits: Habits, out: &mut Vec<u8>) {
    let version: &[u8] = match habits.version {
        HttpVersion::Http10 => b" HTTP/1.0\r\n",
        HttpVersion::Http11 => b" HTTP/1.1\r\n",
    };
    for part in [message.method, b" ", message.path, version, message.added] {
        out.extend_from_slice(part);
    }
    if !message.says_connection {
        out.extend_from_slice(match (habits.version, habits.connection) {
            (HttpVersion::Http11, ConnectionHabit::PerRequest) => b"Connection: close\r\n",
            (HttpVersion::Http10, ConnectionHabit::KeepAlive) => b"Connection: keep-alive\r\n",
            (HttpVersion::Http11, ConnectionHabit::KeepAlive)
            | (HttpVersion::Http10, ConnectionHabit::PerRequest) => b"",
        });
    }
    if !message.says_length && message.needs_length() {
        write!(out, "Content-Length: {}\r\n", message.body.len())
            .expect("writing into memory does not fail");
    }
    for part in [message.given, b"\r\n", message.body] {
        out.extend_from_slice(part);
    }
}
