//! Reads a runtime's log files, and cuts out their last lines for a message.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use stampede_linux::beneath;
use stampede_mask::mask_foreign;

/// The most lines shown in total; more would hide the message.
const LINES_MAX: usize = 12;
/// The most characters of one line: an entry of an app's log contains its context.
const LINE_MAX: usize = 500;
/// The bytes read from the end of each file: a framework's stack trace is about 10 KiB.
const TAIL_BYTES: u64 = 64 << 10;
/// The most bytes read of each log that is searched: a server may write a line for every failed
/// request.
const SINCE_BYTES: u64 = 16 << 20;
/// The bytes read of a log at once.
const READ_BYTES: usize = 64 << 10;
/// The most bytes of each log in which PHP's messages are counted; searching them takes about a second.
const COUNTED_BYTES: u64 = 1 << 30;
/// The file to which servers write a line per request.
const ACCESS: &str = "access.log";
/// The most lines, and characters of a line, in a note about processes that ended: enough to say
/// why.
const WORDS_LINES: usize = 6;
const WORDS_MAX: usize = 200;
/// The files in `logs` of a working directory, sorted by name.
pub fn files(dir: &Path) -> Vec<PathBuf> {
    beneath::files(dir, &dir.join("logs"), ENTRIES_MAX).unwrap_or_default()
}

/// Opens a log of a stack with this working directory. The user of the stack may have exchanged
/// any part of its path below that for a link, which is not followed.
pub fn open(dir: &Path, log: &Path) -> io::Result<fs::File> {
    // The docroot of an app may be elsewhere.
    let base = if log.starts_with(dir) { dir } else { log.parent().unwrap_or(dir) };
    beneath::open_file(base, log)
}

/// The length of a file, if it can be opened without a link.
fn length(dir: &Path, file: &Path) -> Option<u64> {
    Some(open(dir, file).ok()?.metadata().ok()?.len())
}

/// The directories in which an app of a framework writes its own logs. They are empty in a new
/// copy.
const OWN_LOGS: [&str; 2] = ["var/log", "storage/logs"];

/// The log files of the app itself, sorted by name.
pub fn of_app(dir: &Path) -> Vec<PathBuf> {
    let directories = OWN_LOGS.into_iter().map(|own| dir.join("app").join(own));
    let files = directories
        .flat_map(|directory| beneath::files(dir, &directory, ENTRIES_MAX).unwrap_or_default());
    let is_log = |path: &PathBuf| path.extension().is_some_and(|end| end == "log");
    let mut files: Vec<PathBuf> = files.filter(is_log).collect();
    files.sort();
    files
}

/// The last lines of all logs, each as `  name: line`, with secrets masked.
pub fn last_lines(dir: &Path) -> String {
    let texts = files(dir).into_iter().map(|file| (masked_tail(dir, &file, 0), file));
    let own = of_app(dir).into_iter().map(|file| (entries(&masked_tail(dir, &file, 0)), file));
    let texts: Vec<(String, PathBuf)> =
        texts.chain(own).filter(|(text, _)| !text.trim().is_empty()).collect();
    // Each log gets the same share of the lines. A web server that repeats a message must not hide
    // what PHP logged once.
    let each = (LINES_MAX / texts.len().max(1)).max(1);
    let mut lines = Vec::new();
    for (text, file) in &texts {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let own = told(text);
        for line in &own[own.len().saturating_sub(each)..] {
            let line: String = line.chars().take(LINE_MAX).collect();
            lines.push(format!("  {name}: {line}"));
        }
    }
    lines.join("\n")
}

/// Parts of lines that say nothing about the app: a web server that was asked before PHP listened, the
/// greeting of PHP's own server.
const SAY_NOTHING: [&str; 3] = [
    "failed (2: No such file or directory) while connecting to upstream",
    "failed (111: Connection refused) while connecting to upstream",
    "Development Server (http",
];

/// Whether a line is of a stack trace below PHP's message, which names the place already.
fn is_of_trace(line: &str) -> bool {
    let number = line.strip_prefix('#').and_then(|rest| rest.split_once(' '));
    number.is_some_and(|(number, _)| number.parse::<u32>().is_ok())
        || line.starts_with("Stack trace:")
        || line.starts_with("thrown in ")
}

