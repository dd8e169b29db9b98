//! The bytes of a request as HTTP/1 writes them, for tests. The generator has its own encoder, in
//! the crate that depends on this one.

use stampede_model::load::{ConnectionHabit, Habits, HttpVersion};

use crate::request::{Content, Request};

/// The bytes of a request on a connection with these habits.
pub fn text(request: &Request, habits: Habits) -> Vec<u8> {
    let message = match request.content() {
        Content::Encoded(bytes) => return bytes.to_vec(),
        Content::Message(message) => message,
    };
    let (version, is_old) = match habits.version {
        HttpVersion::Http10 => (" HTTP/1.0\r\n", true),
        HttpVersion::Http11 => (" HTTP/1.1\r\n", false),
    };
    let connection = match (message.says_connection, is_old, habits.connection) {
        (false, false, ConnectionHabit::PerRequest) => "Connection: close\r\n",
        (false, true, ConnectionHabit::KeepAlive) => "Connection: keep-alive\r\n",
        _ => "",
    };
    let length = match !message.says_length && message.needs_length() {
        true => format!("Content-Length: {}\r\n", message.body.len()),
        false => String::new(),
    };
    let parts: [&[u8]; 10] = [
        message.method,
        b" ",
        message.path,
        version.as_bytes(),
        message.added,
        connection.as_bytes(),
        length.as_bytes(),
        message.given,
        b"\r\n",
        message.body,
    ];
    parts.concat()
}
