//! Reads HTTP Archive 1.2, which browsers and proxies record: method, URL, headers and body of each
//! entry's request.

use std::collections::BTreeMap;
use std::io;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use stampede_model::entry::{EntryError, Skip};

use super::form::{self, Part};
use super::input::{Broken, Draft, Input, ParseError, ParsedEntry, shown};
use super::json::Json;
use super::loose::{Loose, LooseList, LooseText};
use super::recorded::{Recorded, header};
use super::url;

#[derive(Debug, Default)]
pub(super) struct Har {
    entries: Entries,
    /// Site whose requests are sent. Requests of a page to other sites are not for the server under
    /// load. `None`: that of the first entry.
    site: Option<String>,
}

/// The entries of an archive, one after the other.
#[derive(Debug, Default)]
struct Entries {
    position: ArchivePosition,
    /// First line of the current entry.
    line: u64,
}

/// How far the archive was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ArchivePosition {
    #[default]
    Begin,
    /// After an entry.
    Entries,
    /// After the last entry, or after something that is no archive.
    End,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Entry {
    request: Loose<RequestMember>,
    response: Loose<ResponseMember>,
    #[serde(rename = "_resourceType")]
    resource_type: LooseText,
    #[serde(rename = "_webSocketMessages")]
    socket_messages: LooseList<serde::de::IgnoredAny>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RequestMember {
    method: LooseText,
    url: LooseText,
    headers: LooseList<Loose<Pair>>,
    post_data: Loose<PostData>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ResponseMember {
    status: LooseText,
    content: Loose<ContentMember>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ContentMember {
    mime_type: LooseText,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Pair {
    name: LooseText,
    value: LooseText,
    file_name: LooseText,
    content_type: LooseText,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct PostData {
    mime_type: LooseText,
    text: LooseText,
    params: LooseList<Loose<Pair>>,
    encoding: LooseText,
}

/// How many requests of an archive go to which site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Survey {
    sites: BTreeMap<String, u64>,
    /// The sites in the order in which they first occur.
    order: Vec<String>,
}

impl Har {
    pub(super) fn new(site: Option<&str>) -> Har {
        Har { entries: Entries::default(), site: site.map(str::to_owned) }
    }

    pub(super) fn next(
        &mut self,
        input: &mut Input,
        draft: &mut Draft,
    ) -> Result<ParsedEntry, ParseError> {
        let entry = match self.entries.next(input)? {
            Next::Entry(entry) => entry,
            Next::CutOff => return Ok(ParsedEntry::Skipped(Skip::CutOff {})),
            Next::End => return Ok(ParsedEntry::End),
        };
        let recorded = match entry.recorded(self.entries.line) {
            Ok(recorded) => recorded,
            Err(skip) => return Ok(ParsedEntry::Skipped(skip)),
        };
        recorded.write(draft);
        let site = self.site.get_or_insert_with(|| url::site(&draft.host));
        if *site != url::site(&draft.host) {
            return Ok(ParsedEntry::Skipped(Skip::OtherHost { host: shown(site.as_bytes()) }));
        }
        Ok(ParsedEntry::Request)
    }
}

impl Survey {
    /// Counts the requests to each site, as far as `input` goes and at most those of
    /// [`SURVEYED`] entries. What is broken ends it: the reader says so later.
    pub(super) fn of(mut input: Input) -> io::Result<Survey> {
        let (mut survey, mut entries) = (Survey::default(), Entries::default());
        for _ in 0..SURVEYED {
            match entries.next(&mut input) {
                Ok(Next::Entry(entry)) => survey.add(&entry),
                Ok(Next::CutOff | Next::End) | Err(ParseError::Broken(_)) => break,
                Err(ParseError::Io(error)) => return Err(error),
            }
        }
        Ok(survey)
    }

    fn add(&mut self, entry: &Entry) {
        let Ok(recorded) = entry.recorded(0) else { return };
        let mut draft = Draft::default();
        recorded.write(&mut draft);
        let site = url::site(&draft.host);
        if !self.sites.contains_key(&site) {
            if self.sites.len() == SITES_MAX {
                return;
            }
            self.order.push(site.clone());
        }
        *self.sites.entry(site).or_default() += 1;
    }

    /// The site to send to: the target's where it occurs, otherwise that of most requests, the
    /// first of several with as many. `None` where there are no requests.
    pub(super) fn site(&self, target: Option<&str>) -> Option<&str> {
        if let Some((known, _)) = target.and_then(|host| self.sites.get_key_value(&url::site(host)))
        {
            return Some(known);
        }
        let most = self.sites.values().max()?;
        self.order.iter().find(|site| self.sites[*site] == *most).map(String::as_str)
    }

    /// The number of requests to this site, and the other sites with theirs, most first.
    pub(super) fn besides(&self, site: &str) -> (u64, Vec<(String, u64)>) {
        let mut others: Vec<(String, u64)> = self
            .sites
            .iter()
            .filter(|(other, _)| *other != site)
            .map(|(other, count)| (other.clone(), *count))
            .collect();
        others.sort_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(&other.0)));
        (self.sites.get(site).copied().unwrap_or(0), others)
    }
}

/// What follows in an archive.
enum Next {
    Entry(Box<Entry>),
    /// The file ends within the entries.
    CutOff,
    End,
}

impl Entries {
    fn next(&mut self, input: &mut Input) -> Result<Next, ParseError> {
        let began = self.position != ArchivePosition::Begin;
        let read = self.read(Json { input, hint: HINT });
        if !matches!(read, Ok(Some(_))) {
            self.position = ArchivePosition::End;
        }
        match read {
            Ok(Some(entry)) => Ok(Next::Entry(Box::new(entry))),
            Ok(None) => Ok(Next::End),
            Err(ParseError::Broken(Broken { what: EntryError::FileEnds { .. }, .. })) if began => {
                Ok(Next::CutOff)
            }
            Err(error) => Err(error),
        }
    }

    /// Reads the next entry; `None` where there are no more.
    fn read(&mut self, mut json: Json<'_>) -> Result<Option<Entry>, ParseError> {
        let has_next = match self.position {
            ArchivePosition::Begin => {
                json.input.skip_byte_order_mark()?;
                json.member("log")?;
                json.member("entries")?;
                json.expect(b'[')?;
                json.peek()? != Some(b']')
            }
            ArchivePosition::Entries => json.has_next(b']')?,
            ArchivePosition::End => false,
        };
        if !has_next {
            return Ok(None);
        }
        self.position = ArchivePosition::Entries;
        json.peek()?;
        self.line = json.input.line_number() + 1;
        json.value().map(|Loose(entry)| Some(entry))
    }
}

impl Entry {
    /// The request, or why it is not sent.
    fn recorded(&self, line: u64) -> Result<Recorded, Skip> {
        let Loose(RequestMember { method, url, headers, post_data }) = &self.request;
        if method.0.eq_ignore_ascii_case("connect") {
            return Err(Skip::Connect {});
        }
        let headers =
            headers.0.iter().map(|Loose(pair)| (pair.name.0.clone(), pair.value.0.clone()));
        let headers: Vec<_> = headers.filter(|(name, _)| !name.is_empty()).collect();
        let host = header(&headers, ":authority").or(header(&headers, "host")).unwrap_or_default();
        let url = match url.0.starts_with('/') {
            true if !host.is_empty() => format!("http://{host}{}", url.0),
            _ => url.0.clone(),
        };
        self.check_kind(&url, &headers)?;
        let mut recorded =
            Recorded { line, method: method.0.clone(), url, headers, ..Recorded::default() };
        let is_partial = recorded.header("if-range").is_some();
        let is_range = |name: &str| is_partial && name.eq_ignore_ascii_case("range");
        recorded.headers.retain(|(name, _)| is_kept(name) && !is_range(name));
        recorded.leave_out_headers();
        post_data.0.write(&mut recorded)?;
        if recorded.method.is_empty() {
            return Err(Skip::NotHttp {});
        }
        Ok(recorded)
    }

    /// Checks that it is one request with one answer.
    fn check_kind(&self, url: &str, headers: &[super::Header]) -> Result<(), Skip> {
        let resource = self.resource_type.0.as_str();
        let scheme = url::scheme(url).unwrap_or_default().to_ascii_lowercase();
        let says = |name, value: &str| {
            header(headers, name).is_some_and(|said| said.to_ascii_lowercase().starts_with(value))
        };
        let status = self.response.0.status.0.as_str();
        let is_socket = resource.eq_ignore_ascii_case("websocket")
            || matches!(scheme.as_str(), "ws" | "wss")
            || says("upgrade", "websocket")
            || status == "101"
            || !self.socket_messages.0.is_empty();
        if is_socket {
            return Err(Skip::WebSocket {});
        }
        let answer = self.response.0.content.0.mime_type.0.to_ascii_lowercase();
        let is_stream = resource.eq_ignore_ascii_case("eventsource")
            || answer.starts_with(EVENTS)
            || says("accept", EVENTS);
        match scheme.as_str() {
            "http" | "https" if is_stream => Err(Skip::EventStream {}),
            "http" | "https" if url::is_http(url) => Ok(()),
            "" | "http" | "https" => Err(Skip::NotHttp {}),
            other => Err(Skip::Scheme { scheme: other.chars().take(SCHEME_CHARS).collect() }),
        }
    }
}

impl PostData {
    /// Writes the body, and its type where no header says it.
    fn write(&self, recorded: &mut Recorded) -> Result<(), Skip> {
        let media_type = self.mime_type.0.clone();
        if !media_type.is_empty() && media_type != "multipart/form-data" {
            recorded.add_header("Content-Type", media_type);
        }
        if self.encoding.0.eq_ignore_ascii_case("base64") {
            let decoded = STANDARD.decode(self.text.0.trim());
            recorded.body = decoded.map_err(|_| Skip::Base64Body {})?;
            return Ok(());
        }
        if !self.text.0.is_empty() {
            recorded.body = self.text.0.clone().into_bytes();
            return Ok(());
        }
        let params = self.params.0.iter().map(|Loose(param)| param);
        let media_type = recorded.header("content-type").unwrap_or(&self.mime_type.0);
        if !media_type.to_ascii_lowercase().starts_with(form::MULTIPART) {
            let pairs: Vec<_> =
                params.map(|param| (param.name.0.clone(), param.value.0.clone())).collect();
            recorded.body = form::url_encoded(&pairs).into_bytes();
            if !pairs.is_empty() {
                recorded.add_header("Content-Type", form::URL_ENCODED);
            }
            return Ok(());
        }
        let parts = params.map(Pair::part).collect::<Result<Vec<Part>, Skip>>()?;
        if !parts.is_empty() {
            let (body, media_type) = form::multipart(&parts, form::boundary(media_type));
            recorded.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
            recorded.headers.push(("Content-Type".to_owned(), media_type));
            recorded.body = body;
        }
        Ok(())
    }
}

impl Pair {
    /// A field of a multipart form.
    fn part(&self) -> Result<Part, Skip> {
        let given = |text: &LooseText| (!text.0.is_empty()).then(|| text.0.clone());
        let file_name = given(&self.file_name);
        if file_name.is_some() && self.value.0.is_empty() {
            return Err(Skip::FormFile { field: shown(self.name.0.as_bytes()) });
        }
        let content_type = given(&self.content_type);
        let value = self.value.0.clone().into_bytes();
        Ok(Part { name: self.name.0.clone(), file_name, content_type, value })
    }
}

/// Whether a recorded header is sent. `Host` is that of the URL. A browser with a warm cache asks on
/// conditions (RFC 9110 section 13.1), to which the answer would be 304 or 412. `Range` goes with
/// `If-Range`, which means that the rest is in the browser's cache; alone it is what was wanted.
fn is_kept(name: &str) -> bool {
    const DROPPED: [&str; 6] = [
        "host",
        "if-match",
        "if-modified-since",
        "if-none-match",
        "if-range",
        "if-unmodified-since",
    ];
    !DROPPED.iter().any(|dropped| name.eq_ignore_ascii_case(dropped))
}

const HINT: &str = "a HAR file is an object with `log.entries`, each with a `request` that has `method` and `url`; an entry has at most 256 MiB";
const EVENTS: &str = "text/event-stream";
/// Entries from which the site is chosen. Which site a recording is about shows much earlier.
const SURVEYED: u64 = 10_000;
/// Most sites that are counted. A page with advertisements has some hundred.
const SITES_MAX: usize = 4_096;
/// Most characters of a scheme in a reason.
const SCHEME_CHARS: usize = 20;
