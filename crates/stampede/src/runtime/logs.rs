//! A runtime's log files, and the last lines of them for a message.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Lines shown in all; more would bury the message.
const LINES_MAX: usize = 12;
/// Read from the end of each file.
const TAIL_BYTES: u64 = 16 << 10;
/// Where servers write a line per request.
const ACCESS: &str = "access.log";
/// Last words: enough to know why, in a note.
const WORDS_LINES: usize = 6;
const WORDS_MAX: usize = 200;
/// A variable with one of these in its name holds a secret.
const SECRET: [&str; 7] = ["SECRET", "TOKEN", "PASS", "KEY", "DSN", "CREDENTIAL", "DATABASE_URL"];

/// Files below `logs` of a work folder, sorted by name.
pub fn files(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir.join("logs")) else { return Vec::new() };
    let mut files: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    files
}

/// The last lines, `  name: line` each, with values of secret variables and passwords in URLs
/// masked.
pub fn last_lines(dir: &Path, env: &BTreeMap<String, String>) -> String {
    let texts = files(dir).into_iter().map(|file| (tail(&file, 0), file));
    let texts: Vec<(String, PathBuf)> = texts.filter(|(text, _)| !text.trim().is_empty()).collect();
    // A web server that says the same again and again must not bury what PHP said once.
    let each = LINES_MAX / texts.len().max(1);
    let mut lines = Vec::new();
    for (text, file) in &texts {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let own: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        for line in &own[own.len().saturating_sub(each)..] {
            lines.push(format!("  {name}: {}", mask(line, env)));
        }
    }
    lines.join("\n")
}

/// How long the logs of a runtime's processes were at some time.
#[derive(Debug, Default)]
pub struct LogMarks(BTreeMap<PathBuf, u64>);

impl LogMarks {
    /// Now.
    pub fn of(dir: &Path) -> LogMarks {
        let length = |file: PathBuf| Some((file.clone(), fs::metadata(&file).ok()?.len()));
        LogMarks(
            files(dir).into_iter().filter(|file| is_of_process(file)).filter_map(length).collect(),
        )
    }

    /// The last lines that were written since, of each log as many, secrets masked.
    pub fn last_lines_since(&self, dir: &Path, env: &BTreeMap<String, String>) -> Vec<String> {
        let from = |file: &PathBuf| self.0.get(file).copied().unwrap_or(0);
        let texts = files(dir).into_iter().filter(|file| is_of_process(file));
        let texts: Vec<String> = texts.map(|file| tail(&file, from(&file))).collect();
        let spoke: Vec<&String> = texts.iter().filter(|text| !text.trim().is_empty()).collect();
        let each = (WORDS_LINES / spoke.len().max(1)).max(1);
        let mut lines = Vec::new();
        for text in spoke {
            let new: Vec<&str> =
                text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
            let last = new[new.len().saturating_sub(each)..].iter();
            lines.extend(
                last.map(|line| mask(line, env).chars().take(WORDS_MAX).collect::<String>()),
            );
        }
        lines
    }
}

/// What a process says, not what it serves.
fn is_of_process(file: &Path) -> bool {
    file.file_name().is_none_or(|name| name != ACCESS)
}

/// From the end of a file, but nothing before `from`.
fn tail(file: &Path, from: u64) -> String {
    let mut bytes = Vec::new();
    let read = fs::File::open(file).and_then(|mut file| {
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES).max(from)))?;
        file.take(TAIL_BYTES).read_to_end(&mut bytes)
    });
    match read {
        Ok(_) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(_) => String::new(),
    }
}

fn mask(line: &str, env: &BTreeMap<String, String>) -> String {
    let secret = |key: &str| SECRET.iter().any(|part| key.to_uppercase().contains(part));
    let line = env
        .iter()
        // One or two characters are no secret, and masking them would garble the line.
        .filter(|(key, value)| secret(key) && value.len() > 2)
        .fold(line.to_string(), |line, (_, value)| line.replace(value.as_str(), "***"));
    mask_url(&line)
}

/// `scheme://user:password@host` → `scheme://***@host`.
fn mask_url(line: &str) -> String {
    let Some(at) = line.find("://").map(|at| at + 3) else { return line.into() };
    let rest = &line[at..];
    let end = rest.find(|c: char| c.is_whitespace() || c == '/').unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(host) => format!("{}***{}", &line[..at], &rest[host..]),
        None => line.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_are_what_came_since() {
        let place = tempfile::tempdir().expect("folder");
        let logs = place.path().join("logs");
        fs::create_dir(&logs).expect("folder");
        let write = |name: &str, text: &str| fs::write(logs.join(name), text).expect("log");
        write("0-php.log", "ready\n");
        write("access.log", "");
        let marks = LogMarks::of(place.path());
        let env = BTreeMap::from([("APP_SECRET".into(), "s3cr3t".into())]);
        assert_eq!(marks.last_lines_since(place.path(), &env), [] as [&str; 0]);
        write("0-php.log", "ready\na\n\nb s3cr3t\nc\nd\n");
        write("1-web.log", "new\n");
        write("access.log", "GET /\n");
        assert_eq!(marks.last_lines_since(place.path(), &env), ["b ***", "c", "d", "new"]);
        assert_eq!(LogMarks::of(place.path()).last_lines_since(place.path(), &env).len(), 0);
    }

    #[test]
    fn secrets_do_not_reach_messages() {
        let env = BTreeMap::from([
            ("APP_SECRET".into(), "s3cr3t".into()),
            ("APP_ENV".into(), "prod".into()),
        ]);
        let line = mask("prod: key s3cr3t, mysql://joe:pw@db/shop", &env);
        assert_eq!(line, "prod: key ***, mysql://***@db/shop");
    }
}
