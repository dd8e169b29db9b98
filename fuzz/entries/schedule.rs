//! Checks that a schedule is parsed or refused with a place in its text. A parsed one prints as
//! text that parses to the same, and its first requests are due in order.

use stampede_model::load::Arrivals;
use stampede_model::schedule::{Schedule, Segments};

/// One input.
pub fn run(text: &str) {
    match Segments::parse(text) {
        Ok(segments) => {
            assert_eq!(Segments::parse(&segments.to_string()).as_ref(), Ok(&segments));
            let mut due = segments.due_times(Arrivals::Uniform);
            let mut last = None;
            for _ in 0..1_000 {
                let Some(next) = due.next_due() else { break };
                assert!(last <= Some(next) && next <= segments.length(), "{last:?} {next:?}");
                last = Some(next);
            }
        }
        Err(error) => {
            assert!(text.get(error.offset..error.offset + error.length).is_some(), "{error:?}");
            assert!(!error.to_string().is_empty() && !error.expected().is_empty());
        }
    }
}
