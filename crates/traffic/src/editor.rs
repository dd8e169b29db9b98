//! Reads the request files of editors, `.http` and `.rest` (the REST Client of Visual Studio Code and
//! the HTTP client of JetBrains): requests with `###` between them, and variables `{{name}}`.

use stampede_model::entry::Skip;

use super::body_file::BodyFiles;
use super::document::DocumentEntry;
use super::form::{MULTIPART, URL_ENCODED};
use super::recorded::Recorded;
use super::url;
use super::variables::Variables;

/// The requests of a file. `known` has the values of its environment, which come before those that
/// the file sets.
pub(super) fn entries(text: &str, known: &Variables, files: &BodyFiles) -> Vec<DocumentEntry> {
    let lines: Vec<&str> = text.lines().collect();
    let mut variables = known.clone();
    for block in blocks(&lines) {
        let head = block.lines.iter().take_while(|line| !is_request_line(line));
        head.filter_map(|line| variable(line)).for_each(|(name, value)| variables.add(name, value));
    }
    let read = |block: Block<'_>| block.recorded(&variables, files);
    blocks(&lines).filter_map(read).map(DocumentEntry::from).collect()
}

/// The lines between two separators.
struct Block<'a> {
    /// Number of its first line.
    line: u64,
    /// What follows the separator.
    title: &'a str,
    lines: &'a [&'a str],
}

fn blocks<'a>(lines: &'a [&'a str]) -> impl Iterator<Item = Block<'a>> {
    let mut start = 0;
    let mut title = "";
    let mut is_over = false;
    std::iter::from_fn(move || {
        if is_over {
            return None;
        }
        let next = lines[start..].iter().position(|line| line.starts_with("###"));
        let end = next.map_or(lines.len(), |place| start + place);
        let block = Block { line: start as u64 + 1, title, lines: &lines[start..end] };
        is_over = next.is_none();
        title = lines.get(end).map_or("", |line| line.trim_start_matches('#').trim());
        start = (end + 1).min(lines.len());
        Some(block)
    })
}

/// A line `@name = value`.
fn variable(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.trim().strip_prefix('@')?.split_once('=')?;
    let name = name.trim();
    let is_name =
        name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c)) && !name.is_empty();
    is_name.then(|| (name, value.trim()))
}

fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with('#') || line.starts_with("//")
}

fn is_request_line(line: &str) -> bool {
    request_line(line).is_some()
}

/// Method, which may be missing, and URL of a request line.
fn request_line(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let is_url = |text: &str| {
        text.starts_with('/')
            || text.starts_with("{{")
            || url::scheme(text).is_some()
            || text.starts_with("localhost")
    };
    if is_comment(line) {
        return None;
    }
    let (method, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    let is_method = method.len() > 1 && method.bytes().all(|byte| byte.is_ascii_uppercase());
    match is_method && !rest.trim().is_empty() {
        true => Some((method, rest.trim())),
        false => is_url(line).then_some(("", line)),
    }
}

impl Block<'_> {
    /// Its request; `None` where there is none.
    fn recorded(&self, variables: &Variables, files: &BodyFiles) -> Option<Result<Recorded, Skip>> {
        let mut lines = (self.line..).zip(self.lines.iter().copied()).peekable();
        let mut tag = self.title.to_owned();
        let mut in_script = false;
        let (line, method, mut url) = loop {
            let (number, line) = lines.next()?;
            // A script that runs before the request ends with its own mark.
            in_script |= line.trim_start().starts_with("< {%");
            if in_script {
                in_script = !line.contains("%}");
                continue;
            }
            if let Some(name) = named(line) {
                tag = name.to_owned();
            } else if let Some((method, url)) = request_line(line) {
                break (number, method.to_owned(), url.to_owned());
            }
        };
        // A URL goes on in lines that are indented.
        while let Some((_, more)) = lines.next_if(|(_, line)| continues(line)) {
            url.push_str(more.trim());
        }
        let url = without_version(&url);
        let rest: Vec<&str> = lines.map(|(_, line)| line).collect();
        Some(Request { line, method, url, rest: &rest, tag }.recorded(variables, files))
    }
}

/// The name in a comment `# @name buy`.
fn named(line: &str) -> Option<&str> {
    let comment = line.trim().trim_start_matches(['#', '/']).trim_start();
    let rest = comment.strip_prefix("@name").filter(|_| is_comment(line))?;
    let name = rest.trim_start_matches([' ', '\t', '=']).trim();
    (!name.is_empty()).then_some(name)
}

fn continues(line: &str) -> bool {
    line.starts_with([' ', '\t']) && !line.trim().is_empty()
}

