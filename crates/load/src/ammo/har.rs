//! HTTP Archive 1.2, what browsers and proxies record: method, URL, headers and body of
//! each entry's request.

use serde::Deserialize;

use super::Header;
use super::input::{Broken, Draft, Fault, Input, Step, shown};

#[derive(Debug, Default)]
pub(super) struct Har {
    /// `None` before the file was read.
    entries: Option<std::vec::IntoIter<Entry>>,
    /// Of the first entry: a page's requests to others are not for the server under load.
    host: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Document {
    log: Log,
}

#[derive(Debug, Deserialize)]
struct Log {
    entries: Vec<Entry>,
}

#[derive(Debug, Deserialize)]
struct Entry {
    request: Recorded,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Recorded {
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
    pub(super) fn next(&mut self, input: &mut Input, draft: &mut Draft) -> Result<Step, Fault> {
        if self.entries.is_none() {
            // Read once, whatever comes of it: what is no archive has no further entry.
            self.entries = Some(Vec::new().into_iter());
            self.entries = Some(read(input)?.into_iter());
        }
        let Some(entries) = &mut self.entries else { return Ok(Step::End) };
        let Some(Entry { request }) = entries.next() else { return Ok(Step::End) };
        if !request.url.starts_with("http://") && !request.url.starts_with("https://") {
            return Ok(Step::Skipped("no HTTP request".to_owned()));
        }
        draft.begin(1, &request.method);
        draft.set_url(&request.url);
        let host = self.host.get_or_insert_with(|| draft.host.clone());
        if *host != draft.host {
            return Ok(Step::Skipped(format!("another host than {}", cut(host))));
        }
        draft.headers.clear();
        let kept = request.headers.into_iter().filter(|header| is_kept(&header.name));
        draft.headers.extend(kept.map(|Pair { name, value }| (name, value)));
        match request.post_data {
            Some(data) if data.encoding.as_deref() == Some("base64") => {
                Ok(Step::Skipped("body in base64".to_owned()))
            }
            Some(data) => {
                data.write(draft);
                Ok(Step::Request)
            }
            None => Ok(Step::Request),
        }
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
        // As `application/x-www-form-urlencoded` has them; of other forms text is recorded.
        let pairs = self.params.iter().map(|pair| format!("{}={}", pair.name, pair.value));
        let pairs: Vec<String> = pairs.collect();
        draft.body.extend_from_slice(pairs.join("&").as_bytes());
    }
}

fn read(input: &mut Input) -> Result<Vec<Entry>, Fault> {
    let document: Result<Document, _> = serde_json::from_reader(input.rest(HAR_BYTES_MAX));
    match document {
        Ok(document) => Ok(document.log.entries),
        Err(error) if error.is_io() => Err(Fault::Io(error.into())),
        Err(error) => {
            let (line, what) = (error.line() as u64, error.to_string());
            let what = what.split(" at line ").next().unwrap_or_default().to_owned();
            let hint = "a HAR file is an object with `log.entries`, each with a `request` that has `method` and `url`; it has at most 256 MiB";
            Err(Fault::Broken(Broken { line: line.max(1), what, hint }))
        }
    }
}

/// Headers of the recorded connection are not of the request (RFC 9110 section 7.6.1), and
/// HTTP/2 has its request line in headers with a colon.
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

fn cut(host: &str) -> String {
    shown(host.as_bytes())
}

/// A browser's archive of a long session has some 100 MiB, most of it answers, which are
/// not kept.
const HAR_BYTES_MAX: u64 = 256 << 20;
