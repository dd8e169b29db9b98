//! The options of a command of curl, as far as they say what is sent.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use stampede_model::entry::Skip;

use crate::body_file::BodyFiles;
use crate::form::{self, Part, URL_ENCODED};
use crate::input::shown;
use crate::recorded::Recorded;

/// What the options say so far.
#[derive(Debug, Default)]
struct Command {
    urls: Vec<String>,
    method: Option<String>,
    headers: Vec<(String, String)>,
    /// The pieces of a body, which `&` joins.
    data: Vec<Vec<u8>>,
    form: Vec<Part>,
    upload: Option<Vec<u8>>,
    query: Vec<String>,
    in_query: bool,
    is_json: bool,
    head: bool,
    /// Whether brackets in a URL are only brackets.
    are_brackets_plain: bool,
}

/// The requests of a command, one for each of its URLs.
pub(super) fn requests(
    line: u64,
    words: &[String],
    files: &BodyFiles,
) -> Result<Vec<Recorded>, Skip> {
    let mut command = Command::default();
    let mut words = words.iter();
    let mut only_urls = false;
    while let Some(word) = words.next() {
        let mut value = || words.next().cloned().unwrap_or_default();
        match word.as_str() {
            // What follows is another program.
            "|" | ">" | ">>" | "&&" | "||" | ";" | "2>" | "&" => break,
            "--" => only_urls = true,
            option if !only_urls && option.starts_with("--") => {
                let (name, given) = match option[2..].split_once('=') {
                    Some((name, given)) => (name, Some(given.to_owned())),
                    None => (&option[2..], None),
                };
                long(name, || given.unwrap_or_else(value), &mut command, files)?;
            }
            option if !only_urls && option.len() > 1 && option.starts_with('-') => {
                short(&option[1..], &mut value, &mut command, files)?;
            }
            // Quotes are gone here; a URL that ends with `;` is rarer than another command.
            url => {
                command.urls.push(url.trim_end_matches(';').to_owned());
                if url.ends_with(';') {
                    break;
                }
            }
        }
    }
    command.requests(line)
}

/// Options of one letter, several of which may stand together.
fn short(
    letters: &str,
    value: &mut impl FnMut() -> String,
    command: &mut Command,
    files: &BodyFiles,
) -> Result<(), Skip> {
    for (place, letter) in letters.char_indices() {
        if letter == ':' {
            return Err(Skip::CurlOption { option: "--next".to_owned() });
        }
        if let Some((_, name)) = SHORT_WITH_VALUE.iter().find(|(known, _)| *known == letter) {
            let rest = &letters[place + letter.len_utf8()..];
            let given = || if rest.is_empty() { value() } else { rest.to_owned() };
            return long(name, given, command, files);
        }
        match letter {
            'G' => command.in_query = true,
            'g' => command.are_brackets_plain = true,
            'I' => command.head = true,
            _ if SHORT_WITHOUT_EFFECT.contains(letter) => {}
            _ => return Err(Skip::CurlOption { option: format!("-{letter}") }),
        }
    }
    Ok(())
}

