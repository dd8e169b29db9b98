//! What a tool said when it failed, for messages.

use std::path::PathBuf;

use stampede_linux::run::RunError;
use stampede_mask::mask_foreign;

use crate::error::ComposeError;

/// The error of a command that failed, with its last lines.
pub fn failed(command: &str, error: &RunError) -> ComposeError {
    let said = error.output().map_or(String::new(), |output| {
        let (out, err) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        if err.is_empty() {
            return last_lines(&out);
        }
        // What a step of a build said is on the other stream.
        let full = out.lines().rev().find(|line| says_disk_is_full(line));
        let full = full.filter(|_| !says_disk_is_full(&err));
        last_lines(&full.map_or(err.to_string(), |full| format!("{err}\n{full}")))
    });
    let said = match error {
        RunError::Failed { .. } if !said.is_empty() => said,
        // What it printed until then is not why it ended.
        _ => format!("{error}\n{said}").trim_end().to_owned(),
    };
    ComposeError::Tool { command: command.to_owned(), said, example: None }
}

/// The error of a build that failed, with its last lines. Older tools say on standard output what a step
/// said, and newer ones on the other stream.
pub fn build_failed(command: &str, error: &RunError, log: Option<PathBuf>) -> ComposeError {
    let of_streams = error.output().map_or(String::new(), |output| {
        let [out, err] = [&output.stdout, &output.stderr].map(|one| String::from_utf8_lossy(one));
        let said = last_lines(&without_frames(&format!("{out}\n{err}")));
        let is_ended = matches!(error, RunError::Failed { .. });
        match !is_ended || says_disk_is_full(&out) && !says_disk_is_full(&said) {
            // `failed` finds that line, and says that the build did not end.
            true => String::new(),
            false => said,
        }
    });
    match failed(command, error) {
        ComposeError::Tool { command, said, .. } => {
            let said = if of_streams.is_empty() { said } else { of_streams };
            ComposeError::Build { command, said, log }
        }
        other => other,
    }
}

/// Whether a text says that a disk is full.
pub(crate) fn says_disk_is_full(text: &str) -> bool {
    text.to_ascii_lowercase().contains("no space left on device")
}

/// What the steps of a build said: without the lines around it, unless there are no others.
fn without_frames(text: &str) -> String {
    let is_frame = |line: &&str| {
        let line = line.trim_start();
        line.is_empty() || FRAME_OF_A_BUILD.iter().any(|begin| line.starts_with(begin))
    };
    let plain = without_codes(text);
    let said: Vec<&str> = plain.lines().filter(|line| !is_frame(line)).collect();
    let said = said.join("\n");
    if said.is_empty() { plain } else { said }
}

/// The last lines that say something, with secrets masked and without terminal codes. Warnings are
/// left out if there is anything else.
pub fn last_lines(text: &str) -> String {
    let plain = without_codes(text);
    let lines = plain.lines().map(str::trim_end).filter(|line| !line.trim().is_empty());
    let (warnings, others): (Vec<&str>, Vec<&str>) = lines.partition(|line| is_warning(line));
    let lines = if others.is_empty() { warnings } else { others };
    let last = mask_foreign(&lines[lines.len().saturating_sub(LINES_MAX)..].join("\n"));
    last.lines().map(cut).collect::<Vec<_>>().join("\n")
}

/// A line whose middle is left out if it is long: Podman's builds say all options of what they called, and
/// the reason at the end.
fn cut(line: &str) -> String {
    let all: Vec<char> = line.chars().collect();
    if all.len() <= LINE_CHARS_MAX {
        return line.to_owned();
    }
    let half = LINE_CHARS_MAX / 2;
    let [begin, end] = [&all[..half], &all[all.len() - half..]].map(|part| part.iter().collect());
    [begin, " … ".to_owned(), end].concat()
}

/// A text without the codes that colour a terminal (`ESC [ … letter`, ECMA-48, 5.4), and without other
/// control characters: a tab is a space, and what is written over a line is the next one.
fn without_codes(text: &str) -> String {
    let mut parts = text.split("\u{1b}[");
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let part = part.trim_start_matches(|c: char| c.is_ascii_digit() || ";?".contains(c));
        plain += part.strip_prefix(|c: char| c.is_ascii_alphabetic()).unwrap_or(part);
    }
    let one = |c: char| match c {
        '\t' => Some(' '),
        '\r' => Some('\n'),
        c => (c == '\n' || !c.is_control()).then_some(c),
    };
    plain.chars().filter_map(one).collect()
}

