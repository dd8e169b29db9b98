//! TLS 1.2 and 1.3 around another protocol (RFC 5246, RFC 8446). It uses rustls without its sockets
//! and buffers: bytes in and bytes out.
//!
//! The handshake is part of the request that opens the connection: this request waits until the
//! keys are there. The library allocates per answer. Of our own, a connection has three buffers,
//! which it keeps. We close without a `close_notify`, at once, as we close TCP.

mod roots;
mod setup;
#[cfg(test)]
mod tests;

use rustls::ProtocolVersion;
use rustls::client::UnbufferedClientConnection;
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, InsufficientSizeError,
    UnbufferedStatus,
};
use stampede_model::time::Nanos;

use super::{Answer, AnswerEnd, Aside, Excerpt, Next, Protocol, RequestId};
use crate::check::Failed;
pub use setup::{Certificates, CertificatesError, Connector, Sessions, Setup, SetupError};
use stampede_traffic::request::Request;

/// One connection that speaks TLS, with `P` inside it.
pub struct Tls<P> {
    connector: Connector,
    inside: P,
    /// `None`: the connection will be opened.
    connection: Option<UnbufferedClientConnection>,
    /// Received bytes that are no whole record yet. Decryption works in place, so reads are copied.
    incoming: Vec<u8>,
    /// What the inner protocol has to send, until it is encrypted.
    plain: Vec<u8>,
    /// Records for the next `transmit`.
    outgoing: Vec<u8>,
    /// Lower bound of the records that were encrypted on this connection.
    encrypted: u64,
    /// Nothing can be sent or received on this connection any more.
    closed: bool,
}

/// How a turn ended.
enum TlsProgress {
    /// It needs more bytes, or a request.
    Waits,
    /// The peer announced that it sends no more.
    CloseNotify,
    /// The bytes are not TLS, or no version that both sides speak.
    Broken,
}

impl<P: Protocol> Tls<P> {
    /// The state of a connection that will be opened, with `inside` in it.
    pub fn new(connector: &Connector, inside: P) -> Tls<P> {
        Tls {
            connector: connector.clone(),
            inside,
            connection: None,
            incoming: Vec::new(),
            plain: Vec::new(),
            outgoing: Vec::new(),
            encrypted: 0,
            closed: false,
        }
    }

    /// Advances the connection as far as the bytes so far allow, and appends what it has to send to
    /// `out`. Every iteration takes a record, sends something that was pending, or is the last.
    fn advance(
        &mut self,
        out: &mut Vec<u8>,
        now: Nanos,
        answered: &mut dyn FnMut(Answer),
    ) -> TlsProgress {
        let connector = &self.connector;
        let connection = self.connection.get_or_insert_with(|| connector.connection());
        let mut used = 0;
        let progress = 'turn: loop {
            let UnbufferedStatus { discard, state } =
                connection.process_tls_records(&mut self.incoming[used..]);
            used += discard;
            match state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(record) = traffic.next_record() {
                        let Ok(record) = record else { break 'turn TlsProgress::Broken };
                        used += record.discard;
                        self.inside.received(record.payload, now, answered);
                    }
                }
                Ok(ConnectionState::EncodeTlsData(mut data)) => {
                    encode(&mut data, out);
                }
                Ok(ConnectionState::TransmitTlsData(data)) => data.done(),
                Ok(ConnectionState::BlockedHandshake) => break TlsProgress::Waits,
                Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                    if self.plain.is_empty() {
                        break TlsProgress::Waits;
                    }
                    let records = self.plain.len() / RECORD_BYTES + 1;
                    let guess = self.plain.len() + records * OVERHEAD_BYTES;
                    let plain = &self.plain;
                    let appended =
                        append(out, guess, |space| match traffic.encrypt(plain, space) {
                            Ok(bytes) => WriteResult::Bytes(bytes),
                            Err(EncryptError::InsufficientSize(needs)) => WriteResult::Needs(needs),
                            Err(EncryptError::EncryptExhausted) => WriteResult::Bytes(0),
                        });
                    self.encrypted += records as u64;
                    self.plain.clear();
                    break if appended > 0 { TlsProgress::Waits } else { TlsProgress::Broken };
                }
                Ok(ConnectionState::PeerClosed | ConnectionState::Closed) => {
                    break TlsProgress::CloseNotify;
                }
                // Only a server reads early data, and an unknown state does not belong to HTTP over
                // TLS.
                Ok(_) | Err(_) => break TlsProgress::Broken,
            }
        };
        self.incoming.drain(..used);
        progress
    }

    /// Advances the connection. Where it cannot go on, ends all requests on it.
    fn advance_or_end(&mut self, out: &mut Vec<u8>, now: Nanos, answered: &mut dyn FnMut(Answer)) {
        match self.advance(out, now, answered) {
            TlsProgress::Waits => {}
            TlsProgress::CloseNotify => {
                self.closed = true;
                self.inside.peer_closed(now, answered);
            }
            TlsProgress::Broken => {
                self.append_alert(out);
                self.end_all(AnswerEnd::Tls, now, answered);
            }
        }
    }

    /// Appends the alert to `out`, if the library has one for the peer. To be called once: after an
    /// error the library returns the alert before it looks at the records again.
    fn append_alert(&mut self, out: &mut Vec<u8>) {
        let Some(connection) = &mut self.connection else { return };
        let status = connection.process_tls_records(&mut self.incoming);
        if let Ok(ConnectionState::EncodeTlsData(mut data)) = status.state {
            encode(&mut data, out);
        }
    }

    /// Ends every request in flight with `end`; the inner protocol knows which they are.
    fn end_all(&mut self, end: AnswerEnd, now: Nanos, answered: &mut dyn FnMut(Answer)) {
        self.closed = true;
        self.inside.peer_closed(now, &mut |answer| answered(Answer { end, ..answer }));
    }

    /// Whether the keys are used up. Only TLS 1.2 has no way to change to new ones.
    fn are_keys_used_up(&self) -> bool {
        let version = self.connection.as_ref().and_then(|it| it.protocol_version());
        self.encrypted >= RECORDS_MAX && version == Some(ProtocolVersion::TLSv1_2)
    }
}