/// The lines of a log that are worth showing: without colours, and each once. Lines that differ only in
/// their numbers, such as a time, are the same.
fn told(text: &str) -> Vec<String> {
    let mut known = Vec::new();
    let mut lines = Vec::new();
    for line in text.lines().rev() {
        let line = COLOURS.replace_all(line, "").trim_end().to_owned();
        let kind: String = line.chars().filter(|c| !c.is_ascii_digit()).collect();
        let says_nothing =
            is_of_trace(line.trim()) || SAY_NOTHING.iter().any(|part| line.contains(part));
        if line.trim().is_empty() || says_nothing || known.contains(&kind) {
            continue;
        }
        known.push(kind);
        lines.push(line);
    }
    lines.reverse();
    lines
}

/// What a program writes to colour a terminal.
static COLOURS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\x1b\[[0-9;]*[A-Za-z]").expect("a pattern of ours"));

/// The lines of an app's log that begin an entry, `[2026-11-22T…] app.ERROR: …`, without the stack
/// traces after them. If no line begins an entry, the whole text.
fn entries(text: &str) -> String {
    let begins = |line: &&str| line.starts_with("[2") && line.contains("] ");
    let begun: Vec<&str> = text.lines().filter(begins).collect();
    if begun.is_empty() { text.to_owned() } else { begun.join("\n") }
}

/// The file to which each worker thread adds one byte as it begins; `worker.php` does this.
const THREADS_BEGUN: &str = "tmp/threads-begun";

/// How often a worker thread has begun since the start. The process list does not show this, since
/// no process is new.
pub fn threads_begun(dir: &Path) -> u64 {
    length(dir, &dir.join(THREADS_BEGUN)).unwrap_or(0)
}

/// The lengths of the logs of a runtime's processes and its app, at one moment.
#[derive(Debug, Default)]
pub struct LogMarks(BTreeMap<PathBuf, u64>);

/// Where PHP writes its errors if the app redirects them, relative to the working directory.
/// `ini_set('error_log', …)` names a file beside the scripts or in the temporary directory.
const ELSEWHERE: [&str; 3] = ["app", "tmp", "app/logs"];
/// The most entries of such a directory that are looked at, since it may hold anything.
const ENTRIES_MAX: usize = 2_000;

/// Logs into which PHP may write its errors, and which belong to no process.
fn elsewhere(dir: &Path, docroot: &Path) -> Vec<PathBuf> {
    let base = if docroot.starts_with(dir) { dir } else { docroot };
    let directories = ELSEWHERE.into_iter().map(|directory| (dir, dir.join(directory)));
    let directories = directories.chain(std::iter::once((base, docroot.to_path_buf())));
    let paths = directories.flat_map(|(base, directory)| {
        beneath::files(base, &directory, ENTRIES_MAX).unwrap_or_default()
    });
    let is_log = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.ends_with(".log") || name.contains("error_log")
    };
    let mut found: Vec<PathBuf> = paths.filter(is_log).chain(of_app(dir)).collect();
    found.sort();
    found.dedup();
    found
}

impl LogMarks {
    /// The lengths now.
    pub fn of(dir: &Path, docroot: &Path) -> LogMarks {
        let length = |file: PathBuf| Some((file.clone(), length(dir, &file)?));
        let all = files(dir).into_iter().chain(elsewhere(dir, docroot));
        LogMarks(all.filter(|file| is_process_log(file)).filter_map(length).collect())
    }

    /// Calls `take` with each line that was written since then, up to a maximum per log. The lines
    /// are not masked: what is kept of them must be.
    pub fn lines_since(&self, dir: &Path, mut take: impl FnMut(&str)) {
        let as_text = |_: &Path, line: &[u8]| take(String::from_utf8_lossy(line).trim_end());
        self.lines_of(dir, files(dir), SINCE_BYTES, as_text);
    }

    /// The same with the file of each line, and also for logs that the app itself writes. Returns
    /// for each log how many times longer it is than what was read of it: 1, or more.
    pub fn all_lines_since(
        &self,
        dir: &Path,
        docroot: &Path,
        mut take: impl FnMut(&Path, &str),
    ) -> BTreeMap<PathBuf, f64> {
        let all = files(dir).into_iter().chain(elsewhere(dir, docroot)).collect();
        self.lines_of(dir, all, SINCE_BYTES, |file, line| {
            take(file, String::from_utf8_lossy(line).trim_end());
        })
    }

