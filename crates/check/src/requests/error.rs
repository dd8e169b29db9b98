//! Explains why something is no request, and what to do about it.

use std::io;
use std::path::PathBuf;

use stampede_model::entry::EntryError;
use stampede_plan::imported::ImportError;
use stampede_traffic::TrafficError;

/// Why the requests of a check are unknown.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// The file is larger than allowed.
    #[error("request file `{}` is more than {mib_max} MiB", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Largest size that is read, in MiB.
        mib_max: u64,
    },
    /// The file is no list, or one of its first lines is no request.
    #[error(transparent)]
    LoadTraffic(TrafficError),
    /// The file is a script of another tool that cannot be read.
    #[error(transparent)]
    Script(#[from] ImportError),
    /// A later line is no request.
    #[error("line {line}: {what} in request file `{}`", path.display())]
    Broken {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: u64,
        /// The mistake.
        what: EntryError,
    },
    /// A URL belongs to another site.
    #[error("line {line} of request file `{}`: {what}", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The mistake.
        what: String,
    },
    /// `--methods` is wrong.
    #[error("`--methods {0}` is not a list of request methods")]
    Methods(String),
    /// `--skip` is wrong.
    #[error("a pattern of `--skip` is empty")]
    Pattern,
    /// The app's console printed something other than its routes.
    #[error("the app's console lists no routes, it printed {begins}")]
    Routes {
        /// The first line of the output in backticks, or `nothing`.
        begins: String,
    },
    /// `--basic-auth` is wrong. Its value may be a password alone, so it is not shown.
    #[error("`--basic-auth` is without a name or without a password")]
    User,
    /// A cookie file is missing or cannot be read.
    #[error("cannot read the cookies `{}`", path.display())]
    Jar {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A line is no cookie, or a cookie of another site. Its text is a secret and is not shown.
    #[error("line {line} of the cookies `{}`: {what}", path.display())]
    Cookies {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The mistake.
        what: CookieError,
    },
}

/// The mistake in a line of cookies. It contains neither value nor name, because they are secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CookieError {
    /// The file is larger than all cookies of a browser.
    #[error("longer than {mib_max} MiB")]
    TooLong {
        /// Largest size that is read, in MiB.
        mib_max: u64,
    },
    /// A line has tabs, but not curl's format.
    #[error("{found} columns with tabs between them, and not 7")]
    Columns {
        /// Number of columns.
        found: usize,
    },
    /// The cookies belong to two sites.
    #[error("a cookie of `{domain}`, and those before it of `{site}`")]
    OtherSite {
        /// Domain of this line.
        domain: String,
        /// Site of the lines before.
        site: String,
    },
    /// The line has no `=`.
    #[error("no `name=value`")]
    NoPair,
    /// A character would end the cookie.
    #[error("a cookie has no such name or value")]
    NameOrValue,
    /// The whole file has no cookie.
    #[error("no cookie up to here")]
    None,
}

impl RequestError {
    /// Returns what to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            RequestError::TooLarge { .. } => "take a part of it: head -n 10000 FILE > part.txt",
            RequestError::Broken { .. }
            | RequestError::LoadTraffic(TrafficError::UnknownFormat { .. }) => LISTS,
            RequestError::LoadTraffic(TrafficError::Empty { .. }) => {
                "name one request at least, or leave the file out: the app's own links are followed then"
            }
            RequestError::LoadTraffic(error) => error.hint(),
            RequestError::Script(error) => error.hint(),
            RequestError::Foreign { .. } => "URLs of one site: nothing is sent to another host",
            RequestError::Methods(_) => "methods are words with commas between them: GET,HEAD,POST",
            RequestError::Routes { .. } => {
                "see what `php bin/console debug:router` or `php artisan route:list` says, or name the requests in a file"
            }
            RequestError::User => "it is NAME:PASSWORD, as curl has it",
            RequestError::Jar { .. } => "check that the file is there and may be read",
            RequestError::Cookies { .. } => {
                "a line is `name=value`, or has the seven columns of curl's cookie jar; and all are of the app's site"
            }
            RequestError::Pattern => "a pattern is such as `/admin*`: `*` stands for anything",
        }
    }
}

const LISTS: &str = "a path or URL a line, an access log, a HAR file, JSON lines with `path`, the traffic of Yandex Tank, or a test of JMeter or k6";

#[cfg(test)]
mod tests {
    use stampede_model::app_kind::AppKind;
    use stampede_traffic::TrafficFile;

    use super::super::{Credentials, Policy, file, routes};
    use super::*;

    fn shown(error: &RequestError) -> String {
        format!("error: {}\n\nhint: {}\n", stampede_model::causes::chain(error), error.hint())
    }

    #[cfg_attr(feature = "codes-for-text", ignore = "reads sentences")]
    #[test]
    fn each_error_says_what_where_and_what_next() {
        let of_bytes =
            |bytes: &[u8]| file::of(bytes, &TrafficFile::new("urls.txt")).expect_err("no list");
        let of = |text: &str| of_bytes(text.as_bytes());
        let directory = tempfile::tempdir().expect("a directory");
        let jar = directory.path().join("cookies.txt");
        std::fs::write(&jar, "sid=secret\nsecret\n").expect("written");
        let large = RequestError::TooLarge { path: "a.log".into(), mib_max: 64 };
        let errors = [
            file::read(&TrafficFile::new("/nowhere/urls.txt")).expect_err("not there"),
            large,
            of(""),
            of("# nothing yet\n"),
            of("<?php\n"),
            RequestError::Broken {
                path: "urls.txt".into(),
                line: 9,
                what: EntryError::NoHeader { line: "[x".into() },
            },
            of("[X-A: b]\n/a\n/b tag and more\n"),
            of_bytes(b"\xfd7zXZ\0\0"),
            of("/a\n# the CDN\n//cdn.example/x.js\n"),
            of("https://shop.example/a\n/b\n"),
            of("{\"path\": \"/a b\"}\n"),
            of("{\"path\": 7}\n"),
            Policy::new("GET,PO ST", &[]).expect_err("no method"),
            Policy::new("", &[]).expect_err("no method"),
            Policy::new("GET", &[" ".into()]).expect_err("empty"),
            routes::read(AppKind::Symfony, "\n  There is no command \"debug\".\n")
                .expect_err("no list"),
            routes::read(AppKind::Laravel, "[{\"name\": 1}]").expect_err("no list"),
            routes::read(AppKind::Symfony, "").expect_err("nothing"),
            Credentials::read(&["secret".into()], &[]).expect_err("no name"),
            Credentials::read(&[], &["/nowhere/jar".into()]).expect_err("not there"),
            Credentials::read(&[], &[jar]).expect_err("no cookie"),
        ];
        let shown: Vec<String> = errors.iter().map(shown).collect();
        let shown = shown.join("\n").replace(&directory.path().display().to_string(), "DIRECTORY");
        assert!(!shown.contains("secret"));
        insta::assert_snapshot!(shown);
    }
}