fn long(
    name: &str,
    value: impl FnOnce() -> String,
    command: &mut Command,
    files: &BodyFiles,
) -> Result<(), Skip> {
    match name {
        "request" => command.method = Some(value()),
        "url" => command.urls.push(value()),
        "header" => command.add_header(&value()),
        "user-agent" => command.set_header("User-Agent", value()),
        "referer" => command.set_header("Referer", value().trim_end_matches(";auto").to_owned()),
        "range" => command.set_header("Range", format!("bytes={}", value())),
        "oauth2-bearer" => command.set_header("Authorization", format!("Bearer {}", value())),
        "user" => {
            let login = STANDARD.encode(value());
            command.set_header("Authorization", format!("Basic {login}"));
        }
        "cookie" => {
            let cookie = value();
            // Without `=` it is the name of a file with cookies.
            if !cookie.contains('=') {
                return Err(Skip::File { path: shown(cookie.as_bytes()) });
            }
            command.set_header("Cookie", cookie);
        }
        "get" => command.in_query = true,
        "globoff" => command.are_brackets_plain = true,
        "head" => command.head = true,
        "url-query" => command.query.push(url_encoded(value().trim_start_matches('+'), files)?),
        "upload-file" => command.upload = Some(files.read(&value())?),
        "form" => command.form.push(part(&value(), files)?),
        "form-string" => {
            let text = value();
            let (name, value) = text.split_once('=').unwrap_or((&text, ""));
            let (name, value) = (name.to_owned(), value.as_bytes().to_vec());
            command.form.push(Part { name, value, ..Part::default() });
        }
        "json" => {
            command.is_json = true;
            let json = data(&value(), FileText::Whole, files)?;
            // Several are joined with nothing between them.
            match command.data.last_mut() {
                Some(last) => last.extend_from_slice(&json),
                None => command.data.push(json),
            }
        }
        "data" | "data-ascii" => {
            command.data.push(data(&value(), FileText::WithoutLineEnds, files)?)
        }
        "data-binary" => command.data.push(data(&value(), FileText::Whole, files)?),
        "data-raw" => command.data.push(value().into_bytes()),
        "data-urlencode" => command.data.push(url_encoded(&value(), files)?.into_bytes()),
        _ if LONG_WITHOUT_EFFECT.contains(&name) => {}
        _ if LONG_WITH_VALUE_WITHOUT_EFFECT.contains(&name) => drop(value()),
        _ => return Err(Skip::CurlOption { option: shown(format!("--{name}").as_bytes()) }),
    }
    Ok(())
}

/// What is sent of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileText {
    Whole,
    WithoutLineEnds,
}

/// A piece of a body, or `@file`.
fn data(text: &str, file_text: FileText, files: &BodyFiles) -> Result<Vec<u8>, Skip> {
    let Some(path) = text.strip_prefix('@') else { return Ok(text.as_bytes().to_vec()) };
    let mut content = files.read(path)?;
    if file_text == FileText::WithoutLineEnds {
        content.retain(|byte| !b"\r\n\0".contains(byte));
    }
    Ok(content)
}

/// `content`, `=content`, `name=content`, `@file` or `name@file`, URL-encoded.
fn url_encoded(text: &str, files: &BodyFiles) -> Result<String, Skip> {
    let encode = |bytes: &[u8]| form_urlencoded::byte_serialize(bytes).collect::<String>();
    let split = text.find(['=', '@']).map(|place| (&text[..place], &text[place..]));
    let (name, content) = match split {
        Some((name, rest)) if rest.starts_with('=') => (name, rest.as_bytes()[1..].to_vec()),
        Some((name, rest)) => (name, files.read(&rest[1..])?),
        None => ("", text.as_bytes().to_vec()),
    };
    // curl has `%20` where forms have `+`.
    let content = encode(&content).replace('+', "%20");
    Ok(if name.is_empty() { content } else { format!("{name}={content}") })
}

/// `name=value`, `name=@file` or `name=<file`, with `;type=` and `;filename=` behind it.
fn part(text: &str, files: &BodyFiles) -> Result<Part, Skip> {
    let (name, rest) = text.split_once('=').unwrap_or((text, ""));
    let mut part = Part { name: name.to_owned(), ..Part::default() };
    let mut pieces = rest.split(';');
    let mut value = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        match piece.trim().split_once('=') {
            Some(("type", media_type)) => part.content_type = Some(media_type.to_owned()),
            Some(("filename", file_name)) => {
                part.file_name = Some(file_name.trim_matches('"').to_owned());
            }
            _ => value.push_str(&format!(";{piece}")),
        }
    }
    match (value.strip_prefix('@'), value.strip_prefix('<')) {
        (Some(path), _) => {
            part.value = files.read(path)?;
            let file_name = path.rsplit('/').next().unwrap_or(path).to_owned();
            part.file_name.get_or_insert(file_name);
            part.content_type.get_or_insert("application/octet-stream".to_owned());
        }
        (None, Some(path)) => part.value = files.read(path)?,
        (None, None) => part.value = value.into_bytes(),
    }
    Ok(part)
}

