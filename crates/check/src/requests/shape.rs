//! Groups targets by shape: the same code answers `/product/1` and `/product/900`.

use std::collections::{BTreeMap, HashMap};

use stampede_model::fact::NotSent;
use stampede_model::segments::decoded;

use super::words::{is_routing, pairs, parts};
use crate::model::SkippedRequest;

/// Most targets of a shape with a number, an id or a title: enough to see what one request leaves
/// behind for the next.
const SAME_MAX: usize = 3;
/// Most targets that differ in a word behind one path (`/docs/install`, `/docs/usage`), which may
/// be different pages or not.
const WORDS_MAX: usize = 10;
/// Most shapes that are listed as skipped.
const LISTED_MAX: usize = 100;
/// Placeholders for the parts that differ.
const NUMBER: &str = "{n}";
const TITLE: &str = "{title}";
const WORD: &str = "{word}";

/// Counts targets by their shape.
#[derive(Clone, Debug, Default)]
pub(super) struct Shapes {
    seen: HashMap<String, usize>,
    /// Number of targets beyond the limit, by shape.
    beyond: BTreeMap<String, u64>,
}

/// The shape of a target, and how many targets of it are requested.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Shape {
    text: String,
    most: usize,
}

impl Shapes {
    /// Returns whether to request this target; counts it for its shape.
    pub(super) fn take(&mut self, target: &str) -> bool {
        let Shape { text, most } = Shape::of(target);
        let seen = self.seen.entry(text.clone()).or_default();
        *seen += 1;
        if *seen > most {
            *self.beyond.entry(text).or_default() += 1;
        }
        *seen <= most
    }

    /// Returns the shapes with targets beyond the limit, and their number.
    pub(super) fn skipped(&self, method: &str) -> impl Iterator<Item = SkippedRequest> {
        self.beyond.iter().take(LISTED_MAX).map(move |(shape, count)| {
            let why = NotSent::SameShape {}.into();
            SkippedRequest { request: format!("{method} {shape} ({count})"), why }
        })
    }
}

impl Shape {
    fn of(target: &str) -> Shape {
        let (path, query) = parts(target);
        let (mut text, mut most) = (String::new(), usize::MAX);
        let segments: Vec<&str> = path.split('/').skip(1).collect();
        let last = segments.iter().rposition(|segment| !segment.is_empty()).unwrap_or_default();
        for (number, segment) in segments.iter().enumerate() {
            let segment = decoded(segment);
            let kind = if number == last {
                SegmentKind::of_last(&segment, last)
            } else {
                SegmentKind::of(&segment)
            };
            let (shown, of_kind) = match kind {
                SegmentKind::Own => (segment.into_owned(), usize::MAX),
                SegmentKind::Number => (without_numbers(&segment), SAME_MAX),
                SegmentKind::Title => (TITLE.to_owned(), SAME_MAX),
                SegmentKind::Word => (WORD.to_owned(), WORDS_MAX),
            };
            text.push('/');
            text.push_str(&shown);
            most = most.min(of_kind);
        }
        let keys = keys(query);
        if !keys.is_empty() {
            text.push('?');
            text.push_str(&keys.join("&"));
            most = most.min(SAME_MAX);
        }
        Shape { text, most }
    }
}

/// The kind of a path segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SegmentKind {
    /// A fixed part of the app's paths.
    Own,
    /// A segment with a number or an id.
    Number,
    /// Words with hyphens: a title.
    Title,
    /// One word, behind another segment.
    Word,
}

impl SegmentKind {
    fn of(segment: &str) -> SegmentKind {
        if segment.chars().any(|char| char.is_ascii_digit()) {
            SegmentKind::Number
        } else {
            SegmentKind::Own
        }
    }

    /// Returns the kind of the last segment, whose index in the path is `last`.
    fn of_last(segment: &str, last: usize) -> SegmentKind {
        let is_file = segment.contains('.');
        let is_title = segment.contains(['-', '_', ' ']) && !segment.starts_with('_');
        match SegmentKind::of(segment) {
            SegmentKind::Own if last == 0 || is_file || segment.is_empty() => SegmentKind::Own,
            SegmentKind::Own if is_title => SegmentKind::Title,
            SegmentKind::Own => SegmentKind::Word,
            other => other,
        }
    }
}

/// Replaces each number by `{n}`, and the whole segment if it is an id: a UUID, a ULID, a hash.
fn without_numbers(segment: &str) -> String {
    let is_id =
        segment.len() >= 16 && segment.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    let digits = segment.chars().filter(char::is_ascii_digit).count();
    if is_id && (segment.len() == 36 || digits * 5 >= segment.len()) {
        return NUMBER.to_owned();
    }
    let mut text = String::with_capacity(segment.len());
    for char in segment.chars() {
        match char.is_ascii_digit() {
            true if text.ends_with(NUMBER) => {}
            true => text.push_str(NUMBER),
            false => text.push(char),
        }
    }
    text
}

/// Returns a query's keys. Values are kept only if apps choose their action by them.
fn keys(query: &str) -> Vec<String> {
    let key = |(key, value): (std::borrow::Cow<'_, str>, std::borrow::Cow<'_, str>)| {
        let is_word = !value.is_empty() && !value.chars().any(|char| char.is_ascii_digit());
        if is_word && is_routing(&key) { format!("{key}={value}") } else { without_numbers(&key) }
    };
    let mut keys: Vec<String> = pairs(query).map(key).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_ids_titles_and_values_are_no_part_of_a_shape() {
        let cases = [
            ("/", "/", usize::MAX),
            ("/about-us", "/about-us", usize::MAX),
            ("/product/17", "/product/{n}", 3),
            ("/product/17/edit", "/product/{n}/{word}", 3),
            ("/p-17.html", "/p-{n}.html", 3),
            ("/2024/05/31/a-title/", "/{n}/{n}/{n}/{title}/", 3),
            ("/u/0190163d-8694-739b-aea5-966c26f8ad91", "/u/{n}", 3),
            ("/u/5f3b0c1d9a7e4f62", "/u/{n}", 3),
            ("/blog/my-first-post", "/blog/{title}", 3),
            ("/blog/mein%20erster", "/blog/{title}", 3),
            ("/docs/install", "/docs/{word}", 10),
            ("/admin/user-list.php", "/admin/user-list.php", usize::MAX),
            ("/list?page=2&sort=name", "/list?page&sort", 3),
            ("/list?sort=id&page=9", "/list?page&sort", 3),
            ("/?page=about", "/?page=about", 3),
            ("/index.php?route=product/list&id=7", "/index.php?id&route=product/list", 3),
            ("/x?filter[3]=a", "/x?filter[{n}]", 3),
        ];
        for (target, text, most) in cases {
            let shape = Shape { text: text.to_owned(), most };
            assert_eq!(Shape::of(target), shape, "{target}");
        }
    }

    #[test]
    fn three_targets_of_a_shape_are_requested_and_the_rest_are_counted() {
        let mut shapes = Shapes::default();
        let taken = (1..=900).filter(|number| shapes.take(&format!("/product/{number}"))).count();
        assert_eq!(taken, 3);
        assert!(shapes.take("/product"));
        let skipped: Vec<String> = shapes.skipped("GET").map(|skipped| skipped.request).collect();
        assert_eq!(skipped, ["GET /product/{n} (897)"]);
    }
}
