//! Reads HTTP Archive 1.2, which browsers and proxies record: method, URL, headers and body of each
//! entry's request.

use serde::Deserialize;
use stampede_model::entry::Skip;

use super::Header;
use super::input::{Draft, Input, ParseError, ParsedEntry, shown};
use super::json::Json;

#[derive(Debug, Default)]
pub(super) struct Har {
    position: ArchivePosition,
    /// First line of the current entry.
    line: u64,
    /// Host of the first entry. Requests of a page to other hosts are not for the server under
    /// load.
    host: Option<String>,
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

#[derive(Debug, Deserialize)]
struct Entry {
    request: RecordedRequest,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RecordedRequest {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<Pair>,
    post_data: Option<PostData>,
}

#[derive(Debug, Deserialize)]
struct Pair {
    name: String,
    #[serde(default)]
    value: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PostData {
    #[serde(default)]
    mime_type: String,
    #[serde(default)]
    text: String,
    #[serde(default)]
    params: Vec<Pair>,
    encoding: Option<String>,
}

impl Har {
    pub(super) fn next(
        &mut self,
        input: &mut Input,
        draft: &mut Draft,
    ) -> Result<ParsedEntry, ParseError> {
        let entry = self.entry(Json { input, hint: HINT });
        if !matches!(entry, Ok(Some(_))) {
            self.position = ArchivePosition::End;
        }
        let Some(Entry { request }) = entry? else { return Ok(ParsedEntry::End) };
        if !request.url.starts_with("http://") && !request.url.starts_with("https://") {
            return Ok(ParsedEntry::Skipped(Skip::NotHttp {}));
        }
        draft.begin(self.line, &request.method);
        draft.set_url(&request.url);
        let host = self.host.get_or_insert_with(|| draft.host.clone());
        if *host != draft.host {
            return Ok(ParsedEntry::Skipped(Skip::OtherHost { host: shown(host.as_bytes()) }));
        }
        draft.headers.clear();
        let kept = request.headers.into_iter().filter(|header| is_kept(&header.name));
        draft.headers.extend(kept.map(|Pair { name, value }| (name, value)));
        match request.post_data {
            Some(data) if data.encoding.as_deref() == Some("base64") => {
                Ok(ParsedEntry::Skipped(Skip::Base64Body {}))
            }
            Some(data) => {
                data.write(draft);
                Ok(ParsedEntry::Request)
            }
            None => Ok(ParsedEntry::Request),
        }
    }

    /// Reads the next entry; `None` where there are no more.
    fn entry(&mut self, mut json: Json<'_>) -> Result<Option<Entry>, ParseError> {
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
        json.value().map(Some)
    }
}

impl PostData {
    fn write(&self, draft: &mut Draft) {
        let has_type = |(name, _): &Header| name.eq_ignore_ascii_case("content-type");
        if !self.mime_type.is_empty() && !draft.headers.iter().any(has_type) {
            draft.headers.push(("Content-Type".to_owned(), self.mime_type.clone()));
        }
        if !self.text.is_empty() {
            return draft.body.extend_from_slice(self.text.as_bytes());
        }
        // In the form of `application/x-www-form-urlencoded`; other forms are recorded as text.
        let pairs = self.params.iter().map(|pair| format!("{}={}", pair.name, pair.value));
        let pairs: Vec<String> = pairs.collect();
        draft.body.extend_from_slice(pairs.join("&").as_bytes());
    }
}

/// Whether a recorded header is sent. Headers of the recorded connection do not belong to the
/// request (RFC 9110 section 7.6.1). HTTP/2 has its request line in headers that begin with a
/// colon.
fn is_kept(name: &str) -> bool {
    const DROPPED: [&str; 9] = [
        "connection",
        "content-length",
        "host",
        "http2-settings",
        "keep-alive",
        "proxy-connection",
        "te",
        "transfer-encoding",
        "upgrade",
    ];
    !name.starts_with(':') && !DROPPED.iter().any(|dropped| name.eq_ignore_ascii_case(dropped))
}

const HINT: &str = "a HAR file is an object with `log.entries`, each with a `request` that has `method` and `url`; an entry has at most 256 MiB";
