//! Reads the requests of a configuration: headers, lists of paths, and request files.

use stampede_model::load::{ConnectionHabit, Habits, HttpVersion};
use stampede_traffic::{
    Format, Header, LoadTraffic, Request, Source, Tags, TrafficError, TrafficFile,
    bracketed_headers, read_tagged,
};

use super::{Given, address, given};
use crate::error::{Help, Mistake, PlanError};
use crate::read::home;
use crate::tree::Node;
use crate::value::{not_a, text, texts, value_of};

/// The names of the keys of a request file.
pub(super) struct FileKeys {
    /// The key of its path.
    pub file: &'static str,
    /// The key of its format.
    pub kind: &'static str,
    /// The names of the formats.
    pub kinds: &'static [&'static str],
    /// The one of them in whose place the format is detected.
    pub detected: &'static str,
}

/// Headers that each request has.
#[derive(Debug, Default)]
pub(super) struct Headers(pub Vec<Header>);

impl Headers {
    /// The value of the header with this name.
    pub fn get(&self, name: &str) -> Option<&str> {
        let found = self.0.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// Adds `Host` where it is not given.
    pub fn default_host(&mut self, host: String) {
        if self.get("host").is_none() {
            self.0.insert(0, ("Host".to_owned(), host));
        }
    }
}

/// Headers in the forms `[Name: value]`, also several on a line, or `Name: value`, given as a list
/// or as lines of a text.
pub(super) fn headers(node: &Node) -> Result<Headers, PlanError> {
    const EXPECTED: &str = "headers such as `[Host: example.org]`";
    let mut headers = Vec::new();
    for (line, node) in lines(node, EXPECTED)? {
        let of_line = match line.starts_with('[') {
            true => bracketed_headers(line),
            false => line.split_once(':').map(|header| vec![header]),
        };
        let of_line = of_line.ok_or_else(|| not_a(node, "a header", EXPECTED))?;
        for (name, value) in of_line {
            let header = (name.trim().to_owned(), value.trim().to_owned());
            let habits =
                Habits { version: HttpVersion::Http10, connection: ConnectionHabit::PerRequest };
            get("/", std::slice::from_ref(&header), habits)
                .map_err(|error| refused(node, error, EXPECTED))?;
            headers.push(header);
        }
    }
    Ok(Headers(headers))
}

/// The request file that is given, or the requests of `node`: its `uris` or its request file.
pub(super) fn source(
    node: &Node,
    keys: &FileKeys,
    overrides: &Given,
    Headers(headers): Headers,
    habits: Habits,
) -> Result<Source, PlanError> {
    if let Some(path) = &overrides.traffic {
        return Ok(Source::File(Box::new(TrafficFile { headers, ..TrafficFile::new(path) })));
    }
    match (given(node, "uris"), given(node, keys.file)) {
        (Some(_), Some(_)) => {
            let mistake = Mistake::Together(keys.file, "uris");
            let place = node.entry(keys.file).map_or(&node.place, |(key, _)| &key.place);
            Err(place.wrong(mistake, format!("either `uris` or `{}`", keys.file)))
        }
        (Some(uris), None) => list(uris, &headers, habits),
        (None, Some(file)) => self::file(node, file, keys, Headers(headers)),
        (None, None) => {
            let place = node.get("uris").map_or(&node.place, |uris| &uris.place);
            let todo = format!(
                "write `uris: [/]` or `{}: FILE`, or name the file on the command line: \
                 `--traffic FILE`",
                keys.file
            );
            Err(place.wrong(Mistake::Missing("uris"), Help::Do(todo)))
        }
    }
}

fn list(uris: &Node, headers: &[Header], habits: Habits) -> Result<Source, PlanError> {
    const PATH: &str = "a path that begins with /, spaces percent-encoded: `/a%20b`";
    let request = |(uri, node): (&str, &Node)| {
        get(uri, headers, habits).map_err(|error| refused(node, error, PATH))
    };
    let uris = lines(uris, "paths such as `/`")?;
    let requests: Vec<Request> = uris.into_iter().map(request).collect::<Result<_, _>>()?;
    Ok(Source::List(requests.into()))
}

/// The requests of a text in the configuration itself. Their format is that of a file.
pub(super) fn inline(
    section: &Node,
    node: &Node,
    keys: &FileKeys,
    Headers(headers): Headers,
    habits: Habits,
) -> Result<LoadTraffic, PlanError> {
    const DATA: &str = "the lines of a request file";
    let data = text(node, "a text", DATA)?;
    let file = TrafficFile { format: format(section, keys)?, headers, ..TrafficFile::new(INLINE) };
    let tags = Tags::new();
    let (requests, _) = read_tagged(data.as_bytes(), &file, habits, &tags)
        .map_err(|error| refused(node, error, DATA))?;
    Ok(LoadTraffic::list(requests, tags))
}

/// The format that the section names. `None`: it is detected.
fn format(section: &Node, keys: &FileKeys) -> Result<Option<Format>, PlanError> {
    Ok(match given(section, keys.kind) {
        Some(node) => match value_of(node, keys.kind, keys.kinds)? {
            name if name == keys.detected => None,
            name => Format::named(name),
        },
        None => None,
    })
}

/// The file that `node` names.
pub(super) fn file(
    section: &Node,
    node: &Node,
    keys: &FileKeys,
    Headers(headers): Headers,
) -> Result<Source, PlanError> {
    address::is_filled(node)?;
    let path = text(node, "a path", "the path of a file")?;
    if path.starts_with("http://") || path.starts_with("https://") {
        return Err(not_a(node, "a path", "a file on this machine: download it first"));
    }
    let format = format(section, keys)?;
    let path = match (path.strip_prefix("~/"), home()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => node.place.source.base.join(path),
    };
    Ok(Source::File(Box::new(TrafficFile { format, headers, ..TrafficFile::new(&path) })))
}

/// The lines of a list of texts, or of one text.
fn lines<'a>(node: &'a Node, expected: &str) -> Result<Vec<(&'a str, &'a Node)>, PlanError> {
    let mut all = Vec::new();
    for node in texts(node, expected)? {
        let lines = node.text().unwrap_or_default().lines().map(str::trim);
        all.extend(lines.filter(|line| !line.is_empty()).map(|line| (line, node)));
    }
    Ok(all)
}

fn get(path: &str, headers: &[Header], habits: Habits) -> Result<Request, TrafficError> {
    Ok(Request::build("GET", path, headers, b"", habits, None)?)
}

/// The error of a text that makes no valid request, at its place.
fn refused(node: &Node, error: TrafficError, expected: &str) -> PlanError {
    node.place.wrong(Mistake::refused(error), expected)
}

/// How a text of the configuration is called where a file would be.
const INLINE: &str = "inline";
