//! Names under which requests are counted apart.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// A name's number in the load's [`Tags`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(pub u16);

impl Tag {
    /// No tag was given.
    pub const NONE: Tag = Tag(0);

    /// One of the names beyond [`TAGS_MAX`], all of them together.
    pub const OTHER: Tag = Tag(TAGS_MAX as u16 + 1);

    pub(crate) fn index(self) -> usize {
        usize::from(self.0.min(Tag::OTHER.0))
    }
}

/// The names of a load's tags. A handle: clones share one table, which grows while a file
/// is read and is complete once the load is over.
#[derive(Clone, Default)]
pub struct Tags(Arc<Mutex<Vec<Arc<str>>>>);

impl Tags {
    /// No name yet.
    pub fn new() -> Tags {
        Tags::default()
    }

    /// The number of `name`: a new one where it was not seen before, [`Tag::OTHER`] where
    /// there are [`TAGS_MAX`] already, [`Tag::NONE`] for the empty name. A name is cut at
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

    /// The name of `tag`: empty for [`Tag::NONE`], `other` for [`Tag::OTHER`] and for a
    /// number that was never given.
    pub fn name(&self, tag: Tag) -> Arc<str> {
        let Some(place) = usize::from(tag.0).checked_sub(1) else { return "".into() };
        let names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        names.get(place).cloned().unwrap_or_else(|| OTHER.into())
    }

    /// How many names there are, `other` not counted.
    pub fn len(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Debug for Tags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_list().entries(names.iter()).finish()
    }
}

fn cut(name: &str) -> &str {
    let fits = |end: &usize| name.is_char_boundary(*end);
    &name[..(0..=name.len().min(NAME_BYTES_MAX)).rev().find(fits).unwrap_or(0)]
}

/// Names that are kept apart. Each takes some 75 KB a load thread (two histograms, handed
/// on in turn), and a table of more is read by nobody.
pub const TAGS_MAX: usize = 255;

/// Bytes of a name. A tag is a column of a table; a session's id is none.
pub const NAME_BYTES_MAX: usize = 128;

/// The name of [`Tag::OTHER`].
pub(crate) const OTHER: &str = "other";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_number_and_what_is_too_many_is_other() {
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
