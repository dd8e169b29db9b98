//! What a runtime does in another way than the reference: `runtimes/NAME/requests.yaml`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use super::corpus::RawRequest;
use super::told::Told;
use crate::paths_support::reference::directory;

/// All differences of a runtime.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Differences {
    /// In the order of the file.
    pub differs: Vec<Difference>,
}

/// One of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// A sentence for the README.
    pub because: String,
    /// Names of requests; `*` stands for any letters.
    pub requests: Vec<String>,
    /// What differs: `status`, `body`, `header x-twice`, `get`, `server HTTPS` …, and where no answer
    /// comes at all `answer`; or such a name with both values, in the words of [`Found::told`]; `*` as
    /// above.
    pub what: Vec<String>,
}

/// What a runtime tells in another way: one thing of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The request's name.
    pub request: String,
    /// The name of what is told.
    pub what: String,
    /// What the runtime tells, and what the reference tells.
    pub values: (Option<String>, Option<String>),
}

impl Found {
    /// A line for people.
    pub fn told(&self) -> String {
        let shown = |value: &Option<String>| {
            value.as_ref().map_or_else(|| "not there".to_owned(), |text| format!("`{text}`"))
        };
        let (told, right) = (shown(&self.values.0), shown(&self.values.1));
        format!("{} is {told}, and should be {right}", self.what)
    }

    fn is_like(&self, pattern: &str) -> bool {
        fits(pattern, &self.what) || fits(pattern, &self.told())
    }
}

impl Differences {
    /// The differences of a runtime; without a file it has none.
    pub fn of(name: &str) -> Differences {
        let path = directory().join(name).join("requests.yaml");
        let Ok(text) = std::fs::read_to_string(&path) else { return Differences::default() };
        serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Why it differs, a reason for each difference.
    pub fn reasons(&self) -> impl Iterator<Item = &str> {
        self.differs.iter().map(|one| &*one.because)
    }

    /// What is found and not listed.
    pub fn unlisted(&self, found: &[Found]) -> Vec<Found> {
        let is_listed = |one: &Found| self.differs.iter().any(|listed| listed.has(one));
        found.iter().filter(|one| !is_listed(one)).cloned().collect()
    }

    /// Patterns of the list that nothing found is like: the runtime does there what is right.
    pub fn stale(&self, found: &[Found]) -> Vec<String> {
        let unused = |listed: &Difference| {
            let is_used =
                |ask: &dyn Fn(&Found) -> bool| found.iter().filter(|one| listed.has(one)).any(ask);
            let requests = listed.requests.iter();
            let requests = requests.filter(|one| !is_used(&|found| fits(one, &found.request)));
            let what = listed.what.iter().filter(|one| !is_used(&|found| found.is_like(one)));
            let unused: Vec<String> = requests.chain(what).cloned().collect();
            let line = |pattern: String| format!("{}: `{pattern}`", listed.because);
            unused.into_iter().map(line).collect::<Vec<_>>()
        };
        self.differs.iter().flat_map(unused).collect()
    }
}

impl Difference {
    fn has(&self, found: &Found) -> bool {
        self.requests.iter().any(|pattern| fits(pattern, &found.request))
            && self.what.iter().any(|pattern| found.is_like(pattern))
    }
}

/// What of `told` differs from what is right, request by request. Without an answer that is all, and
/// of an answer that is not the app's it is the status.
pub fn compared(requests: &[RawRequest], right: &[Told], told: &[Told]) -> Vec<Found> {
    let mut all = Vec::new();
    for (request, (right, told)) in requests.iter().zip(right.iter().zip(told)) {
        let has = |told: &Told, name: &str| told.contains_key(name);
        let of_app = |told: &Told| has(told, "get");
        let names: BTreeSet<&str> = match () {
            () if has(told, "answer") || has(right, "answer") => BTreeSet::from(["answer"]),
            // Each server words its own refusals.
            () if request.is_raw() && !(of_app(right) && of_app(told)) => {
                BTreeSet::from(["status"])
            }
            () if of_app(right) && !of_app(told) && told.get("status") != right.get("status") => {
                BTreeSet::from(["status"])
            }
            () => right.keys().chain(told.keys()).map(String::as_str).collect(),
        };
        for what in names {
            let values = (told.get(what).cloned(), right.get(what).cloned());
            if values.0 != values.1 {
                all.push(Found { request: request.name.clone(), what: what.to_owned(), values });
            }
        }
    }
    all
}

/// The same for people: what differs in the same way is one line.
pub fn lines(found: &[Found]) -> Vec<String> {
    let mut alike = BTreeMap::<_, Vec<&str>>::new();
    for one in found {
        alike.entry(one.told()).or_default().push(&one.request);
    }
    let line = |(told, requests): (String, Vec<&str>)| {
        let told: String = told.chars().take(SHOWN).collect();
        format!("{told}: {}", requests.join(", "))
    };
    alike.into_iter().map(line).collect()
}

/// Characters that a message shows of what differs.
const SHOWN: usize = 500;

/// Whether a text is like a pattern, in which `*` stands for any letters.
pub fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, after)) => {
            let Some(rest) = text.strip_prefix(before) else { return false };
            let mut ends = (0..=rest.len()).filter(|end| rest.is_char_boundary(*end));
            ends.any(|end| fits(after, &rest[end..]))
        }
    }
}

#[test]
fn a_pattern_fits_what_it_describes() {
    for (pattern, text, does) in [
        ("status", "status", true),
        ("status", "state", false),
        ("header *", "header x-twice", true),
        ("*", "", true),
        ("a*c*e", "abcde", true),
        ("a*c*e", "abde", false),
        ("*ü", "xü", true),
    ] {
        assert_eq!(fits(pattern, text), does, "{pattern} {text}");
    }
}

/// The list of a runtime's differences would hide everything if nothing were compared.
#[test]
fn what_differs_is_found_and_a_list_has_nothing_else() {
    let requests = &super::corpus::Corpus::read().requests[..1];
    let told = |name: &str, text: &str| Told::from([(name.to_owned(), text.to_owned())]);
    let found = compared(requests, &[told("post", "1")], &[told("status", "500")]);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(compared(requests, &[told("get", "1")], &[told("status", "500")]).len(), 1);
    assert!(compared(requests, &[told("get", "1")], &[told("get", "1")]).is_empty());
    let listed = |what: &[&str]| Differences {
        differs: vec![Difference {
            because: "so it is".to_owned(),
            requests: vec!["*".to_owned()],
            what: what.iter().map(|one| (*one).to_owned()).collect(),
        }],
    };
    assert_eq!(listed(&["status"]).unlisted(&found).len(), 1);
    assert!(listed(&["status"]).stale(&found).is_empty());
    let with_values = |right: &str| format!("status is `500`, and should be {right}");
    assert_eq!(listed(&[&with_values("not there")]).unlisted(&found).len(), 1);
    assert_eq!(listed(&[&with_values("`200`")]).unlisted(&found).len(), 2);
    assert_eq!(listed(&["p*", "body"]).stale(&found), ["so it is: `body`"]);
    let none = compared(requests, &[told("get", "1")], &[told("answer", "none in time")]);
    assert_eq!(none.len(), 1, "{none:?}");
    assert_eq!(lines(&none)[0], "answer is `none in time`, and should be not there: query plain");
}
