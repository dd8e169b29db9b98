//! What the requests of a load are answered with before it: each is asked once, and once more a
//! second later, so that what changes by itself is known to change.

use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use regex::Regex;
use sha2::{Digest, Sha256};

use super::answer::{Answer, gist};
use super::app::App;
use super::page::{Site, is_redirect};
use super::stable::{placeless, timeless, tokenless};
use crate::interrupt;
use crate::mask::{mask_foreign, mask_secrets};
use crate::plan::model::RequestSpec;
use crate::store::record::PageRecord;

/// For one answer: some are slow on purpose.
const WITHIN: Duration = Duration::from_secs(30);
/// For all of them: beyond that nobody waits for a trial to begin.
const ALL_WITHIN: Duration = Duration::from_secs(60);
/// For all the second answers: what is not asked again by then is compared as if it changed.
const AGAIN_WITHIN: Duration = Duration::from_secs(20);

/// Where an app runs, which its answers may show.
pub struct Place<'a> {
    /// The app.
    pub app: &'a App,
    /// Port that it answers at.
    pub port: u16,
    /// Directory of its stack; `None`: it is not known.
    pub dir: Option<&'a Path>,
}

impl Place<'_> {
    /// Status, headers and body of an answer as one text, without what moves by itself.
    pub(crate) fn shown(&self, answer: &Answer) -> String {
        let text = answer.masked(&self.app.masks);
        // An app that says what is correct has its own say about what moves.
        match self.app.expected_body {
            Some(_) => text,
            None => self.stable(&text),
        }
    }

    fn body(&self, answer: &Answer) -> String {
        self.stable(&self.app.masks.apply(&answer.body))
    }

    fn stable(&self, text: &str) -> String {
        tokenless(&timeless(&placeless(text, self.port, self.dir)))
    }
}

/// The PHP error that an answer of ours shows: with the path of a file of the app's own copy, so
/// that a page about PHP errors is none.
fn php_error(body: &str) -> Option<String> {
    let found = PHP_ERROR.find_iter(body).last()?;
    let text = found.as_str().replace("<b>", "").replace("</b>", "");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(mask_foreign(&words).chars().take(300).collect())
}

static PHP_ERROR: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?:Fatal|Parse) error(?:</b>)?:\s[^\n]{0,2000}?\bin (?:<b>)?\{dir\}[^\s<:]*";
    Regex::new(pattern).expect("a valid pattern")
});

/// The load's requests with what they are answered with.
pub(crate) struct Pages<'a>(Vec<Asked<'a>>);

struct Asked<'a> {
    request: &'a RequestSpec,
    /// SHA-256: there may be thousands of large bodies.
    body: [u8; 32],
    record: PageRecord,
}

impl<'a> Pages<'a> {
    /// Asks each of `requests` of `site`.
    pub(crate) fn ask(
        site: &impl Site,
        place: &Place<'_>,
        requests: &[&'a RequestSpec],
    ) -> Pages<'a> {
        let begun = Instant::now();
        let is_in_time = || begun.elapsed() < ALL_WITHIN && !interrupt::asked();
        let asked = requests.iter().take_while(|_| is_in_time()).map(|request| {
            let path = mask_secrets(&request.path);
            let Ok(answer) = site.ask_path(&request.path, &request.headers, WITHIN) else {
                // Without an answer the load itself will tell.
                let record = PageRecord { path, ..PageRecord::default() };
                return Asked { request, body: hash(""), record };
            };
            let location = answer.header("location").filter(|_| is_redirect(answer.status));
            let location = location.map(|to| mask_foreign(&placeless(to, place.port, place.dir)));
            let body = place.body(&answer);
            let record = PageRecord {
                path,
                status: answer.status,
                location,
                title: gist(&body),
                bytes: answer.body.len() as u64,
                // Until it was asked for again. A title rarely changes, and is compared all the
                // same.
                changes: true,
                title_changes: false,
                php_error: php_error(&body),
            };
            Asked { request, body: hash(&body), record }
        });
        Pages(asked.collect())
    }

    /// Asks again for what was answered, as far as that is done in a few seconds.
    pub(crate) fn ask_again(&mut self, site: &impl Site, place: &Place<'_>) {
        let begun = Instant::now();
        let answered = self.0.iter_mut().filter(|asked| asked.record.status != 0);
        for asked in answered.take_while(|_| begun.elapsed() < AGAIN_WITHIN && !interrupt::asked())
        {
            let RequestSpec { path, headers, .. } = asked.request;
            let Ok(again) = site.ask_path(path, headers, WITHIN) else { continue };
            let body = place.body(&again);
            asked.record.changes = again.status != asked.record.status || hash(&body) != asked.body;
            asked.record.title_changes = gist(&body) != asked.record.title;
        }
    }

    /// They do not change: what they must be is known otherwise.
    pub(super) fn are_known(&mut self) {
        for asked in &mut self.0 {
            asked.record.changes = false;
        }
    }

    /// What is kept of them, in the order of the requests.
    pub(crate) fn records(self) -> Vec<PageRecord> {
        self.0.into_iter().map(|asked| asked.record).collect()
    }
}

fn hash(body: &str) -> [u8; 32] {
    Sha256::digest(body).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_php_error_of_the_app_is_seen_and_a_page_about_errors_is_none() {
        let plain =
            "<p>ok\nPHP Fatal error:  Uncaught Error: no f() in {dir}/app/index.php:1\nStack";
        let said = "Fatal error: Uncaught Error: no f() in {dir}/app/index.php";
        assert_eq!(php_error(plain).as_deref(), Some(said));
        let html = "<br />\n<b>Parse error</b>:  unexpected in <b>{dir}/app/a.php</b> on line";
        assert_eq!(php_error(html).as_deref(), Some("Parse error: unexpected in {dir}/app/a.php"));
        let about = "<h1>Fatal error: Uncaught Error: no f() in /var/www/index.php:1</h1>";
        assert_eq!(php_error(about), None);
    }
}
