//! Reads formats that are one document, whose parts refer to each other: all of it is read before
//! its first request.

use std::vec;

use stampede_model::entry::{EntryError, Skip};

use super::body_file::BodyFiles;
use super::input::{Broken, Draft, Input, ParseError, ParsedEntry};
use super::recorded::Recorded;
use super::variables::Variables;
use super::{editor, openapi, postman, sitemap};

/// What a document is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DocumentKind {
    Editor,
    Postman,
    OpenApi,
    Sitemap,
}

/// A document that is being read.
#[derive(Debug)]
pub(super) struct Document {
    kind: DocumentKind,
    variables: Variables,
    files: BodyFiles,
    /// Its entries; `None` before it was read.
    entries: Option<vec::IntoIter<DocumentEntry>>,
}

/// One entry of a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DocumentEntry {
    Request(Box<Recorded>),
    Skipped(Skip),
}

/// Why a document cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DocumentError {
    /// Line of the fault.
    pub(super) line: u64,
    pub(super) what: EntryError,
}

impl From<Result<Recorded, Skip>> for DocumentEntry {
    fn from(read: Result<Recorded, Skip>) -> DocumentEntry {
        match read {
            Ok(recorded) => DocumentEntry::Request(Box::new(recorded)),
            Err(skip) => DocumentEntry::Skipped(skip),
        }
    }
}

impl Document {
    pub(super) fn new(kind: DocumentKind, variables: Variables, files: BodyFiles) -> Document {
        Document { kind, variables, files, entries: None }
    }

    pub(super) fn next(
        &mut self,
        input: &mut Input,
        draft: &mut Draft,
    ) -> Result<ParsedEntry, ParseError> {
        if self.entries.is_none() {
            // A document that cannot be read has no entries.
            self.entries = Some(Vec::new().into_iter());
            self.entries = Some(self.read(input)?.into_iter());
        }
        Ok(match self.entries.as_mut().and_then(Iterator::next) {
            Some(DocumentEntry::Request(recorded)) => {
                recorded.write(draft);
                ParsedEntry::Request
            }
            Some(DocumentEntry::Skipped(skip)) => ParsedEntry::Skipped(skip),
            None => ParsedEntry::End,
        })
    }

    fn read(&self, input: &mut Input) -> Result<Vec<DocumentEntry>, ParseError> {
        let text = input.rest(DOCUMENT_BYTES_MAX, self.hint())?;
        let entries = match self.kind {
            DocumentKind::Editor => Ok(editor::entries(&text, &self.variables, &self.files)),
            DocumentKind::Postman => postman::entries(&text, &self.variables, &self.files),
            DocumentKind::OpenApi => openapi::entries(&text),
            DocumentKind::Sitemap => sitemap::entries(&text),
        };
        entries.map_err(|DocumentError { line, what }| {
            ParseError::Broken(Broken { line, what, hint: self.hint() })
        })
    }

    fn hint(&self) -> &'static str {
        match self.kind {
            DocumentKind::Editor => {
                "requests are `METHOD URL`, headers, a blank line and a body, with `###` between them; a file has at most 64 MiB"
            }
            DocumentKind::Postman => {
                "export it as a collection of version 2.1; a file has at most 64 MiB"
            }
            DocumentKind::OpenApi => "it is an OpenAPI document in JSON or YAML, of at most 64 MiB",
            DocumentKind::Sitemap => {
                "a sitemap is XML with `urlset`, `url` and `loc`, of at most 64 MiB"
            }
        }
    }
}

/// Reads a JSON document.
pub(super) fn json(text: &str) -> Result<serde_json::Value, DocumentError> {
    serde_json::from_str(text).map_err(|error| {
        let said = error.to_string();
        let json_error = said.split(" at line ").next().unwrap_or_default().to_owned();
        let (line, column) = (error.line() as u64, Some(error.column() as u64));
        DocumentError { line, what: EntryError::Json { json_error, column } }
    })
}

/// Most bytes of a document. A sitemap has at most 50 MB by its protocol; the others are written by
/// people.
const DOCUMENT_BYTES_MAX: usize = 64 << 20;
