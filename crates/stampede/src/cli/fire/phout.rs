//! Formats a request as a row of Yandex Tank's `phout`, the format of phantom.
//!
//! A row has twelve columns, separated by tabs: start (s since 1970, to the ms), tag, total time,
//! time to connect, time to send the request, time to the first byte of the answer, time from there
//! to its last byte, time spent waiting for events, bytes sent, bytes received, network code,
//! status. Times are in µs, and the four parts add up to the total.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use stampede_model::time::Nanos;

/// One request. Times are since the load began.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// Tag of the request.
    pub tag: &'a str,
    /// Time of the first connect or write call.
    pub started: Nanos,
    /// Time at which a new connection was ready; `None`: the request used a kept connection.
    pub connected: Option<Nanos>,
    /// Time at which the request was sent.
    pub sent: Nanos,
    /// Time of the first byte of the answer; `None`: there was no byte.
    pub first_byte: Option<Nanos>,
    /// Time at which the request ended.
    pub done: Nanos,
    /// Bytes written.
    pub bytes_sent: u64,
    /// Bytes read.
    pub bytes_received: u64,
    /// Tank's network code; 0: a complete answer.
    pub net_code: u32,
    /// Status of the answer; 0: there was no complete answer.
    pub status: u16,
}

impl Row<'_> {
    /// Formats the row with its line feed. `began` is the load's start on the wall clock.
    pub fn line(&self, began: SystemTime) -> String {
        let at = began + Duration::from(self.started);
        let at = at.duration_since(UNIX_EPOCH).unwrap_or_default();
        // No time may be before the previous one, as in phantom. Each is cut to whole µs before the
        // subtraction, so that the parts add up to the total.
        let connected = self.connected.unwrap_or(self.started).max(self.started);
        let sent = self.sent.max(connected).min(self.done.max(connected));
        let first_byte = self.first_byte.unwrap_or(self.done).max(sent);
        let done = self.done.max(first_byte);
        let us = |from: Nanos, to: Nanos| to.0 / 1_000 - from.0 / 1_000;
        format!(
            "{}.{:03}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n",
            at.as_secs(),
            at.subsec_millis(),
            one_word(self.tag),
            us(self.started, done),
            us(self.started, connected),
            us(connected, sent),
            us(sent, first_byte),
            us(first_byte, done),
            // phantom waits for the connection, the answer and its end. stampede waits for all of
            // these, too.
            us(self.started, done),
            self.bytes_sent,
            self.bytes_received,
            self.net_code,
            self.status
        )
    }
}

/// Replaces tabs and line feeds, which would start new columns and rows.
fn one_word(tag: &str) -> String {
    tag.replace(['\t', '\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Row<'static> {
        Row {
            tag: "/a b",
            started: Nanos(1_500_999_999),
            connected: Some(Nanos(1_501_500_500)),
            sent: Nanos(1_501_520_100),
            first_byte: Some(Nanos(1_510_000_000)),
            done: Nanos(1_510_000_999),
            bytes_sent: 97,
            bytes_received: 4_096,
            net_code: 0,
            status: 200,
        }
    }

    fn columns(row: &Row<'_>) -> Vec<String> {
        let began = UNIX_EPOCH + Duration::from_millis(1_700_000_000_250);
        row.line(began).trim_end_matches('\n').split('\t').map(str::to_owned).collect()
    }

    #[test]
    fn a_row_has_the_twelve_columns_of_yandex_tank() {
        // The start is 1.500999 s after 0.250 s. Times are cut to µs before they are subtracted.
        let expected = "1700000001.750 /a·b 9001 501 20 8480 0 9001 97 4096 0 200";
        assert_eq!(columns(&Row { tag: "/a·b", ..row() }).join(" "), expected);
    }

    #[test]
    fn parts_add_up_to_the_whole() {
        let kept = Row { connected: None, ..row() };
        let timed_out = Row {
            sent: Nanos(12_501_000_000),
            first_byte: None,
            done: Nanos(12_501_000_000),
            net_code: 110,
            status: 0,
            ..row()
        };
        let refused = Row { connected: Some(timed_out.done), ..timed_out };
        for row in [row(), kept, timed_out, refused] {
            let columns = columns(&row);
            let number = |at: usize| columns[at].parse::<u64>().expect("a number");
            assert_eq!((3..7).map(number).sum::<u64>(), number(2), "{columns:?}");
        }
        assert_eq!(columns(&kept)[3], "0");
        assert_eq!(columns(&refused)[3..7], ["11000001", "0", "0", "0"].map(str::to_owned));
    }

    #[test]
    fn a_tag_cannot_add_columns() {
        assert_eq!(columns(&Row { tag: "a\tb\nc", ..row() })[1], "a b c");
    }
}
