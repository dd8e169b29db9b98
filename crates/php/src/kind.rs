//! The kinds of suspect with their texts: what it is, why it matters in a worker, and the usual
//! fix.
//! tidy: data table

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is suspicious about a place in the code, the gravest first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum SuspectKind {
    /// A service, singleton or static property that keeps a request, a session or a user.
    KeepsRequest,
    /// A service that adds to a list of its own and never empties it.
    Gathers,
    /// A static property that a method or function writes.
    StaticWritten,
    /// A `static` variable of a function, written after its declaration.
    StaticVariable,
    /// `exit`, `die`, `dd`.
    Exit,
    /// `global $x`, or a write to `$GLOBALS`.
    Global,
    /// `$_SESSION` and `session_*()` beside the framework.
    Session,
    /// `header()`, `setcookie()` … beside the framework.
    Header,
    /// `$_GET`, `php://input` … beside the framework.
    Superglobal,
    /// `echo` … beside the framework's response.
    Output,
    /// `PHP_SAPI` compared in request code.
    Sapi,
    /// `ini_set()` and its like.
    IniSet,
    /// The environment, written.
    Putenv,
    /// `setlocale()`, `Locale::setDefault()` …
    Setlocale,
    /// `date_default_timezone_set()`.
    Timezone,
    /// `chdir()`.
    Chdir,
    /// `umask()`.
    Umask,
    /// A handler of errors, exceptions, classes or the end, set and not taken back.
    Handler,
    /// `ob_start()` without its end.
    OutputBuffer,
    /// `define()` in a function.
    Constant,
    /// A function declared in a function.
    Redeclared,
    /// Random numbers seeded.
    Seed,
    /// An object of the worker's life that opens a file or a process and never closes it.
    FileHandle,
    /// A transaction begun, and nothing that rolls it back.
    Transaction,
    /// Settings of the database connection.
    DatabaseSession,
}

impl SuspectKind {
    /// Returns all kinds, the most severe first.
    pub fn all() -> impl Iterator<Item = SuspectKind> {
        WORDS.iter().map(|words| words.0)
    }

    /// Returns a few words for a heading.
    pub const fn title(self) -> &'static str {
        WORDS[self as usize].1
    }

    /// Returns why it matters in a worker, in one sentence.
    pub const fn why(self) -> &'static str {
        WORDS[self as usize].2
    }

    /// Returns the usual fix, in one sentence.
    pub const fn fix(self) -> &'static str {
        WORDS[self as usize].3
    }
}

