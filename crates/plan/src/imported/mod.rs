//! Test scripts of other load generators, as far as they say literally what is sent: test plans of
//! JMeter and scripts of k6. They are read, never run. What is not taken over is listed with its
//! line.
//!
//! ```text
//! text → Tool → Found (requests, load, left out) → of one host, valid → ImportedLoad
//! ```

mod error;
mod form;
mod jmeter;
mod k6;
mod omission;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use stampede_model::entry::RequestError;
use stampede_model::load::{ConnectionHabit, Habits, HttpVersion, Until};
use stampede_model::quantity::LengthText;
use stampede_model::schedule::Segments;
use stampede_traffic::{Request, is_same_site};

use super::model::RequestSpec;

pub use error::ImportError;
pub use omission::{LeftOut, Omission, RequestPart};

/// A load generator whose scripts are recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// Apache JMeter: a test plan in XML.
    Jmeter,
    /// k6: a script in JavaScript.
    K6,
    /// Gatling: a program in Scala, Java, Kotlin or JavaScript.
    Gatling,
    /// Locust: a program in Python.
    Locust,
}

/// What a script says that is taken over.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedLoad {
    /// The tool that the script is for.
    pub tool: Tool,
    /// The requests in the order of the script, at least one. All are of one host, or of none.
    pub requests: Vec<ImportedRequest>,
    /// The load of the script. `None`: it has none, or none that is literal.
    pub load: Option<ProposedLoad>,
    /// What is not taken over, by line.
    pub left_out: Vec<LeftOut>,
}

/// A request of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedRequest {
    /// Its line, counted from 1.
    pub line: usize,
    /// The request.
    pub spec: RequestSpec,
}

/// A load as a script has it.
#[derive(Clone, Debug, PartialEq)]
pub enum ProposedLoad {
    /// A constant number of users.
    Users {
        /// How many, 1 or more.
        users: u32,
        /// When the load ends. `None`: the script does not say.
        until: Option<Until>,
    },
    /// A schedule of requests.
    Schedule(Segments),
}

/// The load as flags of `stampede fire`.
impl fmt::Display for ProposedLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProposedLoad::Schedule(segments) => write!(f, "--schedule '{segments}'"),
            ProposedLoad::Users { users, until } => {
                write!(f, "--concurrency {users}")?;
                match until {
                    Some(Until::For(length)) => write!(f, " --for {}", LengthText(*length)),
                    Some(Until::Requests(count)) => write!(f, " --requests {count}"),
                    None => Ok(()),
                }
            }
        }
    }
}

impl ImportedRequest {
    /// The request with these habits. Its host, if it has one, is its `Host`.
    ///
    /// # Errors
    /// Its parts make no valid request. Those of an [`ImportedLoad`] do.
    pub fn request(&self, habits: Habits) -> Result<Request, RequestError> {
        let RequestSpec { method, path, headers, body, site } = &self.spec;
        let has_host = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host"));
        let host = site.iter().filter(|_| !has_host).map(|host| ("Host".to_owned(), host.clone()));
        let headers: Vec<_> = host.chain(headers.iter().cloned()).collect();
        Request::build(method, path, &headers, body, habits, None)
    }
}

impl ImportedLoad {
    /// The requests that are not taken over, by line.
    pub fn requests_left_out(&self) -> impl Iterator<Item = &LeftOut> {
        self.left_out.iter().filter(|one| one.what.is_request())
    }

    /// What is not taken over, alike things together, each with its lines.
    pub fn left_out_by_kind(&self) -> Vec<(&Omission, Vec<usize>)> {
        let mut kinds: Vec<(&Omission, Vec<usize>)> = Vec::new();
        let mut places: HashMap<&Omission, usize> = HashMap::new();
        for LeftOut { line, what } in &self.left_out {
            let place = *places.entry(what).or_insert(kinds.len());
            match kinds.get_mut(place) {
                Some((_, lines)) => lines.push(*line),
                None => kinds.push((what, vec![*line])),
            }
        }
        kinds
    }
}

impl Tool {
    /// The tool that a file with this beginning is for.
    pub fn of(begin: &[u8]) -> Option<Tool> {
        let text = String::from_utf8_lossy(begin);
        let text = text.trim_start_matches('\u{feff}').trim_start();
        // JSON can hold a script as a text.
        if text.starts_with(['{', '[']) {
            return None;
        }
        if text.starts_with('<') {
            return text.contains("<jmeterTestPlan").then_some(Tool::Jmeter);
        }
        text.lines().map(str::trim).find_map(of_line)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Tool::Jmeter => "JMeter",
            Tool::K6 => "k6",
            Tool::Gatling => "Gatling",
            Tool::Locust => "Locust",
        }
    }
}

/// The tool whose library a line imports.
fn of_line(line: &str) -> Option<Tool> {
    let imports =
        line.starts_with("import ") || line.contains(" from ") || line.contains("require(");
    let names =
        |module: &str| ["'", "\""].iter().any(|quote| line.contains(&format!("{quote}{module}")));
    let is_k6 = names("k6/") || names("k6'") || names("k6\"");
    match () {
        () if line.starts_with("import io.gatling") => Some(Tool::Gatling),
        () if line.starts_with("import static io.gatling") => Some(Tool::Gatling),
        () if imports && names("@gatling.io/") => Some(Tool::Gatling),
        () if line.starts_with("from locust") || line.starts_with("import locust") => {
            Some(Tool::Locust)
        }
        () if imports && is_k6 => Some(Tool::K6),
        () => None,
    }
}