    /// The same for the lines that `is_meant`, of whole logs up to 1 GiB each.
    pub fn counted_lines_since(
        &self,
        dir: &Path,
        docroot: &Path,
        is_meant: impl Fn(&[u8]) -> bool,
        mut take: impl FnMut(&Path, &str),
    ) -> BTreeMap<PathBuf, f64> {
        let all = files(dir).into_iter().chain(elsewhere(dir, docroot)).collect();
        self.lines_of(dir, all, COUNTED_BYTES, |file, line| {
            if is_meant(line) {
                take(file, String::from_utf8_lossy(line).trim_end());
            }
        })
    }

    fn lines_of(
        &self,
        dir: &Path,
        files: Vec<PathBuf>,
        bytes_max: u64,
        mut take: impl FnMut(&Path, &[u8]),
    ) -> BTreeMap<PathBuf, f64> {
        let mut lengths = BTreeMap::new();
        for file in files.into_iter().filter(|file| is_process_log(file)) {
            let from = self.0.get(&file).copied().unwrap_or(0);
            let Ok(mut log) = open(dir, &file) else { continue };
            let length = log.metadata().map_or(0, |file| file.len());
            if log.seek(SeekFrom::Start(from)).is_err() {
                continue;
            }
            let mut lines = BufReader::with_capacity(READ_BYTES, log.take(bytes_max));
            let mut line = Vec::new();
            while lines.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                take(&file, &line);
                line.clear();
            }
            let written = length.saturating_sub(from);
            lengths.insert(file, (written as f64 / bytes_max as f64).max(1.0));
        }
        lengths
    }

    /// The last lines that were written since then, as many of each log, with secrets masked.
    pub fn last_lines_since(&self, dir: &Path) -> Vec<String> {
        let from = |file: &PathBuf| self.0.get(file).copied().unwrap_or(0);
        let texts = files(dir).into_iter().filter(|file| is_process_log(file));
        let texts: Vec<String> = texts.map(|file| masked_tail(dir, &file, from(&file))).collect();
        let spoke: Vec<&String> = texts.iter().filter(|text| !text.trim().is_empty()).collect();
        let each = (WORDS_LINES / spoke.len().max(1)).max(1);
        let mut lines = Vec::new();
        for text in spoke {
            let is_message = |line: &&str| !line.is_empty() && !REQUEST.is_match(line);
            let new: Vec<&str> = text.lines().map(str::trim).filter(is_message).collect();
            let last = new[new.len().saturating_sub(each)..].iter();
            lines.extend(last.map(|line| line.chars().take(WORDS_MAX).collect::<String>()));
        }
        lines
    }
}

/// A line of a list of requests, which containers write beside their messages: `"GET / HTTP/1.1" 200`.
static REQUEST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#""[A-Z]{3,7} \S+( HTTP/[\d.]+)?" \d{3}\b"#).expect("a pattern of ours")
});

/// Whether a log is a process's messages, and not its list of requests.
fn is_process_log(file: &Path) -> bool {
    file.file_name().is_none_or(|name| name != ACCESS)
}

/// The end of a file with secrets masked, but nothing before the offset `from`. It is masked as a
/// whole: a key has several lines, and a name may be on the line above its value.
fn masked_tail(dir: &Path, file: &Path, from: u64) -> String {
    mask_foreign(&tail(dir, file, from))
}

