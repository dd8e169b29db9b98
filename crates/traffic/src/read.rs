//! Reads a request file from beginning to end, as often as needed. Each entry is a request,
//! skipped, or broken.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use stampede_model::entry::{EntryError, Skip};
use stampede_model::load::Habits;

use super::body_file::NamedFiles;
use super::compressed::{self, BytesRead};
use super::detect::{self, Unknown};
use super::format::{Parser, ParserParts};
use super::har::Survey;
use super::input::{Broken, Draft, Input, KEPT_BYTES, ParseError, ParsedEntry};
use super::{
    AnswerShape, EXAMINED, Form, Format, Header, Request, Tag, Tags, TrafficError, TrafficFile,
    TrafficNotes,
};
use crate::request::{RequestParts, asks_to_close};
use crate::script::Script;
use crate::url;
use crate::variables::Variables;

/// A file that is being read.
pub(super) struct TrafficReader {
    file: TrafficFile,
    /// The script of `file`, which all its requests share.
    script: Option<Arc<Script>>,
    habits: Habits,
    tags: Tags,
    open: Open,
    format: Format,
    /// Bytes of the file; `None` if it is not a regular file.
    pub(super) length: Option<u64>,
    /// Bytes of the file that were read; where it is compressed, more come of them.
    bytes_read: BytesRead,
    input: Input,
    parser: Parser,
    parts: ParserParts,
    draft: Draft,
    /// The last tag and its name, because requests of one tag often follow each other.
    last: (String, Tag),
    /// The first host in a URL of an entry that differs from the target's.
    other_host: Option<String>,
    /// The first variable without a value for which the target stands.
    target_variable: Option<String>,
    /// Headers that were left out since the last [`TrafficReader::tell`], by name.
    left_out: BTreeMap<String, u64>,
}

/// Opens the file at its beginning, for each pass.
type Open = Box<dyn FnMut() -> io::Result<Bytes> + Send>;

/// The bytes of a file.
pub(super) type Bytes = Box<dyn Read + Send>;

/// Whether each line of the file's beginning is one path or URL, or a comment, or blank. A file
/// without a known format counts as such a list too: its reader says which line is wrong.
///
/// # Errors
/// The file cannot be read.
pub fn is_plain_list(file: &TrafficFile) -> Result<bool, TrafficError> {
    let reader = File::open(&file.path).map_err(|source| unreadable(file, source))?;
    let mut begin = Vec::new();
    compressed::unpacked(Box::new(reader), file, BytesRead::default())?
        .take(BEGIN_BYTES)
        .read_to_end(&mut begin)
        .map_err(|source| unreadable(file, source))?;
    Ok(match detect::format(&begin) {
        Ok(Format::Uri) => detect::has_only_paths(&begin),
        Ok(_) => false,
        Err(_) => true,
    })
}

fn unreadable(file: &TrafficFile, source: io::Error) -> TrafficError {
    TrafficError::Unreadable { path: file.path.clone(), source: Arc::new(source) }
}

/// One entry of the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entry {
    Request,
    Skipped(Skip),
    Broken(Broken),
    /// There are no more entries in this pass.
    End,
}

