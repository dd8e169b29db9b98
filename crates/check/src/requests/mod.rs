//! Selects the requests of a check: those of a file, or those that the app's links and its router
//! name.

mod crawl;
mod error;
mod file;
mod form;
mod links;
mod policy;
pub mod routes;
mod shape;
mod sign_in;
mod words;

use std::collections::BTreeMap;

use stampede_model::fact::NotSent;

use crate::model::{CheckRequest, SkippedRequest};
use shape::Shapes;

pub use crawl::{Crawl, PAGES};
pub use error::RequestError;
pub use file::read;
pub use links::{Links, json_links, links};
pub use policy::{METHODS, Policy};
pub use sign_in::{Credentials, wants_login};

/// Requests of a list, and the entries that are left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RequestList {
    /// Requests to send, each once, in the list's order.
    pub requests: Vec<CheckRequest>,
    /// Entries that are not sent, with the reasons.
    pub skipped: Vec<SkippedRequest>,
}

impl RequestList {
    /// Returns the whole list if it is short enough; otherwise the list as [`RequestList::thinned`].
    #[must_use]
    pub fn bounded(self, limit: usize) -> RequestList {
        if self.requests.len() <= limit { self } else { self.thinned(limit) }
    }

    /// Returns as many requests of each shape (`/product/1`, `/product/2` …) as a crawl would send,
    /// and `limit` in total. The others are skipped, grouped by shape: an access log may contain
    /// every page of a shop.
    #[must_use]
    pub fn thinned(self, limit: usize) -> RequestList {
        let RequestList { requests, mut skipped } = self;
        let mut shapes: BTreeMap<String, Shapes> = BTreeMap::new();
        let (mut kept, mut beyond) = (Vec::new(), 0);
        for request in requests {
            let is_taken = shapes.entry(request.method.clone()).or_default().take(&request.target);
            if is_taken && kept.len() < limit {
                kept.push(request);
            } else if is_taken {
                beyond += 1;
            }
        }
        skipped.extend(shapes.iter().flat_map(|(method, shapes)| shapes.skipped(method)));
        if beyond > 0 {
            let why = NotSent::OverLimit { limit }.into();
            skipped.push(SkippedRequest { request: format!("{beyond} more"), why });
        }
        RequestList { requests: kept, skipped }
    }
}

#[cfg(test)]
mod tests {
    use stampede_traffic::TrafficFile;

    use super::*;

    #[test]
    fn a_long_list_is_thinned_by_shape_and_then_by_number() {
        let list: Vec<String> = (1..=500).map(|id| format!("/product/{id}")).collect();
        let list = format!("{}\n/a\n/b\n/c\n", list.join("\n"));
        let listed =
            file::of(list.as_bytes(), &TrafficFile::new("urls.txt")).expect("a list").thinned(5);
        let requests: Vec<&str> =
            listed.requests.iter().map(|request| request.target.as_str()).collect();
        assert_eq!(requests, ["/product/1", "/product/2", "/product/3", "/a", "/b"]);
        let skipped = listed
            .skipped
            .iter()
            .map(|skipped| format!("{}: {}", skipped.request, skipped.why.sentence()));
        let expected = [
            "GET /product/{n} (497): enough others have the same shape",
            "1 more: beyond the limit of 5",
        ];
        assert_eq!(skipped.collect::<Vec<_>>(), expected);
    }
}
