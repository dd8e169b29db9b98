//! Passes on the requests of a load that ended, as far as the connection takes them. The load waits
//! for nobody, so what waits here is bounded.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use stampede_load::report::RequestRecord;
use stampede_traffic::tag::{Tag, Tags};

use crate::message::{EndedRequests, FromAgent, LoadEvent};

/// How many requests wait to be written to the coordinator.
#[derive(Clone, Debug, Default)]
pub(super) struct Backlog(Arc<AtomicUsize>);

impl Backlog {
    /// Makes room for requests. `false`: there is none.
    fn takes(&self, requests: usize) -> bool {
        let fits = |waiting: usize| {
            waiting.checked_add(requests).filter(|waiting| *waiting <= WAITING_MAX)
        };
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
    }

    /// The message was written.
    pub(super) fn written(&self, message: &FromAgent) {
        if let FromAgent::Load(LoadEvent::Requests(ended)) = message {
            self.0.fetch_sub(ended.requests.len(), Ordering::Relaxed);
        }
    }
}

/// The requests of one load.
#[derive(Debug)]
pub(super) struct PassedRequests {
    tags: Tags,
    /// How many names of `tags` the coordinator knows.
    told: usize,
    backlog: Backlog,
    /// Requests that were left out.
    pub(super) lost: u64,
}

impl PassedRequests {
    /// Requests of a load with these tags.
    pub(super) fn new(tags: Tags, backlog: Backlog) -> PassedRequests {
        PassedRequests { tags, told: 0, backlog, lost: 0 }
    }

    /// What to tell the coordinator of these requests. `None`: the connection is too far behind.
    pub(super) fn passed(&mut self, requests: &[RequestRecord]) -> Option<EndedRequests> {
        if !self.backlog.takes(requests.len()) {
            self.lost += requests.len() as u64;
            return None;
        }
        let known = self.tags.len();
        let name = |number: usize| self.tags.name(Tag(number as u16)).to_string();
        let new_tags = (self.told + 1..=known).map(name).collect();
        self.told = known;
        Some(EndedRequests { new_tags, requests: requests.to_vec() })
    }
}

/// Requests that wait at most: some 75 MB.
const WAITING_MAX: usize = 512 << 10;

#[cfg(test)]
mod tests {
    use stampede_load::outcome::Outcome;
    use stampede_model::time::Nanos;

    use super::*;

    fn record(tag: Tag) -> RequestRecord {
        RequestRecord {
            due: Nanos(0),
            started: Nanos(0),
            connected: None,
            sent: Nanos(0),
            first_byte: None,
            done: Nanos(1),
            bytes_sent: 1,
            bytes_received: 0,
            tag,
            outcome: Outcome::Ok,
            status: Some(200),
        }
    }

    #[test]
    fn a_name_is_said_once_and_before_its_first_request() {
        let tags = Tags::new();
        let (backlog, first) = (Backlog::default(), tags.tag("first"));
        let mut passed = PassedRequests::new(tags.clone(), backlog);
        let mut names = |tag| passed.passed(&[record(tag)]).expect("there is room").new_tags;
        assert_eq!(names(Tag::NONE), ["first"]);
        assert_eq!(names(first), [""; 0]);
        let (second, third) = (tags.tag("second"), tags.tag("third"));
        assert_eq!(names(second), ["second", "third"]);
        assert_eq!(names(third), [""; 0]);
    }

    #[test]
    fn a_connection_that_takes_nothing_costs_bounded_memory() {
        let backlog = Backlog::default();
        let mut passed = PassedRequests::new(Tags::new(), backlog.clone());
        let batch = vec![record(Tag::NONE); 1 << 10];
        let mut kept: Vec<_> = (0..1_000).filter_map(|_| passed.passed(&batch)).collect();
        assert_eq!((kept.len(), passed.lost), (512, 488 << 10));
        let one = kept.pop().expect("some were passed");
        backlog.written(&FromAgent::Load(LoadEvent::Requests(one)));
        assert!(passed.passed(&batch).is_some());
        assert!(passed.passed(&batch).is_none());
    }
}
