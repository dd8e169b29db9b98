//! Tags: names under which requests are counted separately.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use stampede_stats::histogram::{IntervalTimes, Times};

/// Number of a name in the load's [`Tags`].
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Tag(pub u16);

impl Tag {
    /// The request has no tag.
    pub const NONE: Tag = Tag(0);

    /// All names beyond [`TAGS_MAX`] together.
    pub const OTHER: Tag = Tag(TAGS_MAX as u16 + 1);

    /// Its place in a list of all tags, at most [`TAGS_MAX`] + 1.
    pub fn index(self) -> usize {
        usize::from(self.0.min(Tag::OTHER.0))
    }
}

/// The names of a load's tags. It is a handle: clones share one table, which grows while a file is
/// read and is complete when the load is over. As data it is the list of its names so far: what is
/// read from that is another table, with the same numbers for these names.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(try_from = "Vec<Arc<str>>", into = "Vec<Arc<str>>")]
pub struct Tags(Arc<Mutex<Vec<Arc<str>>>>);

/// A list that is no table of tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TagsError {
    /// More names than are counted separately.
    #[error("more than {TAGS_MAX} tags")]
    TooMany,
}

impl TryFrom<Vec<Arc<str>>> for Tags {
    type Error = TagsError;

    fn try_from(names: Vec<Arc<str>>) -> Result<Tags, TagsError> {
        match names.len() > TAGS_MAX {
            true => Err(TagsError::TooMany),
            false => Ok(Tags(Arc::new(Mutex::new(names)))),
        }
    }
}

impl From<Tags> for Vec<Arc<str>> {
    fn from(tags: Tags) -> Vec<Arc<str>> {
        tags.names()
    }
}

/// Two tables are equal if they have the same names in the same order.
impl PartialEq for Tags {
    fn eq(&self, other: &Tags) -> bool {
        self.names() == other.names()
    }
}

impl Tags {
    /// A table without names.
    pub fn new() -> Tags {
        Tags::default()
    }

    /// The number of `name`, which is added if it is new. [`Tag::OTHER`] if there are already
    /// [`TAGS_MAX`] names, and [`Tag::NONE`] for the empty name. A name is cut at
    /// [`NAME_BYTES_MAX`].
    pub fn tag(&self, name: &str) -> Tag {
        if name.is_empty() {
            return Tag::NONE;
        }
        let name = cut(name);
        let mut names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = names.iter().position(|known| &**known == name) {
            return Tag(place as u16 + 1);
        }
        if names.len() == TAGS_MAX {
            return Tag::OTHER;
        }
        names.push(name.into());
        Tag(names.len() as u16)
    }

    /// The name of `tag`: empty for [`Tag::NONE`], `other` for [`Tag::OTHER`] and for an unknown
    /// number.
    pub fn name(&self, tag: Tag) -> Arc<str> {
        let Some(place) = usize::from(tag.0).checked_sub(1) else { return "".into() };
        let names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        names.get(place).cloned().unwrap_or_else(|| OTHER.into())
    }

    /// The names in the order of their numbers, without `other`.
    fn names(&self) -> Vec<Arc<str>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Number of names, without `other`.
    pub fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether there are no names.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Debug for Tags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

/// Figures of the requests of one tag. `T` is [`IntervalTimes`] in the counts of a load thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TagFigures<T = Times> {
    /// Correct answers.
    pub ok: u64,
    /// Failed requests.
    pub failed: u64,
    /// done − started of the ok requests, to two digits (1 %).
    pub service_time: T,
    /// done − due of the ok requests, to two digits; empty in the closed model.
    pub response_time: T,
}

impl Default for TagFigures {
    fn default() -> TagFigures {
        TagFigures::new()
    }
}

impl TagFigures {
    /// No request yet.
    pub fn new() -> TagFigures {
        TagFigures::of(Times::coarse)
    }

    /// Adds the figures of another thread.
    pub fn merge(&mut self, more: &TagFigures) {
        self.ok += more.ok;
        self.failed += more.failed;
        self.service_time.merge(&more.service_time);
        self.response_time.merge(&more.response_time);
    }

    /// Adds the figures of a second.
    pub fn merge_interval(&mut self, more: &TagFigures<IntervalTimes>) {
        self.ok += more.ok;
        self.failed += more.failed;
        self.service_time.merge_interval(&more.service_time);
        self.response_time.merge_interval(&more.response_time);
    }
}

impl TagFigures<IntervalTimes> {
    /// No request yet, for one second.
    pub fn interval() -> TagFigures<IntervalTimes> {
        TagFigures::of(Times::coarse_interval)
    }

    /// Empties the figures and keeps their memory.
    pub fn clear(&mut self) {
        // A tag that was not seen in this second costs nothing.
        if self.ok + self.failed > 0 {
            (self.ok, self.failed) = (0, 0);
            self.service_time.clear();
            self.response_time.clear();
        }
    }
}

impl<T> TagFigures<T> {
    fn of(empty: fn() -> T) -> TagFigures<T> {
        TagFigures { ok: 0, failed: 0, service_time: empty(), response_time: empty() }
    }
}

fn cut(name: &str) -> &str {
    let fits = |end: &usize| name.is_char_boundary(*end);
    &name[..(0..=name.len().min(NAME_BYTES_MAX)).rev().find(fits).unwrap_or(0)]
}

/// Most names that are counted separately. Each takes some 90 KB per load thread (two histograms,
/// in buffers that circulate), and nobody reads a longer table.
pub const TAGS_MAX: usize = 255;

/// Most bytes of a name. A tag names a group of requests in a table; it is not the id of a session.
pub const NAME_BYTES_MAX: usize = 128;

/// The name of [`Tag::OTHER`].
pub const OTHER: &str = "other";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_has_one_number_and_excess_names_become_other() {
        let tags = Tags::new();
        assert_eq!((tags.tag(""), tags.tag("buy"), tags.tag("see")), (Tag::NONE, Tag(1), Tag(2)));
        assert_eq!((tags.tag("buy"), tags.len()), (Tag(1), 2));
        let given: Vec<Tag> = (0..300).map(|n| tags.tag(&format!("tag {n}"))).collect();
        assert_eq!((given[252], given[253], tags.len()), (Tag(255), Tag::OTHER, TAGS_MAX));
        assert_eq!((&*tags.name(Tag(2)), &*tags.name(Tag::OTHER)), ("see", "other"));
        assert_eq!(&*tags.name(Tag::NONE), "");
        assert_eq!(tags.clone().tag("see"), Tag(2), "a clone is the same table");
    }

    #[test]
    fn a_long_name_is_cut_between_characters() {
        let tags = Tags::new();
        let tag = tags.tag(&"ж".repeat(1_000));
        assert_eq!(&*tags.name(tag), "ж".repeat(64));
    }
}
