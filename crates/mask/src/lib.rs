//! Removes secrets from everything that stampede writes and prints, because people publish their
//! results.
//!
//! A secret is found in two ways. One is its form: `DB_PASS=…`, `Cookie: …`, `//user:…@host`
//! (`shapes`, `names`). The other is its value. Under such a name in a plan, a flag, a header, a
//! request or an app's `.env` it is learnt when it is read. From then on it is masked everywhere,
//! also as JSON, HTML, a URL or Base64 writes it (`known`, `encodings`).
//!
//! A value of 8 characters or more is masked wherever it appears, also in part where a text was cut
//! (`search`). A shorter one, and an ordinary one (`ordinary`: a common word, a number, a boolean, an
//! existing path, a word of stampede's own) is masked only at a secret's place: beside its name, in
//! a URL before the host, in a header. stampede's own words are also masked by value in text that
//! others wrote, which is logs and answers of the app. The longest of several matches is masked
//! first. A secret that has an innocent name and looks like other text stays.
//!
//! What is written or printed is a [`Masked`] or goes through a [`MaskingWriter`].
//!
//! Masking never breaks a record: it changes no names in JSON, and no text that is one of
//! stampede's own words.

mod encodings;
mod following;
mod json;
mod known;
mod learn;
mod masked;
mod names;
mod ordinary;
mod own;
mod php_ini;
mod phrases;
mod search;
mod shapes;
mod tokens;
mod value;
mod writer;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::{PoisonError, RwLock};

pub use json::is_field;
pub use learn::{
    args, beside, environment, header, named, named_into, names_a_user, public, requests_file, text,
};

pub use known::KnownSecrets;
pub use masked::Masked;
pub use own::{is_of_record, is_own, set_own_words};
pub use writer::MaskingWriter;

/// The text in place of a secret.
pub const MASK: &str = "***";

/// The secrets of this process. They are learnt when they are read, and never forgotten.
static KNOWN: RwLock<KnownSecrets> = RwLock::new(KnownSecrets::new());

/// Returns `text` with `***` in place of known secrets and of everything that looks like a secret.
/// This is a guess that masks too much rather than too little.
pub fn mask_secrets(text: &str) -> String {
    mask_text_with(&KNOWN.read().unwrap_or_else(PoisonError::into_inner), text)
}

/// Does the same for text that others wrote, such as a log or an answer of the app. In such text,
/// secrets that are also words of stampede's own are masked too.
pub fn mask_foreign(text: &str) -> String {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    without_shapes(known.mask_foreign(text))
}

fn mask_text_with(known: &KnownSecrets, text: &str) -> String {
    without_shapes(known.mask(text))
}

fn without_shapes(text: Cow<'_, str>) -> String {
    let places = shapes::places(&text);
    if places.is_empty() { text.into_owned() } else { known::masked(&text, places) }
}

/// Returns `text` without the known secrets. For text in which values have no names any more, such
/// as a page.
pub fn mask_known(text: &str) -> Cow<'_, str> {
    KNOWN.read().unwrap_or_else(PoisonError::into_inner).mask(text)
}

/// Returns JSON, or lines of JSON, with [`mask_secrets`] applied to each text. No field name and no
/// word of stampede's own is masked, so the result stays readable whatever the secrets are.
pub fn mask_json(text: &str) -> String {
    mask_json_with(&KNOWN.read().unwrap_or_else(PoisonError::into_inner), text)
}

/// Does the same with `known` in place of the secrets of this process.
pub fn mask_json_with(known: &KnownSecrets, text: &str) -> String {
    let mask = |value: &str| Some(mask_text_with(known, value)).filter(|masked| masked != value);
    json::strings(text, mask, |name| names::secrecy_of(name).is_some())
}

/// Masks text for output. JSON stays JSON.
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

/// Whether the value of a field with this name counts as a secret.
pub fn is_secret_name(name: &str) -> bool {
    names::secrecy_of(name).is_some()
}