/// The texts of a kind: a title, why it matters, the usual fix.
type Words = (SuspectKind, &'static str, &'static str, &'static str);

/// The texts of every kind, in the order of the kinds.
const WORDS: [Words; 25] = [
    (
        SuspectKind::KeepsRequest,
        "keeps a request, session or user",
        "The object outlives the request: the next one may see the user of an earlier one.",
        "Take the request as an argument, or ask for the current one when it is needed: \
         Symfony's `RequestStack`, Laravel's `scoped()` or a closure that asks `request()`.",
    ),
    (
        SuspectKind::Gathers,
        "service that gathers",
        "The service lives as long as the worker: the list grows with each request, and has \
         what earlier ones put there.",
        "Empty it at the end of each request (Symfony: `ResetInterface`), or keep the list in \
         an object made for the request (Laravel: `scoped()`).",
    ),
    (
        SuspectKind::StaticWritten,
        "static property written",
        "It keeps its value from one request to the next, and from one user to another.",
        "Make it a property of an object made for the request; if it must stay, reset it \
         at the end of each (Symfony: `ResetInterface`, Octane: `flush` in its config).",
    ),
    (
        SuspectKind::StaticVariable,
        "static variable written",
        "It keeps its value from one request to the next, and grows as long as the worker \
         lives where entries are added.",
        "Pass the value in, or keep it in an object made for the request or in a cache \
         with a limit.",
    ),
    (
        SuspectKind::Exit,
        "ends the process",
        "It ends the worker, not only the request: the client may get no answer, and the \
         worker has to boot again.",
        "Return a response, or throw an exception that the framework makes one of.",
    ),
    (
        SuspectKind::Global,
        "global variable",
        "It is shared by all requests of a worker, and what the front controller set at \
         the top of a file may not be there at all.",
        "Pass the value as an argument or have it injected.",
    ),
    (
        SuspectKind::Session,
        "PHP's own session",
        "Workers have one process for many users: `$_SESSION` may be empty, or still be \
         the session of the request before.",
        "Use the session of the request: `$request->getSession()`, `$request->session()`.",
    ),
    (
        SuspectKind::Header,
        "header sent past the response",
        "Most worker runtimes send the framework's response only: the header or cookie is \
         lost, or goes out with another answer.",
        "Set it on the response object.",
    ),
    (
        SuspectKind::Superglobal,
        "request read past the framework",
        "Not every worker runtime fills it for each request: it may be empty, or that of \
         the request before.",
        "Read it from the request object.",
    ),
    (
        SuspectKind::Output,
        "output past the response",
        "Where a worker talks to its server over a pipe, output breaks it; elsewhere it is \
         lost or comes before the headers.",
        "Return it in the response, or send it to the log.",
    ),
    (
        SuspectKind::Sapi,
        "asks for the SAPI",
        "RoadRunner, Swoole and other workers run as `cli`: the branch for the command line \
         is taken in requests too.",
        "Decide by configuration, or in the place that only commands come by.",
    ),
    (
        SuspectKind::IniSet,
        "setting of PHP changed",
        "php-fpm takes it back after the request; a worker keeps it for all that follow.",
        "Set it in php.ini, or take it back in `finally`.",
    ),
    (
        SuspectKind::Putenv,
        "environment written",
        "It stays for all requests that follow, and threads of one process share it.",
        "Pass the value as an argument; to a child process as its own environment.",
    ),
    (
        SuspectKind::Setlocale,
        "locale set",
        "Requests that follow, of other users, get this locale for numbers, dates and texts.",
        "Set it for every request in one place, or use `IntlDateFormatter` and \
         `NumberFormatter` with the locale as an argument.",
    ),
    (
        SuspectKind::Timezone,
        "default time zone set",
        "Requests that follow, of other users, get dates in this time zone.",
        "Give the time zone to `DateTimeImmutable`, or set the default for every request in \
         one place.",
    ),
    (
        SuspectKind::Chdir,
        "working directory changed",
        "Relative paths of all requests that follow start there.",
        "Use absolute paths; for a child process set its working directory.",
    ),
    (
        SuspectKind::Umask,
        "umask changed",
        "Files that later requests write get these permissions.",
        "Use `chmod()` on the file, or take the umask back in `finally`.",
    ),
    (
        SuspectKind::Handler,
        "handler that stays",
        "Each request adds one more or replaces the framework's; handlers of the end run \
         only when the worker ends.",
        "Set it once at boot, take it back in `finally`, or use the framework's events.",
    ),
    (
        SuspectKind::OutputBuffer,
        "output buffer left open",
        "The buffer stays open for the next request, which writes into it.",
        "Close it in `finally` with `ob_get_clean()` or `ob_end_clean()`.",
    ),
    (
        SuspectKind::Constant,
        "constant defined at run time",
        "The first request's value stays for all, and the second `define()` is a warning.",
        "Use configuration or an argument for what differs, `const` for what does not.",
    ),
    (
        SuspectKind::Redeclared,
        "function declared in a function",
        "The second request to come by ends with `Cannot redeclare`.",
        "Declare it at the top of a file, or make it a closure.",
    ),
    (
        SuspectKind::Seed,
        "random numbers seeded",
        "The numbers of all requests that follow can be foretold.",
        "Use `Random\\Randomizer` with an engine of its own, `random_int()` for secrets.",
    ),
    (
        SuspectKind::FileHandle,
        "handle kept open",
        "An object that lives as long as the worker keeps the file or process open, and \
         workers have a limit of those.",
        "Close it where it was opened, in `finally`.",
    ),
    (
        SuspectKind::Transaction,
        "transaction without roll-back",
        "After an exception it stays open in the connection that the next request uses.",
        "Use `transactional()`, `wrapInTransaction()` or `DB::transaction()`, or roll back \
         in `catch`.",
    ),
    (
        SuspectKind::DatabaseSession,
        "database connection changed",
        "The connection outlives the request: those that follow work with these settings.",
        "Set it where the connection is configured, or take it back in `finally`.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_own_words() {
        let mut texts = std::collections::BTreeSet::new();
        for kind in SuspectKind::all() {
            assert!(texts.insert(kind.title()), "{kind:?} has the title of another");
            assert!(texts.insert(kind.why()), "{kind:?} has the reason of another");
            for sentence in [kind.why(), kind.fix()] {
                assert!(sentence.ends_with('.') && !sentence.contains("  "), "{sentence}");
            }
        }
    }

    #[test]
    fn each_kind_has_its_own_row() {
        for (row, words) in WORDS.iter().enumerate() {
            assert_eq!(words.0 as usize, row);
        }
        assert_eq!(WORDS.len(), SuspectKind::DatabaseSession as usize + 1);
    }

    #[test]
    fn the_docs_list_every_kind_with_the_same_texts() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/what-the-code-says.md");
        let page = std::fs::read_to_string(page).unwrap();
        for kind in SuspectKind::all() {
            let row = format!("| {} | {} | {} |", kind.title(), kind.why(), kind.fix());
            assert!(page.contains(&row), "docs/what-the-code-says.md has not\n{row}");
        }
    }
}