/// The end of a file from `from` on, in whole lines: half a line looks like another one, and half a secret
/// is not known as one.
fn tail(dir: &Path, file: &Path, from: u64) -> String {
    let mut bytes = Vec::new();
    let read = open(dir, file).and_then(|mut file| {
        let length = file.metadata()?.len();
        let begin = length.saturating_sub(TAIL_BYTES).max(from);
        let is_cut = begin > from;
        file.seek(SeekFrom::Start(if is_cut { begin - 1 } else { begin }))?;
        file.take(TAIL_BYTES + u64::from(is_cut)).read_to_end(&mut bytes)?;
        Ok(is_cut)
    });
    let whole = match read {
        Ok(true) => bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1),
        Ok(false) => 0,
        Err(_) => return String::new(),
    };
    String::from_utf8_lossy(&bytes[whole..]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::told;

    #[test]
    fn each_line_is_told_once_without_colours_and_greetings() {
        let text = "[Sat Nov 28 01:00:01 2026] PHP 8.2.1 Development Server (http://127.0.0.1:1) started\n\
            [01:00:02] PHP Fatal error:  no f() in /w/app/index.php:3\n\
            [01:00:03] PHP Fatal error:  no f() in /w/app/index.php:3\n\
            Stack trace:\n#0 /w/app/a.php(7): g()\n#1 {main}\n  thrown in /w/app/index.php on line 3\n\n\
            2026/11/28 [crit] 7#7: *1 connect() to unix:/w/fpm.sock failed (2: No such file or directory) while connecting to upstream\n\
            \u{1b}[33mWARN\u{1b}[0m\tlast\n";
        let lines = ["[01:00:03] PHP Fatal error:  no f() in /w/app/index.php:3", "WARN\tlast"];
        assert_eq!(told(text), lines);
    }

    use super::*;

    #[test]
    fn last_lines_are_those_logged_since_the_mark() {
        let place = tempfile::tempdir().expect("directory");
        let logs = place.path().join("logs");
        fs::create_dir(&logs).expect("directory");
        let write = |name: &str, text: &str| fs::write(logs.join(name), text).expect("log");
        write("0-php.log", "ready\n");
        write("access.log", "");
        let marks = LogMarks::of(place.path(), place.path());
        stampede_mask::named("APP_SECRET", "s3cr3t-of-logs");
        assert_eq!(marks.last_lines_since(place.path()), [] as [&str; 0]);
        write("0-php.log", "ready\na\n\nb s3cr3t-of-logs\nc\nd\n");
        let requests = "10.0.0.2 -  30/Nov/2026:12:00:01 +0000 \"GET /index.php\" 200\n\
            10.0.0.1 - - [30/Nov/2026:12:00:01 +0000] \"POST / HTTP/1.1\" 404 77 \"-\" \"curl\"\n";
        write("1-web.log", &format!("new\n{requests}"));
        write("access.log", "GET /\n");
        assert_eq!(marks.last_lines_since(place.path()), ["b ***", "c", "d", "new"]);
        let many = requests.repeat(2 * TAIL_BYTES as usize / requests.len());
        for cut in 0..requests.len() {
            write("1-web.log", &format!("{}{many}", &requests[cut..]));
            assert_eq!(marks.last_lines_since(place.path()), ["b ***", "c", "d"], "cut at {cut}");
        }
        write("1-web.log", "new\n");
        write("0-php.log", "ready\nkey\n-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBg\n");
        assert_eq!(marks.last_lines_since(place.path()), ["key", "***", "***", "new"]);
        assert_eq!(
            LogMarks::of(place.path(), place.path()).last_lines_since(place.path()).len(),
            0
        );
    }

    #[test]
    fn entries_of_the_apps_own_log_are_shown() {
        let place = tempfile::tempdir().expect("directory");
        let directory = place.path().join("app/storage/logs");
        fs::create_dir_all(&directory).expect("directory");
        let trace: String = (0..200).map(|at| format!("#{at} /srv/vendor/file.php(7)\n")).collect();
        let text =
            format!("[2026-11-22 10:00:00] prod.ERROR: no table `orders`\n[stacktrace]\n{trace}");
        fs::write(directory.join("laravel.log"), text).expect("log");
        std::os::unix::fs::symlink("/etc/passwd", directory.join("other.log")).expect("link");
        let lines = last_lines(place.path());
        assert_eq!(lines, "  laravel: [2026-11-22 10:00:00] prod.ERROR: no table `orders`");
    }

    /// The app's user can exchange its own directories for links.
    #[test]
    fn a_link_in_place_of_a_log_directory_leads_nowhere() {
        let (place, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let dir = place.path();
        fs::write(other.path().join("auth.log"), "secret\n").unwrap();
        fs::create_dir_all(dir.join("app/storage")).unwrap();
        for link in ["logs", "app/var", "app/storage/logs", "app/logs", "tmp"] {
            let target =
                if link == "app/var" { other.path().join("v") } else { other.path().into() };
            fs::create_dir_all(other.path().join("v/log")).unwrap();
            fs::write(other.path().join("v/log/auth.log"), "secret\n").unwrap();
            std::os::unix::fs::symlink(target, dir.join(link)).unwrap();
        }
        assert_eq!(last_lines(dir), "");
        assert_eq!((files(dir).len(), of_app(dir).len()), (0, 0));
        assert_eq!(elsewhere(dir, &dir.join("app/public")), [] as [PathBuf; 0]);
        assert!(open(dir, &dir.join("logs/auth.log")).is_err());
        let mut lines = 0;
        LogMarks::default().all_lines_since(dir, &dir.join("tmp"), |_, _| lines += 1);
        assert_eq!(lines, 0);
    }
}