/// Reads the script at `path`. `None`: the file is no script, but a request file for example. A
/// pipe is not read at all, because it can be read only once.
///
/// # Errors
/// See [`ImportError`].
pub fn read(path: &Path) -> Result<Option<ImportedLoad>, ImportError> {
    read_for(path, None)
}

/// The same for a host: only its requests are taken over. `None`: the host of most requests.
///
/// # Errors
/// See [`ImportError`]. A script without a request to that host has none to take over.
pub fn read_for(path: &Path, host: Option<&str>) -> Result<Option<ImportedLoad>, ImportError> {
    if !std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file()) {
        return Ok(None);
    }
    let unreadable = |source: std::io::Error| ImportError::Unreadable {
        path: path.to_owned(),
        source: Arc::new(source),
    };
    let mut file = File::open(path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    (&mut file).take(BEGIN_BYTES).read_to_end(&mut bytes).map_err(unreadable)?;
    let Some(tool) = Tool::of(&bytes) else { return Ok(None) };
    (&mut file).take(BYTES_MAX).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(ImportError::TooLarge { path: path.to_owned() });
    }
    let text =
        String::from_utf8(bytes).map_err(|_| ImportError::NotUtf8 { path: path.to_owned() })?;
    stampede_mask::text(&text);
    found(tool, &text, path)?.finish(tool, path, host).map(Some)
}

/// Reads a script. `path` is for messages.
///
/// # Errors
/// See [`ImportError`].
pub fn parse(tool: Tool, text: &str, path: &Path) -> Result<ImportedLoad, ImportError> {
    found(tool, text, path)?.finish(tool, path, None)
}

fn found(tool: Tool, text: &str, path: &Path) -> Result<Found, ImportError> {
    let text = text.trim_start_matches('\u{feff}');
    Ok(match tool {
        Tool::Jmeter => jmeter::read(text, path)?,
        Tool::K6 => k6::read(text, path)?,
        Tool::Gatling | Tool::Locust => {
            return Err(ImportError::IsProgram { path: path.to_owned(), tool });
        }
    })
}

/// What was found in a script.
#[derive(Debug, Default)]
struct Found {
    requests: Vec<ImportedRequest>,
    load: Option<ProposedLoad>,
    left_out: HashSet<LeftOut>,
}

impl Found {
    fn leave_out(&mut self, line: usize, what: Omission) {
        self.left_out.insert(LeftOut { line, what });
    }

    /// Keeps the valid requests to the named host, or to the one that most of them are for. Those
    /// without a host are for either.
    fn finish(
        mut self,
        tool: Tool,
        path: &Path,
        host: Option<&str>,
    ) -> Result<ImportedLoad, ImportError> {
        let most = self.most_frequent_site();
        let is_meant = |site: &str| match host {
            Some(host) => is_same_site(site, host),
            None => most.as_deref() == Some(site),
        };
        for ImportedRequest { line, spec } in std::mem::take(&mut self.requests) {
            let other = spec.site.clone().filter(|site| !is_meant(site));
            match (other, invalid_part(&spec)) {
                (Some(host), _) => self.leave_out(line, Omission::OtherHost { host }),
                (None, Some(part)) => self.leave_out(line, Omission::Request { part }),
                (None, None) => self.requests.push(ImportedRequest { line, spec }),
            }
        }
        let Found { requests, load, left_out } = self;
        let mut left_out: Vec<LeftOut> = left_out.into_iter().collect();
        left_out.sort();
        match requests.is_empty() {
            true => {
                left_out.sort_by_key(|one| !one.what.is_request());
                Err(ImportError::NoRequest { path: path.to_owned(), tool, left_out })
            }
            false => Ok(ImportedLoad { tool, requests, load, left_out }),
        }
    }

    fn most_frequent_site(&self) -> Option<String> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for site in self.requests.iter().filter_map(|request| request.spec.site.as_deref()) {
            *counts.entry(site).or_default() += 1;
        }
        // Of several, the one that comes first in the script.
        let first = |site: &str| {
            let of = |request: &ImportedRequest| request.spec.site.as_deref() == Some(site);
            self.requests.iter().position(of).unwrap_or(usize::MAX)
        };
        let most =
            counts.into_iter().max_by_key(|(site, count)| (*count, std::cmp::Reverse(first(site))));
        most.map(|(site, _)| site.to_owned())
    }
}

/// The part that keeps a request from being sent.
fn invalid_part(spec: &RequestSpec) -> Option<RequestPart> {
    let habits = Habits { version: HttpVersion::Http11, connection: ConnectionHabit::KeepAlive };
    let build = |method: &str, path: &str, headers: &[(String, String)]| {
        Request::build(method, path, headers, &spec.body, habits, None).is_ok()
    };
    match () {
        () if !build(&spec.method, "/", &[]) => Some(RequestPart::Method),
        () if !build("GET", &spec.path, &[]) => Some(RequestPart::Url),
        () if !build("GET", "/", &spec.headers) => Some(RequestPart::Headers),
        () => None,
    }
}

/// The headers of a script that are sent. Those that frame a message are made anew.
fn sent_headers(
    found: &mut Found,
    line: usize,
    headers: Vec<(String, String)>,
) -> Vec<(String, String)> {
    const OURS: [&str; 4] = ["content-length", "transfer-encoding", "connection", "keep-alive"];
    let (ours, kept): (Vec<_>, Vec<_>) = headers
        .into_iter()
        .partition(|(name, _)| OURS.contains(&name.to_ascii_lowercase().as_str()));
    for (name, _) in ours {
        found.leave_out(line, Omission::Header { name });
    }
    kept
}

/// Bytes from which a tool is recognised.
const BEGIN_BYTES: u64 = 64 << 10;
/// Size of the largest script, in bytes.
const BYTES_MAX: u64 = 16 << 20;
