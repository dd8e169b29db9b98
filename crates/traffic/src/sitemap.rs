//! Reads a sitemap (sitemaps.org, protocol 0.9): the page of each `url`.

use quick_xml::Reader;
use quick_xml::events::Event;
use stampede_model::entry::{EntryError, Skip};

use super::document::{DocumentEntry, DocumentError};
use super::recorded::Recorded;
use super::url::is_http;

/// The pages of a sitemap. Where the file is cut off or broken after a page, that is the last entry.
pub(super) fn entries(text: &str) -> Result<Vec<DocumentEntry>, DocumentError> {
    let mut reader = Reader::from_str(text);
    let mut entries = Vec::new();
    let mut lines = Lines { text, place: 0, line: 1 };
    // The names of the open elements, as far as they matter.
    let (mut within_sitemap, mut location): (bool, Option<String>) = (false, None);
    loop {
        let at = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        match reader.read_event() {
            Ok(Event::Start(element)) => match element.name().as_ref() {
                b"sitemap" => within_sitemap = true,
                b"url" => within_sitemap = false,
                b"loc" => location = Some(String::new()),
                _ => {}
            },
            Ok(Event::Text(part)) => {
                if let (Some(location), Ok(part)) = (&mut location, part.decode()) {
                    location.push_str(&part);
                }
            }
            Ok(Event::CData(part)) => {
                if let (Some(location), Ok(part)) = (&mut location, part.decode()) {
                    location.push_str(&part);
                }
            }
            Ok(Event::GeneralRef(reference)) => {
                if let Some(location) = &mut location {
                    location.extend(character(&reference));
                }
            }
            Ok(Event::End(element)) if element.name().as_ref() == b"loc" => {
                let url = location.take().unwrap_or_default().trim().to_owned();
                entries.push(match () {
                    () if within_sitemap => DocumentEntry::Skipped(Skip::Sitemap {}),
                    () if !is_http(&url) && !url.starts_with('/') => {
                        DocumentEntry::Skipped(Skip::NoPath {})
                    }
                    () => {
                        let line = lines.at(at);
                        let recorded = Recorded { line, url, ..Recorded::default() };
                        DocumentEntry::Request(Box::new(recorded))
                    }
                });
            }
            Ok(Event::Eof) if location.is_some() || !text.trim_end().ends_with('>') => {
                entries.push(DocumentEntry::Skipped(Skip::CutOff {}));
                return Ok(entries);
            }
            Ok(Event::Eof) => return Ok(entries),
            Ok(_) => {}
            Err(_) if !entries.is_empty() => {
                entries.push(DocumentEntry::Skipped(Skip::CutOff {}));
                return Ok(entries);
            }
            Err(error) => {
                let (format, problem) = ("XML".to_owned(), error.to_string());
                let what = EntryError::Document { format, problem };
                return Err(DocumentError { line: lines.at(at), what });
            }
        }
    }
}

/// The character of a reference such as `&amp;` or `&#38;`.
fn character(reference: &quick_xml::events::BytesRef<'_>) -> Option<char> {
    if let Ok(Some(character)) = reference.resolve_char_ref() {
        return Some(character);
    }
    match &**reference {
        b"amp" => Some('&'),
        b"lt" => Some('<'),
        b"gt" => Some('>'),
        b"quot" => Some('"'),
        b"apos" => Some('\''),
        _ => None,
    }
}

/// Numbers of lines at rising places of a text.
struct Lines<'a> {
    text: &'a str,
    place: usize,
    line: u64,
}

impl Lines<'_> {
    fn at(&mut self, place: usize) -> u64 {
        let place = place.min(self.text.len());
        let between = &self.text.as_bytes()[self.place.min(place)..place];
        self.line += between.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.place = place.max(self.place);
        self.line
    }
}
