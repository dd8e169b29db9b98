//! What is no request, and what to do about it.

use std::path::PathBuf;

use stampede_load::ammo::AmmoError;

/// Why it is not known what to ask for.
#[derive(Debug, thiserror::Error)]
pub enum RequestError {
    /// Larger than what is read of such files.
    #[error("ammo `{}` is more than {mib_max} MiB", path.display())]
    TooLarge {
        /// Which.
        path: PathBuf,
        /// What is read at most.
        mib_max: u64,
    },
    /// No list, or no request in one of its lines.
    #[error(transparent)]
    Ammo(AmmoError),
    /// A line that is no request, far behind the first.
    #[error("{what} in ammo `{}`", path.display())]
    Broken {
        /// Which file.
        path: PathBuf,
        /// Line, and what is wrong with it.
        what: String,
    },
    /// A URL of another site.
    #[error("line {line} of ammo `{}`: {what}", path.display())]
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
}

impl RequestError {
    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            RequestError::TooLarge { .. } => "take a part of it: head -n 10000 FILE > part.txt",
            RequestError::Broken { .. } | RequestError::Ammo(AmmoError::UnknownFormat { .. }) => {
                LISTS
            }
            RequestError::Ammo(AmmoError::Empty { .. }) => {
                "name one request at least, or leave the file out: the app's own links are followed then"
            }
            RequestError::Ammo(error) => error.hint(),
            RequestError::Foreign { .. } => "URLs of one site: nothing is sent to another host",
            RequestError::Methods(_) => "methods are words with commas between them: GET,HEAD,POST",
            RequestError::Pattern => "a pattern is such as `/admin*`: `*` stands for anything",
        }
    }
}

const LISTS: &str = "a path or URL a line, an access log, a HAR file, JSON lines with `path`, or the ammo of Yandex Tank";

#[cfg(test)]
mod tests {
    use super::super::{Policy, file};
    use super::*;

    fn shown(error: &RequestError) -> String {
        format!("error: {}\n\nhint: {}\n", crate::causes::chain(error), error.hint())
    }

    #[test]
    fn each_error_says_what_where_and_what_next() {
        let of_bytes = |bytes: &[u8]| file::of(bytes, "urls.txt".as_ref()).expect_err("no list");
        let of = |text: &str| of_bytes(text.as_bytes());
        let large = RequestError::TooLarge { path: "a.log".into(), mib_max: 64 };
        let errors = [
            file::read("/nowhere/urls.txt".as_ref()).expect_err("not there"),
            large,
            of(""),
            of("# nothing yet\n"),
            of("GET /\n"),
            RequestError::Broken { path: "urls.txt".into(), what: "line 9: `x` is no path".into() },
            of("/a\n/b tag and more\n"),
            of_bytes(b"\x1f\x8b\x08"),
            of("/a\n# the CDN\n//cdn.example/x.js\n"),
            of("https://shop.example/a\n/b\n"),
            of("{\"path\": \"/a b\"}\n"),
            of("{\"path\": 7}\n"),
            Policy::new("GET,PO ST", &[]).expect_err("no method"),
            Policy::new("", &[]).expect_err("no method"),
            Policy::new("GET", &[" ".into()]).expect_err("empty"),
        ];
        let shown: Vec<String> = errors.iter().map(shown).collect();
        insta::assert_snapshot!(shown.join("\n"));
    }
}
