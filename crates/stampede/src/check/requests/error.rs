//! What is no request, and what to do about it.

use std::io;
use std::path::PathBuf;

use stampede_load::traffic::{EntryError, TrafficError};

/// Why it is not known what to ask for.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// Larger than what is read of such files.
    #[error("request file `{}` is more than {mib_max} MiB", path.display())]
    TooLarge {
        /// Which.
        path: PathBuf,
        /// What is read at most.
        mib_max: u64,
    },
    /// No list, or no request in one of its lines.
    #[error(transparent)]
    LoadTraffic(TrafficError),
    /// A line that is no request, far behind the first.
    #[error("line {line}: {what} in request file `{}`", path.display())]
    Broken {
        /// Which file.
        path: PathBuf,
        /// 1 for the first.
        line: u64,
        /// What is wrong with it.
        what: EntryError,
    },
    /// A URL of another site.
    #[error("line {line} of request file `{}`: {what}", path.display())]
    Foreign {
        /// Which file.
        path: PathBuf,
        /// Where, 1 for the first.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// Of `--methods`.
    #[error("`--methods {0}` is not a list of request methods")]
    Methods(String),
    /// Of `--skip`.
    #[error("a pattern of `--skip` is empty")]
    Pattern,
    /// What the app's console printed in place of its routes.
    #[error("the app's console lists no routes, it printed {begins}")]
    Routes {
        /// The first line of it in backticks, or `nothing`.
        begins: String,
    },
    /// Of `--login`. What is written there may be a password alone: it is not shown.
    #[error("`--login` is without a name or without a password")]
    User,
    /// A file of cookies that is not there, or cannot be read.
    #[error("cannot read the cookies `{}`", path.display())]
    Jar {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A line that is no cookie, or one of another site. Its text is not shown: it is a secret.
    #[error("line {line} of the cookies `{}`: {what}", path.display())]
    Cookies {
        /// Which file.
        path: PathBuf,
        /// Where, 1 for the first.
        line: usize,
        /// What is wrong.
        what: CookieError,
    },
}

/// What is wrong with a line of cookies. No value is in it, nor a name: they are secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CookieError {
    /// More than a browser's whole jar.
    #[error("longer than {mib_max} MiB")]
    TooLong {
        /// What is read at most.
        mib_max: u64,
    },
    /// A line with tabs, and not of curl's format.
    #[error("{found} columns with tabs between them, and not 7")]
    Columns {
        /// How many there are.
        found: usize,
    },
    /// Cookies of two sites.
    #[error("a cookie of `{domain}`, and those before it of `{site}`")]
    OtherSite {
        /// Of this line.
        domain: String,
        /// Of the lines before it.
        site: String,
    },
    /// A line without `=`.
    #[error("no `name=value`")]
    NoPair,
    /// Characters that would end the cookie.
    #[error("a cookie has no such name or value")]
    NameOrValue,
    /// The whole file.
    #[error("no cookie up to here")]
    None,
}

impl RequestError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            RequestError::TooLarge { .. } => "take a part of it: head -n 10000 FILE > part.txt",
            RequestError::Broken { .. }
            | RequestError::LoadTraffic(TrafficError::UnknownFormat { .. }) => LISTS,
            RequestError::LoadTraffic(TrafficError::Empty { .. }) => {
                "name one request at least, or leave the file out: the app's own links are followed then"
            }
            RequestError::LoadTraffic(error) => error.hint(),
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

const LISTS: &str = "a path or URL a line, an access log, a HAR file, JSON lines with `path`, or the traffic of Yandex Tank";

#[cfg(test)]
mod tests {
    use super::super::{Credentials, Policy, file, routes};
    use super::*;
    use crate::runtime::AppKind;

    fn shown(error: &RequestError) -> String {
        format!("error: {}\n\nhint: {}\n", crate::causes::chain(error), error.hint())
    }

    #[cfg_attr(feature = "codes-for-text", ignore = "reads sentences")]
    #[test]
    fn each_error_says_what_where_and_what_next() {
        let of_bytes = |bytes: &[u8]| file::of(bytes, "urls.txt".as_ref()).expect_err("no list");
        let of = |text: &str| of_bytes(text.as_bytes());
        let directory = tempfile::tempdir().expect("a directory");
        let jar = directory.path().join("cookies.txt");
        std::fs::write(&jar, "sid=secret\nsecret\n").expect("written");
        let large = RequestError::TooLarge { path: "a.log".into(), mib_max: 64 };
        let errors = [
            file::read("/nowhere/urls.txt".as_ref()).expect_err("not there"),
            large,
            of(""),
            of("# nothing yet\n"),
            of("GET /\n"),
            RequestError::Broken {
                path: "urls.txt".into(),
                line: 9,
                what: EntryError::NoHeader { line: "[x".into() },
            },
            of("/a\n/b tag and more\n"),
            of_bytes(b"\x1f\x8b\x08"),
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
