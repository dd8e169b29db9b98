//! The command `stampede traffic`: shows what a request file would send, and writes it as JSON
//! lines.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use stampede_mask::mask_secrets;
use stampede_model::fact::Before;
use stampede_model::load::{ConnectionHabit, Habits, HttpVersion};
use stampede_plan::imported::{self, ImportError, ImportedLoad};
use stampede_traffic::overview::{Counted, Counts, Outline, Overview, read_each};
use stampede_traffic::write::json_line;
use stampede_traffic::{Format, Request, TrafficError, TrafficFile, TrafficNotes};

use super::args_traffic::TrafficArgs;
use super::fail::CommandError;
use super::fire::left_out;
use super::shell::{print, print_message};
use super::{Failure, Outcome};

/// Shows the requests of a file.
pub fn run(args: &TrafficArgs) -> Result<Outcome, Failure> {
    stampede_mask::requests_file(&args.file);
    if let Some(environment) = &args.environment {
        stampede_mask::requests_file(environment);
    }
    let file = file(args)?;
    let shown = read(&file, args.write.as_deref())?;
    if args.json {
        let text = serde_json::to_string_pretty(&shown).map_err(|error| Failure::new(&error))?;
        return print(format!("{}\n", mask_secrets(&text)).as_bytes());
    }
    let outcome = print(mask_secrets(&text(&args.file, &shown)).as_bytes())?;
    if let Some(out) = &args.write {
        let requests = shown.overview.notes.requests;
        print_message(&format!("{requests} requests are in `{}`", out.display()));
    }
    Ok(outcome)
}

/// What is shown of a file.
#[derive(Debug, Serialize)]
struct Shown {
    #[serde(flatten)]
    overview: Overview,
    /// `None`: the file is no script of another tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    script: Option<ShownScript>,
}

/// What is shown of a script beside its requests.
#[derive(Debug, Serialize)]
struct ShownScript {
    /// Its load, as flags of `fire`. `None`: it has none that is literal.
    load: Option<String>,
    /// What is not taken over.
    left_out: Vec<Before>,
}

impl ShownScript {
    fn of(script: &ImportedLoad) -> ShownScript {
        let load = script.load.as_ref().map(ToString::to_string);
        ShownScript { load, left_out: left_out(script).collect() }
    }
}

fn file(args: &TrafficArgs) -> Result<TrafficFile, Failure> {
    let unknown = |format: &String| TrafficCommandError::UnknownFormat { format: format.clone() };
    let named = |name: &String| Format::named(name).ok_or_else(|| unknown(name));
    let format = args.format.as_ref().map(named).transpose()?;
    // Names the site of a recording. As a default of all requests it would be written with them.
    let environment = args.environment.clone();
    let site = args.host.clone();
    let named = args.log.file(Some(&args.file), args.methods.as_deref())?;
    let named = named.unwrap_or_else(|| TrafficFile::new(&args.file));
    Ok(TrafficFile { format, environment, site, ..named })
}

/// Reads the file once, and writes its requests to `out`.
fn read(file: &TrafficFile, out: Option<&Path>) -> Result<Shown, TrafficCommandError> {
    let script = match file.format {
        Some(_) => None,
        None => imported::read_for(&file.path, file.site.as_deref())?,
    };
    let unwritable = |source: io::Error| TrafficCommandError::Unwritable {
        path: out.unwrap_or(Path::new("")).to_owned(),
        source,
    };
    let mut writer = out
        .map(|path| new_private_file(path).map(BufWriter::new))
        .transpose()
        .map_err(unwritable)?;
    let mut counts = Counts::default();
    let each = |request: &Request, tag: &str| {
        counts.add(request, tag);
        match &mut writer {
            Some(writer) => writeln!(writer, "{}", json_line(request, tag)).map_err(unwritable),
            None => Ok(()),
        }
    };
    let notes = match &script {
        Some(script) => read_script(script, each),
        None => read_each(file, HABITS, each),
    };
    if let Some(writer) = &mut writer {
        writer.flush().map_err(unwritable)?;
    }
    if let (Err(_), Some(path)) = (&notes, out) {
        // It is ours, and there is nothing to read in it.
        let _ = std::fs::remove_file(path);
    }
    let overview = counts.overview(notes?);
    Ok(Shown { overview, script: script.as_ref().map(ShownScript::of) })
}

