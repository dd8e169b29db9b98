//! What stampede writes into a file, prints, or sends to a browser.

use super::{mask_foreign, mask_json, mask_printed, mask_secrets};

/// An artefact without secrets.
///
/// Files, the terminal and `serve` take nothing else. So a new artefact cannot forget to be masked:
/// its author must say what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Masked(Vec<u8>);

impl Masked {
    /// JSON, or lines of JSON. It stays readable whatever the secrets are.
    pub fn json(text: &str) -> Masked {
        Masked(mask_json(text).into_bytes())
    }

    /// Text that stampede wrote, with names beside the values.
    pub fn text(text: &str) -> Masked {
        Masked(mask_secrets(text).into_bytes())
    }

    /// Text that others wrote, such as a log or an answer of the app.
    pub fn foreign(text: &str) -> Masked {
        Masked(mask_foreign(text).into_bytes())
    }

    /// A page or a table, whose texts have been masked by name and form when they were read, or
    /// JSON that was made of them. Here known values are masked once more.
    pub fn rendered(text: &str) -> Masked {
        Masked(mask_printed(text).into_owned().into_bytes())
    }

    /// Bytes that are made of numbers alone, such as a histogram. They are not masked.
    pub fn numbers(bytes: Vec<u8>) -> Masked {
        Masked(bytes)
    }

    /// The same with a line break at the end.
    #[must_use]
    pub fn with_line_break(mut self) -> Masked {
        self.0.push(b'\n');
        self
    }

    /// The bytes to write.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text to send.
    pub fn into_text(self) -> String {
        match String::from_utf8(self.0) {
            Ok(text) => text,
            Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
        }
    }
}
