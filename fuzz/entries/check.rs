//! Checks that a rule is parsed or refused with a place in its text. The name of a parsed rule must
//! parse to the same rule, and applying a rule to a body must be harmless. The first line of the
//! input is the rule, the rest is the body.

use stampede_load::protocol::http1::Http1;
use stampede_load::protocol::{Answer, AnswerEnd, Checked, Protocol, RequestId};
use stampede_load::spec::{Check, Rule};
use stampede_model::load::{ConnectionHabit, Habits, HttpVersion};
use stampede_model::time::Nanos;
use stampede_traffic::Request;

const HABITS: Habits =
    Habits { version: HttpVersion::Http11, connection: ConnectionHabit::KeepAlive };

/// One input.
pub fn run(input: &str) {
    let (text, body) = input.split_once('\n').unwrap_or((input, ""));
    match Rule::parse(text) {
        Ok(rule) => {
            assert_eq!(Rule::parse(rule.name()).as_ref(), Ok(&rule));
            ask(rule, body);
        }
        Err(error) => {
            assert!(text.get(error.offset..error.offset + error.length).is_some(), "{error:?}");
            assert!(!error.to_string().is_empty() && !error.expected().is_empty());
        }
    }
}

fn ask(rule: Rule, body: &str) {
    let check = Check { rules: vec![rule], ..Check::default() };
    let mut http = Http1::new(&check, HABITS);
    let request = Request::default();
    http.start(RequestId(0), &request, &mut Vec::new());
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let mut ends = Vec::new();
    http.received(answer.as_bytes(), Nanos(1), &mut |answer: Answer| ends.push(answer.end));
    let [AnswerEnd::Whole { check, .. }] = ends[..] else { panic!("{ends:?}") };
    if let Checked::Wrong(failed) = check {
        let found = http.excerpt(RequestId(0), Some(failed)).found;
        assert!(!found.is_empty() && !found.contains(char::is_control), "{found:?}");
    }
}