impl TrafficReader {
    /// Opens the file and detects its format.
    pub(super) fn of(
        file: &TrafficFile,
        habits: Habits,
        tags: &Tags,
    ) -> Result<TrafficReader, TrafficError> {
        let path = file.path.clone();
        let length = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file);
        let length = length.map(|metadata| metadata.len());
        let open = move || Ok(Box::new(File::open(&path)?) as Bytes);
        TrafficReader::new(file, Box::new(open), length, habits, tags)
    }

    pub(super) fn new(
        file: &TrafficFile,
        mut open: Open,
        length: Option<u64>,
        habits: Habits,
        tags: &Tags,
    ) -> Result<TrafficReader, TrafficError> {
        let unreadable = |source: io::Error| unreadable(file, source);
        let bytes_read = BytesRead::default();
        let reader = open().map_err(unreadable)?;
        let mut reader = compressed::unpacked(reader, file, Arc::clone(&bytes_read))?;
        let mut begin = Vec::new();
        (&mut reader).take(BEGIN_BYTES).read_to_end(&mut begin).map_err(unreadable)?;
        let of_flag = file.log.format.as_ref().map(|_| Format::AccessLog);
        let format = match (file.format.or(of_flag), detect::format(&begin)) {
            (_, Err(Unknown::Empty)) if (begin.len() as u64) < BEGIN_BYTES => {
                return Err(TrafficError::Empty { path: file.path.clone(), skipped: Vec::new() });
            }
            (Some(named), _) => named,
            (None, Ok(seen)) => seen,
            (None, Err(unknown)) => {
                let begins = match unknown {
                    Unknown::Begins(line) => line.trim_matches('`').to_owned(),
                    Unknown::Empty => String::new(),
                };
                return Err(TrafficError::UnknownFormat { path: file.path.clone(), begins });
            }
        };
        let variables = Variables::of(file)?;
        let mut parts = ParserParts { site: None, variables, noted: None };
        if format == Format::Har {
            parts.site = site_of(file, &mut open, length, &mut begin, &mut reader)?;
        }
        let input = Input::new(Box::new(Cursor::new(begin).chain(reader)));
        let parser = Parser::new(format, file, &parts);
        let (draft, last) = (Draft::default(), (String::new(), Tag::NONE));
        let (file, tags) = (file.clone(), tags.clone());
        Ok(TrafficReader {
            script: file.script.clone().map(Arc::new),
            file,
            habits,
            tags,
            open,
            format,
            length,
            bytes_read,
            input,
            parser,
            parts,
            draft,
            last,
            other_host: None,
            target_variable: None,
            left_out: BTreeMap::new(),
        })
    }

    /// From now on notes the files that entries name. To be called before the first entry is read.
    pub(super) fn note_files(&mut self) -> NamedFiles {
        let noted = self.parts.noted.get_or_insert_default().clone();
        self.parser = Parser::new(self.format, &self.file, &self.parts);
        noted
    }

    /// Adds to `notes` what was noticed beside the entries.
    pub(super) fn tell(&mut self, notes: &mut TrafficNotes) {
        notes.other_host = notes.other_host.take().or(self.other_host.take());
        notes.target_variable = notes.target_variable.take().or(self.target_variable.take());
        for (name, count) in std::mem::take(&mut self.left_out) {
            let known = notes.left_out_headers.len() < NAMES_MAX
                || notes.left_out_headers.contains_key(&name);
            let name = if known { name } else { OTHER_NAMES.to_owned() };
            *notes.left_out_headers.entry(name).or_default() += count;
        }
    }

    pub(super) fn format(&self) -> Format {
        self.format
    }

    pub(super) fn file(&self) -> &TrafficFile {
        &self.file
    }

    /// Bytes read in this pass, without compression.
    pub(super) fn bytes(&self) -> u64 {
        self.input.bytes_read()
    }

    /// How much of the file was read in this pass, from 0 to 1; `None`: it has no known length.
    pub(super) fn share_read(&self) -> Option<f64> {
        let length = self.length?.max(1);
        let read = self.bytes_read.load(Ordering::Relaxed);
        Some((read as f64 / length as f64).min(1.0))
    }

    /// When the request that was read last was recorded, in nanoseconds since 1970.
    pub(super) fn time_ns(&self) -> Option<u64> {
        self.draft.time_ns
    }

    /// Begins the next pass. Headers that were set in the last one no longer apply.
    pub(super) fn again(&mut self) -> io::Result<()> {
        let bytes_read = Arc::clone(&self.bytes_read);
        self.input = Input::new(compressed::again((self.open)()?, bytes_read)?);
        self.parser = Parser::new(self.format, &self.file, &self.parts);
        self.draft = Draft::default();
        Ok(())
    }

    /// Reads the next entry. A request is written into `request`, whose memory is reused.
    ///
    /// # Errors
    /// The file cannot be read any further.
    pub(super) fn next(&mut self, request: &mut Request) -> io::Result<Entry> {
        match self.parser.next(&mut self.input, &mut self.draft) {
            Ok(ParsedEntry::Request) => Ok(self.finish(request)),
            Ok(ParsedEntry::Skipped(reason)) => Ok(Entry::Skipped(reason)),
            Ok(ParsedEntry::End) => Ok(Entry::End),
            Err(ParseError::Broken(broken)) => Ok(Entry::Broken(broken)),
            Err(ParseError::Io(error)) => Err(error),
        }
    }

    fn finish(&mut self, request: &mut Request) -> Entry {
        if request.bytes.capacity() > KEPT_BYTES {
            request.bytes = Vec::new();
        }
        request.tag = self.tag();
        if self.draft.is_raw && self.script.is_some() {
            let what = EntryError::WholeRequest {};
            let hint = "take another format, or send to the web server";
            return Entry::Broken(Broken { line: self.draft.line, what, hint });
        }
        if self.draft.is_raw {
            request.answer = AnswerShape::of(self.draft.method.as_bytes());
            request.bytes.clear();
            request.bytes.extend_from_slice(&self.draft.body);
            request.form = Form::Encoded;
            request.closes = asks_to_close(&request.bytes);
            return Entry::Request;
        }
        let draft = &mut self.draft;
        for name in draft.left_out.drain(..) {
            *self.left_out.entry(name).or_default() += 1;
        }
        if self.target_variable.is_none() && !draft.target_variable.is_empty() {
            self.target_variable = Some(draft.target_variable.clone());
        }
        let host = std::mem::take(&mut draft.host);
        let is_host = |(name, _): &Header| name.eq_ignore_ascii_case("host");
        let adds_host = !host.is_empty() && !draft.headers.iter().any(is_host);
        if adds_host {
            let of_target = self.file.headers.iter().find(|header| is_host(header));
            if self.other_host.is_none() && of_target.is_some_and(|(_, known)| *known != host) {
                self.other_host = Some(host.clone());
            }
            draft.headers.push(("Host".to_owned(), host));
        }
        let Draft { method, path, headers, body, .. } = &*draft;
        let (defaults, script) = (self.file.headers.as_slice(), self.script.as_ref());
        let parts = RequestParts { method, path, headers, defaults, body, script };
        let filled = request.fill(parts, self.habits);
        if adds_host {
            draft.headers.pop();
        }
        match filled {
            Ok(()) => Entry::Request,
            Err(error) => {
                let (hint, what) = (error.hint(), EntryError::NoRequest { error });
                Entry::Broken(Broken { line: draft.line, what, hint })
            }
        }
    }

    fn tag(&mut self) -> Tag {
        if self.draft.tag != self.last.0 {
            self.last.1 = self.tags.tag(&self.draft.tag);
            self.last.0.clone_from(&self.draft.tag);
        }
        self.last.1
    }
}