impl Command {
    /// Adds a header. `Name:` takes one away that curl would add, and `Name;` sends an empty one.
    fn add_header(&mut self, text: &str) {
        match text.split_once(':') {
            Some((name, value)) if !value.trim().is_empty() => {
                self.headers.push((name.trim().to_owned(), value.trim().to_owned()));
            }
            Some(_) => {}
            None => {
                if let Some(name) = text.strip_suffix(';') {
                    self.headers.push((name.to_owned(), String::new()));
                }
            }
        }
    }

    /// Sets a header unless `-H` has it.
    fn set_header(&mut self, name: &str, value: String) {
        let is_given = self.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        if !is_given {
            self.headers.push((name.to_owned(), value));
        }
    }

    fn requests(mut self, line: u64) -> Result<Vec<Recorded>, Skip> {
        let urls = std::mem::take(&mut self.urls);
        urls.iter().map(|url| self.request(line, url)).collect()
    }

    fn request(&self, line: u64, url: &str) -> Result<Recorded, Skip> {
        if let Some(pattern) = url_pattern(url).filter(|_| !self.are_brackets_plain) {
            return Err(Skip::UrlPattern { pattern });
        }
        let (url, target_variable) = shell_url(url)?;
        let headers = self.headers.clone();
        let mut recorded = Recorded { line, url, headers, target_variable, ..Recorded::default() };
        if let Some((name, _)) = self.headers.iter().find_map(|(_, value)| shell_variable(value)) {
            return Err(Skip::Variable { name });
        }
        let mut implied = "GET";
        let body = self.data.join(&b'&');
        if let Some(upload) = &self.upload {
            (implied, recorded.body) = ("PUT", upload.clone());
        } else if !self.form.is_empty() {
            let (body, media_type) = form::multipart(&self.form, None);
            (implied, recorded.body) = ("POST", body);
            recorded.headers.retain(|(name, _)| !name.eq_ignore_ascii_case("content-type"));
            recorded.add_header("Content-Type", media_type);
        } else if self.in_query && !body.is_empty() {
            recorded.add_query(&String::from_utf8_lossy(&body));
        } else if !self.data.is_empty() {
            (implied, recorded.body) = ("POST", body);
            let media_type = if self.is_json { "application/json" } else { URL_ENCODED };
            recorded.add_header("Content-Type", media_type);
            if self.is_json {
                recorded.add_header("Accept", "application/json");
            }
        }
        self.query.iter().for_each(|query| recorded.add_query(query));
        implied = if self.head { "HEAD" } else { implied };
        recorded.method = self.method.clone().unwrap_or_else(|| implied.to_owned());
        Ok(recorded)
    }
}

/// The part of a URL that stands for several to curl, such as `[1-3]` or `{a,b}`.
fn url_pattern(url: &str) -> Option<String> {
    let of = |open: char, close: char, between: char| {
        let mut places = url.match_indices(open);
        places.find_map(|(start, _)| {
            // `${NAME}` is a variable, and `[::1]` an address.
            let end = start + url[start..].find(close)?;
            let inner = &url[start + 1..end];
            let is_variable = url[..start].ends_with('$');
            (inner.contains(between) && !is_variable).then(|| shown(&url.as_bytes()[start..=end]))
        })
    };
    of('[', ']', '-').or_else(|| of('{', '}', ','))
}