/// Calls `each` with every request of a script.
fn read_script(
    script: &ImportedLoad,
    mut each: impl FnMut(&Request, &str) -> Result<(), TrafficCommandError>,
) -> Result<TrafficNotes, TrafficCommandError> {
    for request in &script.requests {
        each(&request.request(HABITS).map_err(TrafficError::from)?, "")?;
    }
    let (format, requests) = (script.tool.name().to_owned(), script.requests.len() as u64);
    Ok(TrafficNotes { format: Some(format), requests, ..TrafficNotes::default() })
}

/// A file that only its owner reads: requests are written as they would be sent, with the cookies
/// and tokens that a recording has.
fn new_private_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// The overview for people.
fn text(path: &Path, Shown { overview, script }: &Shown) -> String {
    let notes = &overview.notes;
    let format = notes.format.as_deref().unwrap_or_default();
    let mut text = format!("{}: {format}, {}\n", path.display(), plural(notes.requests, "request"));
    let lists =
        [("methods", &overview.methods), ("hosts", &overview.hosts), ("paths", &overview.paths)];
    for (title, list) in lists {
        add_list(&mut text, title, list);
    }
    text.push_str("\nfirst requests\n");
    overview.first.iter().for_each(|one| add_outline(&mut text, one));
    if !notes.skipped.is_empty() {
        text.push_str("\nnot sent\n");
        for (why, count) in &notes.skipped {
            let _ = writeln!(text, "{count:>8}  {why}");
        }
    }
    if let Some((line, what)) = &notes.broken_first {
        let count = notes.broken;
        let _ = writeln!(text, "\nbroken\n{count:>8}  the first in line {line}: {what}");
    }
    if !notes.left_out_headers.is_empty() {
        text.push_str("\nheaders left out, because no client can send them\n");
        for (name, count) in &notes.left_out_headers {
            let _ = writeln!(text, "{count:>8}  {name}");
        }
    }
    if let Some(failure) = &notes.failed {
        let _ = writeln!(text, "\nnot read to its end: {failure}");
    }
    if let Some(name) = &notes.target_variable {
        let _ = writeln!(
            text,
            "\nthe target stands for variable `{name}`, which has no value: --environment"
        );
    }
    if let Some(script) = script {
        add_script(&mut text, script);
    }
    text
}

fn add_script(text: &mut String, script: &ShownScript) {
    if let Some(load) = &script.load {
        let _ =
            writeln!(text, "\nload of the script, which `stampede fire` takes as flags\n  {load}");
    }
    if !script.left_out.is_empty() {
        text.push_str("\nthe rest of the script\n");
    }
    for one in &script.left_out {
        let _ = writeln!(text, "  {one}");
    }
}

fn add_list(text: &mut String, title: &str, list: &[Counted]) {
    let _ = writeln!(text, "\n{title}");
    for Counted { name, requests } in list.iter().take(SHOWN) {
        let name = if name.is_empty() { "(the target)" } else { name };
        let _ = writeln!(text, "{requests:>8}  {}", shortened(name));
    }
    if list.len() > SHOWN {
        let _ = writeln!(text, "          and {} more", list.len() - SHOWN);
    }
}

fn add_outline(text: &mut String, one: &Outline) {
    let Outline { method, host, path, body_bytes, tag } = one;
    let _ = write!(text, "  {method} {}", shortened(&format!("{host}{path}")));
    if *body_bytes > 0 {
        let _ = write!(text, ", {}", plural(*body_bytes, "byte"));
    }
    if !tag.is_empty() {
        let _ = write!(text, ", tag {}", shortened(tag));
    }
    text.push('\n');
}

