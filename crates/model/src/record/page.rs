//! What the title of a page says of the app.

use super::PageRecord;

/// What PHP, or an app, writes before the message of an error.
const BEGINS: [&str; 5] = ["error:", "exception:", "warning:", "notice:", "deprecated:"];

/// Parts of titles of pages that are none of the app's own.
const WORDS: [&str; 27] = [
    "fatal error",
    "parse error",
    "uncaught ",
    "sqlstate[",
    "access denied for user",
    "not allowed to connect",
    "connection refused",
    "unknown database",
    "database error",
    "database connection",
    "connect to the database",
    "connect to database",
    "internal server error",
    "not installed",
    "installer",
    "installation wizard",
    "setup wizard",
    "setup configuration",
    "service unavailable",
    "extension is required",
    "extensions are required",
    "extension is missing",
    "extensions are missing",
    "missing extension",
    "missing php extension",
    "extension is not loaded",
    "extension not loaded",
];

impl PageRecord {
    /// Whether the title of a page, or its first line, says that the app fails or wants to be installed,
    /// whatever its status is.
    pub fn says_error(&self) -> bool {
        let title = without_tags(&self.title).to_ascii_lowercase();
        BEGINS.iter().any(|words| title.trim_start().starts_with(words))
            || WORDS.iter().any(|words| title.contains(words))
    }
}

/// A first line may be HTML: PHP writes `<b>Warning</b>:`.
fn without_tags(line: &str) -> String {
    let after_tag = |part: &str| part.split_once('>').map_or("", |(_, text)| text).to_owned();
    let mut parts = line.split('<');
    let first = parts.next().unwrap_or_default().to_owned();
    first + &parts.map(after_tag).collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_of_an_error_or_an_installer_is_recognised() {
        let says =
            |title: &str| PageRecord { title: title.into(), ..PageRecord::default() }.says_error();
        for title in [
            "Error: Host 'web.shop' is not allowed to connect to this MariaDB server",
            "Connection failed: SQLSTATE[HY000] [2002] Connection refused",
            "Warning: Undefined variable $a in /app/index.php on line 3",
            "Fatal error: Uncaught TypeError",
            "Database Error",
            "WordPress › Setup Configuration File",
            "<p>The following extensions are required: curl, zip. Contact your host or configure your",
            "Missing PHP extension: intl",
            "<br /><b>Warning</b>:  Undefined variable $a in <b>/app/index.php</b> on line <b>3</b>",
        ] {
            assert!(says(title), "{title}");
        }
        for title in [
            "Shop",
            "Terror: a film",
            "Notices of the day",
            "Our errors and how we fix them",
            "a < b",
            "",
        ] {
            assert!(!says(title), "{title}");
        }
    }
}