/// Whether each of the first [`EXAMINED`] requests closes its connection. `None` where this is
/// unknown: a pipe, which can be read only once, or a file without an entry.
pub(super) fn ends_connections(file: &TrafficFile, habits: Habits) -> Option<bool> {
    std::fs::metadata(&file.path).ok().filter(std::fs::Metadata::is_file)?;
    let mut reading = TrafficReader::of(file, habits, &Tags::new()).ok()?;
    let (mut request, mut seen) = (Request::default(), 0);
    while seen < EXAMINED {
        match reading.next(&mut request).ok()? {
            Entry::Request if !request.closes => return Some(false),
            Entry::Request => seen += 1,
            Entry::Skipped(_) => {}
            Entry::Broken(_) | Entry::End => break,
        }
    }
    (seen > 0).then_some(true)
}

/// The site of a recording whose requests are sent: the target's, or that of most requests. A pipe
/// is read into `begin` for that, as far as it may be kept in memory.
fn site_of(
    file: &TrafficFile,
    open: &mut Open,
    length: Option<u64>,
    begin: &mut Vec<u8>,
    reader: &mut Bytes,
) -> Result<Option<String>, TrafficError> {
    if let Some(site) = &file.site {
        return Ok(Some(url::site(site)));
    }
    let unreadable = |source: io::Error| unreadable(file, source);
    let surveyed: Bytes = match length {
        Some(_) => {
            let whole = open().and_then(|reader| compressed::again(reader, BytesRead::default()));
            Box::new(whole.map_err(unreadable)?.take(SURVEY_BYTES))
        }
        None => {
            let more = SURVEY_BYTES.saturating_sub(begin.len() as u64);
            reader.by_ref().take(more).read_to_end(begin).map_err(unreadable)?;
            Box::new(Cursor::new(begin.clone()))
        }
    };
    let survey = Survey::of(Input::new(surveyed)).map_err(unreadable)?;
    let target = file.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"));
    let target = target.map(|(_, host)| host.as_str());
    let Some(site) = survey.site(target) else { return Ok(None) };
    let is_named = target.is_some_and(|host| url::site(host) == site);
    let (requests, others) = survey.besides(site);
    let to_others: u64 = others.iter().map(|(_, count)| count).sum();
    if to_others > requests && !is_named {
        let (path, host) = (file.path.clone(), site.to_owned());
        return Err(TrafficError::MostlyOtherHosts { path, host, requests, others });
    }
    Ok(Some(site.to_owned()))
}

/// Bytes of a recording from which its host is chosen; of a pipe, they are kept in memory.
const SURVEY_BYTES: u64 = 64 << 20;
/// Most names of left out headers that are counted separately, and the name of the others.
const NAMES_MAX: usize = 16;
const OTHER_NAMES: &str = "other";
/// Bytes from which the format is detected.
const BEGIN_BYTES: u64 = 64 << 10;
