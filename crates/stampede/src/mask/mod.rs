//! Takes secrets out of everything that stampede writes and says: people publish their results.
//!
//! A secret is found in two ways. By how it is written: `DB_PASS=…`, `Cookie: …`, `//user:…@host` (`shapes`,
//! `names`). And by its value: what a plan, a flag, a header, a request or an app's `.env` says under such a name
//! is learnt as it is read, and masked wherever it turns up later, also as an app, a URL or JSON writes it
//! (`known`).
//!
//! Rules of values: one of less than 4 characters, a number of less than 6 digits and a word that stands in every
//! report (`root`, `true`, `localhost`) are masked behind their names alone. One of less than 8 characters is masked
//! where it is a word of its own. The longest of several is masked first. A secret under an innocent name, which
//! nothing tells from other text, stays.

mod json;
mod known;
mod learn;
mod names;
mod shapes;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{PoisonError, RwLock};

pub use learn::{args, header, named, requests_file, text};

use known::Known;

/// What stands where a secret was.
pub const MASK: &str = "***";

/// Those of this process: learnt as they are read, forgotten never.
static KNOWN: RwLock<Known> = RwLock::new(Known::new());

/// `text` with what is known or looks like a secret replaced by `***`. A guess: it errs towards masking.
pub fn mask_secrets(text: &str) -> String {
    let text = mask_known(text);
    let places = shapes::places(&text);
    if places.is_empty() { text.into_owned() } else { known::masked(&text, places) }
}

/// `text` without the values that are known to be secrets: for what has no names any more, such as a page.
pub fn mask_known(text: &str) -> Cow<'_, str> {
    KNOWN.read().unwrap_or_else(PoisonError::into_inner).mask(text)
}

/// The same by the values of `env` whose names, or whose form, say that they are secret.
pub fn mask_env(text: &str, env: &BTreeMap<String, String>) -> String {
    let mut known = Known::new();
    env.iter().for_each(|(name, value)| learn::named_into(&mut known, name, value));
    known.mask(&mask_known(text)).into_owned()
}

/// JSON, or lines of it, with [`mask_secrets`] in each of its strings.
pub fn mask_json(text: &str) -> String {
    let mask = |value: &str| Some(mask_secrets(value)).filter(|masked| masked != value);
    json::strings(text, mask, |name| names::secrecy_of(name).is_some())
}

/// What is printed: JSON stays JSON.
pub fn mask_printed(text: &str) -> Cow<'_, str> {
    let is_json =
        text.starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    if !is_json {
        return mask_known(text);
    }
    let mask = |value: &str| match mask_known(value) {
        Cow::Owned(masked) => Some(masked),
        Cow::Borrowed(_) => None,
    };
    Cow::Owned(json::strings(text, mask, |_| false))
}

/// Writes lines without the values that are known to be secrets.
#[derive(Debug)]
pub struct Masked<W: Write>(pub W);

impl<W: Write> Write for Masked<W> {
    /// Each call is masked for itself.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(mask_known(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