impl<P: Protocol> Protocol for Tls<P> {
    fn room(&self) -> bool {
        !self.closed && self.inside.room() && !self.are_keys_used_up()
    }

    fn start(&mut self, id: RequestId, request: &Request, out: &mut Vec<u8>) -> Option<AnswerEnd> {
        let mut ended = self.inside.start(id, request, &mut self.plain);
        // No byte has arrived: all that happens here is a first message, or an encryption. If even
        // that fails, the request would wait in vain.
        self.advance_or_end(out, Nanos(0), &mut |answer| ended = Some(answer.end));
        ended
    }

    fn cancel(&mut self, id: RequestId, out: &mut Vec<u8>) -> Next {
        let next = self.inside.cancel(id, &mut self.plain);
        if !self.plain.is_empty() {
            // The requests that end here are on a connection that the driver closes.
            self.advance_or_end(out, Nanos(0), &mut |_| {});
        }
        if self.closed { Next::Close } else { next }
    }

    fn received(&mut self, bytes: &[u8], came: Nanos, answered: &mut dyn FnMut(Answer)) {
        if self.closed {
            return;
        }
        self.incoming.extend_from_slice(bytes);
        let mut out = std::mem::take(&mut self.outgoing);
        self.advance_or_end(&mut out, came, answered);
        if !self.closed {
            // The inner protocol may have something to send by itself.
            self.inside.transmit(&mut self.plain);
            if !self.plain.is_empty() {
                self.advance_or_end(&mut out, came, answered);
            }
        }
        self.outgoing = out;
    }

    /// Without the peer's `close_notify`, anybody may have cut the connection. An answer that ends
    /// with the close is then not known to be whole (RFC 9112 section 9.8).
    fn peer_closed(&mut self, now: Nanos, answered: &mut dyn FnMut(Answer)) {
        if !self.closed {
            self.end_all(AnswerEnd::CutShort, now, answered);
        }
    }

    fn status(&self, id: RequestId) -> Option<u16> {
        self.inside.status(id)
    }

    fn take_aside(&mut self) -> Aside {
        self.inside.take_aside()
    }

    fn transmit(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.outgoing);
    }

    fn after_answer(&self) -> Next {
        if self.closed || self.are_keys_used_up() {
            Next::Close
        } else {
            self.inside.after_answer()
        }
    }

    fn first_byte(&self, id: RequestId) -> Option<Nanos> {
        self.inside.first_byte(id)
    }

    fn excerpt(&self, id: RequestId, failed: Option<Failed>) -> Excerpt {
        self.inside.excerpt(id, failed)
    }

    fn reset(&mut self) {
        self.inside.reset();
        self.connection = None;
        for buffer in [&mut self.incoming, &mut self.plain, &mut self.outgoing] {
            buffer.clear();
            buffer.shrink_to(KEPT_BYTES);
        }
        self.encrypted = 0;
        self.closed = false;
    }
}

fn encode<D>(data: &mut EncodeTlsData<'_, D>, out: &mut Vec<u8>) {
    append(out, HANDSHAKE_BYTES, |space| match data.encode(space) {
        Ok(bytes) => WriteResult::Bytes(bytes),
        Err(EncodeError::InsufficientSize(needs)) => WriteResult::Needs(needs),
        Err(EncodeError::AlreadyEncoded) => WriteResult::Bytes(0),
    });
}

/// Result of writing into the space that was offered.
enum WriteResult {
    Bytes(usize),
    Needs(InsufficientSizeError),
}

/// Appends what `write` puts into a slice, and returns its length. The slice first has `guess`
/// bytes; if that is too small, it has as many as `write` asks for.
fn append(
    out: &mut Vec<u8>,
    guess: usize,
    mut write: impl FnMut(&mut [u8]) -> WriteResult,
) -> usize {
    let before = out.len();
    let mut space = guess;
    for _ in 0..2 {
        out.resize(before + space, 0);
        match write(&mut out[before..]) {
            WriteResult::Bytes(bytes) => {
                out.truncate(before + bytes);
                return bytes;
            }
            WriteResult::Needs(needs) => space = needs.required_size,
        }
    }
    out.truncate(before);
    0
}

/// Most content of one record (RFC 8446 section 5.1).
const RECORD_BYTES: usize = 1 << 14;
/// Bytes of a record besides its content: 5 of header, and 17 (TLS 1.3) or 24 (TLS 1.2 with
/// AES-GCM) of type, nonce and tag.
const OVERHEAD_BYTES: usize = 32;
/// Our first message has some 230 bytes.
const HANDSHAKE_BYTES: usize = 512;
/// AES-GCM keys are good for 2^24.5 records (RFC 8446 section 5.5); rustls stops at 2^24. The
/// margin is for a handshake and one large body.
const RECORDS_MAX: u64 = (1 << 24) - (1 << 16);
/// Capacity that a buffer keeps for its next connection.
const KEPT_BYTES: usize = 16 * 1024;