/// Whether a line is not what went wrong. A warning of a compose tool: `level=warning` is of version 2,
/// `WARNING:` of 1, which leaves the word out where nobody watches. Or what Docker's client says last: where it explains its options.
fn is_warning(line: &str) -> bool {
    let explains = |begin: &str| line.starts_with(begin) && line.contains("--help'");
    line.contains("level=warning")
        || line.starts_with("WARNING:")
        || line.ends_with("variable is not set. Defaulting to a blank string.")
        || explains("See 'docker")
        || explains("See 'podman")
        || explains("Run 'docker")
        || line.ends_with("failed to build : Build failed")
}

/// The most lines of a failed command that a message shows.
const LINES_MAX: usize = 6;
/// The most characters of such a line. Longer ones fill the screen, and hide the others.
const LINE_CHARS_MAX: usize = 400;
/// How lines begin that a build says around what its steps say: of Docker's first builder, of the advice to
/// use another one, and of docker-compose 1.
const FRAME_OF_A_BUILD: [&str; 8] = [
    "---> ",
    "Building ",
    "DEPRECATED: The legacy builder",
    "Install the buildx component",
    "Removing intermediate container",
    "Sending build context",
    "Step ",
    "https://docs.docker.com/go/buildx/",
];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use stampede_linux::run::TimedCommand;

    use super::*;

    #[test]
    fn messages_of_a_tool_are_cut_and_have_no_terminal_codes() {
        let text = (1..=9).map(|n| format!("\u{1b}[31mline {n}\n\n")).collect::<String>();
        let lines = last_lines(&text);
        assert_eq!(lines.lines().count(), LINES_MAX, "{lines}");
        assert!(lines.ends_with("line 9") && !lines.contains('\u{1b}'), "{lines}");
        let warned = "time=\"x\" level=warning msg=\"the variable A is not set\"\nno such file\nWARNING: b\n";
        assert_eq!(last_lines(warned), "no such file");
        assert_eq!(last_lines("WARNING: b\n"), "WARNING: b");
        let unset = "The DB_NAME variable is not set. Defaulting to a blank string.\n";
        assert_eq!(
            last_lines(&format!("{unset}unsupported option: 'x'\n")),
            "unsupported option: 'x'"
        );
        assert_eq!(
            last_lines("pull 9 %\rpull 10 %\rerror:\tlost"),
            "pull 9 %\npull 10 %\nerror: lost"
        );
        let explained = "docker: no such image\nSee 'docker run --help'.\n";
        assert_eq!(last_lines(explained), "docker: no such image");
    }

    #[test]
    fn a_tool_that_did_not_end_says_so_before_what_it_printed() {
        let late = TimedCommand::new("sh", Duration::from_millis(200));
        let late = late.args(["-c", "echo 'Pulling web' >&2; sleep 60"]).run();
        let error = late.expect_err("it takes a minute");
        for problem in [failed("up", &error), build_failed("up", &error, None)] {
            let (ComposeError::Tool { said, .. } | ComposeError::Build { said, .. }) = problem
            else {
                panic!("{problem:?}")
            };
            assert_eq!(said, "`sh` did not end within 0.2 s\nPulling web");
        }
    }

    #[test]
    fn a_build_s_message_is_what_its_step_said() {
        let builder = "Step 1/2 : FROM php:8.1-fpm\n ---> b7b53cf4cefc\nStep 2/2 : RUN touch /x/y\n ---> \
            Running in 6311843e696c\n\u{1b}[91mtouch: cannot touch '/x/y'\n\u{1b}[0mRemoving intermediate \
            container 6311843e696c\nBuilding php\nDEPRECATED: The legacy builder is deprecated and will be \
            removed in a future release.\n            Install the buildx component to build images with \
            BuildKit:\n            https://docs.docker.com/go/buildx/\n\nThe command '/bin/sh -c touch \
            /x/y' returned a non-zero code: 1\nService 'php' failed to build : Build failed\n";
        assert_eq!(
            last_lines(&without_frames(builder)),
            "touch: cannot touch '/x/y'\nThe command '/bin/sh -c touch /x/y' returned a non-zero code: 1"
        );
        assert_eq!(last_lines(&without_frames("Building php\n")), "Building php");
        let of_app = "Step 1 of the set-up failed\nno database\n";
        assert_eq!(last_lines(of_app), of_app.trim_end(), "what an app says is no frame");
        let podman = format!("Error: building {}: invalid argument\n", "x".repeat(5_000));
        let shown = last_lines(&podman);
        assert!(shown.starts_with("Error: building x") && shown.ends_with("x: invalid argument"));
        assert_eq!(shown.chars().count(), LINE_CHARS_MAX + 3);
    }
}