/// The URL without ` HTTP/1.1` behind it.
fn without_version(url: &str) -> &str {
    match url.rsplit_once([' ', '\t']) {
        Some((url, version)) if version.starts_with("HTTP/") => url.trim_end(),
        _ => url,
    }
}

/// A request line with the lines after it.
struct Request<'a> {
    line: u64,
    method: String,
    url: &'a str,
    rest: &'a [&'a str],
    tag: String,
}

impl Request<'_> {
    fn recorded(self, variables: &Variables, files: &BodyFiles) -> Result<Recorded, Skip> {
        match self.method.as_str() {
            "WEBSOCKET" => return Err(Skip::WebSocket {}),
            "GRPC" | "RSOCKET" | "GRAPHQL" => {
                return Err(Skip::Method { method: self.method.clone() });
            }
            _ => {}
        }
        let (url, target_variable) = variables.url(self.url)?;
        let (line, method, tag) = (self.line, self.method, self.tag);
        let mut recorded =
            Recorded { line, method, url, tag, target_variable, ..Recorded::default() };
        if let Some(scheme) = url::scheme(&recorded.url).filter(|_| recorded.url.contains("://")) {
            match scheme.to_ascii_lowercase().as_str() {
                "http" | "https" => {}
                "ws" | "wss" => return Err(Skip::WebSocket {}),
                other => return Err(Skip::Scheme { scheme: other.to_owned() }),
            }
        } else if !recorded.url.is_empty()
            && !recorded.url.starts_with('/')
            && recorded.target_variable.is_empty()
        {
            recorded.url.insert_str(0, "http://");
        }
        let mut lines = self.rest.iter().copied();
        for line in lines.by_ref().take_while(|line| !line.trim().is_empty()) {
            // What is no header is left out, such as a setting of one of the editors.
            if let (false, Some((name, value))) = (is_comment(line), line.split_once(':')) {
                let (name, value) =
                    (variables.filled(name.trim())?, variables.filled(value.trim())?);
                recorded.headers.push((name, value));
            }
        }
        let lines: Vec<&str> = lines.take_while(|line| !is_after_body(line)).collect();
        recorded.body = body(&recorded, &lines, variables, files)?;
        if recorded.method.is_empty() {
            "GET".clone_into(&mut recorded.method);
        }
        sign_in(&mut recorded);
        Ok(recorded)
    }
}

/// What JetBrains' client does after the answer, or where an answer was saved.
fn is_after_body(line: &str) -> bool {
    ["> {%", "> ./", "> ../", "> /", ">> ", ">>! ", "<> "].iter().any(|mark| line.starts_with(mark))
}

/// The body, with the files that it names.
fn body(
    recorded: &Recorded,
    lines: &[&str],
    variables: &Variables,
    files: &BodyFiles,
) -> Result<Vec<u8>, Skip> {
    let begin = lines.iter().position(|line| !line.trim().is_empty()).unwrap_or(lines.len());
    let end =
        lines.iter().rposition(|line| !line.trim().is_empty()).map_or(begin, |place| place + 1);
    let media_type = recorded.header("content-type").unwrap_or_default().to_ascii_lowercase();
    let line_end = match () {
        () if media_type.starts_with(URL_ENCODED) => "",
        () if media_type.starts_with(MULTIPART) => "\r\n",
        () => "\n",
    };
    let mut body = Vec::new();
    for (place, line) in lines[begin..end].iter().enumerate() {
        if place > 0 {
            body.extend_from_slice(line_end.as_bytes());
        }
        let path = line.strip_prefix("< ").or(line.strip_prefix("<@ "));
        match path.map(str::trim).filter(|path| !path.is_empty() && !path.starts_with('{')) {
            Some(path) => body.extend_from_slice(&files.read(&variables.filled(path)?)?),
            None => body.extend_from_slice(variables.filled(line)?.as_bytes()),
        }
    }
    if !body.is_empty() && media_type.starts_with(MULTIPART) {
        body.extend_from_slice(line_end.as_bytes());
    }
    Ok(body)
}

/// `Authorization: Basic name password` and `Basic name:password` become what HTTP has.
fn sign_in(recorded: &mut Recorded) {
    use base64::Engine as _;
    let header =
        recorded.headers.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case("authorization"));
    let Some((_, value)) = header else { return };
    let mut words = value.split_whitespace();
    let login = match (words.next(), words.next(), words.next(), words.next()) {
        (Some(kind), Some(name), Some(password), None) if kind.eq_ignore_ascii_case("basic") => {
            format!("{name}:{password}")
        }
        (Some(kind), Some(login), None, None)
            if kind.eq_ignore_ascii_case("basic") && login.contains(':') =>
        {
            login.to_owned()
        }
        _ => return,
    };
    *value = format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(login));
}