fn plural(count: u64, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// At most a line of it, without control characters.
fn shortened(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Why the requests of a file cannot be shown or written.
#[derive(Debug, thiserror::Error)]
pub enum TrafficCommandError {
    /// There is no such format.
    #[error("unknown `--format {format}`")]
    UnknownFormat {
        /// The format, as it was given.
        format: String,
    },
    /// The file has no requests, or cannot be read.
    #[error(transparent)]
    Traffic(#[from] TrafficError),
    /// The file is a script of another tool that cannot be read.
    #[error(transparent)]
    Script(#[from] ImportError),
    /// The requests cannot be written.
    #[error("cannot write `{}`", path.display())]
    Unwritable {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
}

impl CommandError for TrafficCommandError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            TrafficCommandError::UnknownFormat { .. } => {
                format!("use one of {}", Format::ALL.map(Format::name).join(", "))
            }
            TrafficCommandError::Traffic(TrafficError::MostlyOtherHosts { .. }) => {
                "name the host that is meant, also where it is this one: --host shop.example"
                    .to_owned()
            }
            TrafficCommandError::Traffic(error) => error.hint().to_owned(),
            TrafficCommandError::Script(error) => error.hint().to_owned(),
            TrafficCommandError::Unwritable { .. } => {
                "name a file that does not exist, in a directory where you may write".to_owned()
            }
        })
    }
}

/// What is sent does not depend on it, apart from `Connection`, which is not shown.
const HABITS: Habits =
    Habits { version: HttpVersion::Http11, connection: ConnectionHabit::KeepAlive };
/// Lines of each list.
const SHOWN: usize = 10;
/// Most characters of a path in a line.
const SHOWN_CHARS: usize = 90;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overview_says_what_is_sent_and_what_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("shop.har");
        let get = |url: &str| {
            format!(
                r#"{{"request": {{"method": "GET", "url": "{url}", "headers": [{{"name": "Cookie", "value": "s=1"}}]}}}}"#
            )
        };
        let post = r#"{"request": {"method": "POST", "url": "https://shop.test/buy", "postData": {"text": "a=1"}}}"#;
        let entries = [
            get("https://shop.test/a?b=1"),
            get("https://shop.test/a?b=2"),
            get("https://cdn.test/x.js"),
            get("data:image/png,x"),
            post.to_owned(),
            "{\"request\": {".to_owned(),
        ];
        let har = format!(r#"{{"log": {{"entries": [{}"#, entries.join(","));
        std::fs::write(&path, har).unwrap();
        let out = directory.path().join("out.jsonl");
        let shown = read(&TrafficFile::new(&path), Some(&out)).unwrap();
        insta::assert_snapshot!(text(Path::new("shop.har"), &shown));
        reads_back(&out, &shown);
        let error = read(&TrafficFile::new(&path), Some(&out)).unwrap_err();
        assert!(matches!(error, TrafficCommandError::Unwritable { .. }), "it is not overwritten");
    }

    /// What was written has the same requests.
    fn reads_back(out: &Path, Shown { overview, .. }: &Shown) {
        let again = read(&TrafficFile::new(out), None).unwrap().overview;
        assert_eq!((&again.methods, &again.paths), (&overview.methods, &overview.paths));
        assert_eq!((&again.hosts, &again.first), (&overview.hosts, &overview.first));
    }

    #[cfg_attr(feature = "codes-for-text", ignore = "reads sentences")]
    #[test]
    fn a_script_is_shown_with_its_load_and_what_is_not_taken_over() {
        let directory = tempfile::tempdir().unwrap();
        let (path, out) = (directory.path().join("test.js"), directory.path().join("out.jsonl"));
        let script = "import http from 'k6/http';\nexport const options = { vus: 2, duration: '5s' };\n\
                      http.get('http://shop.test/a?b=1');\nhttp.post('http://shop.test/buy', 'a=1');\n\
                      sleep(1);\nhttp.get(url());\nsleep(2);\n";
        std::fs::write(&path, script).unwrap();
        let shown = read(&TrafficFile::new(&path), Some(&out)).unwrap();
        insta::assert_snapshot!(text(Path::new("test.js"), &shown));
        reads_back(&out, &shown);
        std::fs::write(&path, "import io.gatling.core.Predef._\n").unwrap();
        let error = read(&TrafficFile::new(&path), None).unwrap_err();
        assert!(matches!(error, TrafficCommandError::Script(_)), "{error:?}");
    }
}
