//! Checks that an HTTP/1.x answer is the same however it is torn, and ends its request once. The
//! first byte chooses the habits, the next four say where it is torn, the rest is the answer.

use std::sync::LazyLock;

use stampede_load::protocol::http1::Http1;
use stampede_load::spec::{Check, Rule};
use stampede_model::load::{ConnectionHabit, Habits, HttpVersion};
use stampede_traffic::AnswerShape;

use super::torn;

/// One rule of each kind.
static RULES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let texts = ["header x contains a", "body ~ /a+b/", "json $.a[0] == 1", "size < 9"];
    texts.iter().map(|text| Rule::parse(text).unwrap()).collect()
});

/// One input.
pub fn run(input: &[u8]) {
    let Some((set, rest)) = input.split_first() else { return };
    let Some((cuts, bytes)) = rest.split_first_chunk::<4>() else { return };
    let version = if set & 1 == 0 { HttpVersion::Http11 } else { HttpVersion::Http10 };
    let connection =
        if set & 2 == 0 { ConnectionHabit::KeepAlive } else { ConnectionHabit::PerRequest };
    let shape = if set & 4 == 0 { AnswerShape::ByHeaders } else { AnswerShape::NoBody };
    let rules = RULES.iter().filter(|_| set & 8 != 0).cloned();
    let contains = if set & 16 == 0 { &b""[..] } else { b"aab" };
    let check =
        Check { body_contains: contains.to_vec(), rules: rules.collect(), ..Check::default() };
    // A small limit, so that inputs reach it.
    let make = || Http1::with_head_limit(&check, Habits { version, connection }, 512);
    torn::same(make, shape, bytes, cuts);
}