/// A URL as curl takes it, where `http://` may be missing. The target stands for a variable of the
/// shell at its begin, whose name is returned too.
fn shell_url(text: &str) -> Result<(String, String), Skip> {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (host, path) = rest.split_at(end);
    if let Some((name, _)) = shell_variable(path) {
        return Err(Skip::Variable { name });
    }
    match crate::url::scheme(text) {
        Some(scheme) if text.contains("://") && !crate::url::is_http(text) => {
            Err(Skip::Scheme { scheme: scheme.to_ascii_lowercase() })
        }
        _ => match shell_variable(host) {
            Some((name, _)) => Ok((path.to_owned(), name)),
            None if text.contains("://") || text.starts_with('/') => {
                Ok((text.to_owned(), String::new()))
            }
            None => Ok((format!("http://{text}"), String::new())),
        },
    }
}

/// The name of the first variable in a word, `$NAME` or `${NAME}`, and where it begins. Of quotes
/// nothing is known here, so only names in capitals are taken for variables, as scripts have them.
fn shell_variable(text: &str) -> Option<(String, usize)> {
    text.match_indices('$').find_map(|(place, _)| {
        let rest = &text[place + 1..];
        let rest = rest.strip_prefix('{').unwrap_or(rest);
        let is_of_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        let end = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
        let is_name = rest[..end].starts_with(|c: char| c.is_ascii_uppercase());
        (is_name && end <= NAME_CHARS).then(|| (rest[..end].to_owned(), place))
    })
}

/// Letters of options with a value, and their long names.
const SHORT_WITH_VALUE: [(char, &str); 26] = [
    ('A', "user-agent"),
    ('C', "continue-at"),
    ('D', "dump-header"),
    ('E', "cert"),
    ('F', "form"),
    ('H', "header"),
    ('K', "config"),
    ('P', "ftp-port"),
    ('Q', "quote"),
    ('T', "upload-file"),
    ('U', "proxy-user"),
    ('X', "request"),
    ('Y', "rate-limit-low"),
    ('b', "cookie"),
    ('c', "cookie-jar"),
    ('d', "data"),
    ('e', "referer"),
    ('h', "help"),
    ('m', "max-time"),
    ('o', "output"),
    ('r', "range"),
    ('t', "telnet-option"),
    ('u', "user"),
    ('w', "write-out"),
    ('x', "proxy"),
    ('z', "time-cond"),
];

/// Letters of options that do not change the request.
const SHORT_WITHOUT_EFFECT: &str = "0#46BJLNORSVZafijklnpqsv123";

/// Options that do not change the request.
const LONG_WITHOUT_EFFECT: &[&str] = &[
    "anyauth",
    "basic",
    "compressed",
    "digest",
    "disable",
    "fail",
    "fail-early",
    "fail-with-body",
    "http0.9",
    "http1.0",
    "http1.1",
    "http2",
    "http2-prior-knowledge",
    "http3",
    "include",
    "insecure",
    "ipv4",
    "ipv6",
    "location",
    "location-trusted",
    "no-buffer",
    "no-compressed",
    "no-keepalive",
    "no-progress-meter",
    "no-sessionid",
    "parallel",
    "path-as-is",
    "post301",
    "post302",
    "progress-bar",
    "raw",
    "remote-header-name",
    "remote-name",
    "remote-time",
    "show-error",
    "silent",
    "ssl",
    "tcp-nodelay",
    "tlsv1.2",
    "verbose",
];

/// Options whose value does not change the request.
const LONG_WITH_VALUE_WITHOUT_EFFECT: &[&str] = &[
    "cacert",
    "capath",
    "cert",
    "cert-type",
    "ciphers",
    "connect-timeout",
    "connect-to",
    "cookie-jar",
    "dns-servers",
    "dump-header",
    "interface",
    "keepalive-time",
    "key",
    "key-type",
    "limit-rate",
    "max-redirs",
    "max-time",
    "noproxy",
    "output",
    "output-dir",
    "pass",
    "proto",
    "proxy",
    "proxy-user",
    "resolve",
    "retry",
    "retry-delay",
    "retry-max-time",
    "stderr",
    "tls-max",
    "trace",
    "trace-ascii",
    "write-out",
];
/// Longest name of a variable.
const NAME_CHARS: usize = 40;
