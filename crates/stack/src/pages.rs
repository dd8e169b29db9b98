//! Records how the requests of a load are answered before it. Each request is asked once, and once
//! more a second later, to find the pages that change by themselves.

use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use regex::Regex;
use sha2::{Digest, Sha256};
use stampede_linux::{fresh, interrupt};
use stampede_markup::forms::forms;
use stampede_mask::{mask_foreign, mask_secrets};
use stampede_model::observed::constant_lines;
use stampede_model::record::PageRecord;
use stampede_model::redirect::is_redirect;
use stampede_plan::model::RequestSpec;

use super::answer::{Answer, gist, sha256};
use super::app::App;
use super::page::Site;
use super::stable::{without_place, without_place_in_target, without_times, without_tokens};

/// The timeout of one answer, since some pages are slow on purpose.
const WITHIN: Duration = Duration::from_secs(30);
/// The timeout of all first answers together, so that the trial begins.
const ALL_WITHIN: Duration = Duration::from_secs(60);
/// The timeout of all second answers together. Pages that are not asked again within it are
/// compared as if they change.
const AGAIN_WITHIN: Duration = Duration::from_secs(20);

/// Further answers of a page that changes. With fewer, one of three texts that an app shows at random would
/// more often be the only one that a runtime shows, and count as what stays.
const MORE_ANSWERS: usize = 3;

/// The app and where it runs, which its answers may show.
pub struct AnswerContext<'a> {
    /// The app.
    pub app: &'a App,
    /// The port on which it answers.
    pub port: u16,
    /// The working directory of the stack; `None`: it is not known.
    pub dir: Option<&'a Path>,
}

impl AnswerContext<'_> {
    /// Status, headers and body of an answer as one text, without what changes by itself.
    pub fn shown(&self, answer: &Answer) -> String {
        let text = answer.masked(&self.app.masks);
        // An app with an expected body has its own masks for what changes.
        match self.app.expected_body {
            Some(_) => text,
            None => self.stable(&text),
        }
    }

    /// The text by which a page of the load is compared. Of a file, headers are not compared: each web
    /// server has its own table of types.
    fn text(&self, path: &str, answer: &Answer, body: &str) -> String {
        let name = path.split(['?', '#']).next().unwrap_or_default().rsplit('/').next();
        let is_file = name
            .and_then(|name| name.rsplit_once('.'))
            .is_some_and(|(_, ending)| !ending.starts_with("php"));
        match is_file {
            true => format!("{}\n\n{body}", answer.status),
            false => self.stable(&answer.head()) + "\n" + body,
        }
    }

    /// That text without secrets. It is masked before it is hashed: a page that shows a secret of each
    /// start is the same page.
    fn masked_text(&self, path: &str, answer: &Answer, body: &str) -> String {
        mask_foreign(&self.text(path, answer, body))
    }

    fn body(&self, answer: &Answer) -> String {
        self.stable(&self.app.masks.apply(&answer.body))
    }

    fn stable(&self, text: &str) -> String {
        without_tokens(&without_times(&self.without_place(text)))
    }

    fn without_place_in_target(&self, target: &str) -> String {
        self.without_home(without_place_in_target(target, self.port, self.dir))
    }

    /// The text without the address and without the paths of the app's copy: where the stack sees the
    /// copy at the app's own path, that path is one of them.
    fn without_place(&self, text: &str) -> String {
        self.without_home(without_place(text, self.port, self.dir))
    }

    fn without_home(&self, text: String) -> String {
        match self.app.home.as_ref().and_then(|home| home.to_str()) {
            Some(home) => text.replace(home, "{dir}/app"),
            None => text,
        }
    }
}

/// The beginning of a text.
fn beginning(mut text: String) -> String {
    let end = (0..=text.len().min(TEXT_BYTES)).rev().find(|at| text.is_char_boundary(*at));
    text.truncate(end.unwrap_or(0));
    text
}

/// The most bytes of a page's text that are kept.
const TEXT_BYTES: usize = 256 << 10;

/// The PHP error that a page shows; `None`: it shows none. The error must name a file of the app's
/// own copy, or be all that the page ends with, so that a page about PHP errors does not count.
fn php_error(body: &str) -> Option<String> {
    let found = PHP_ERROR.find_iter(body).last().or_else(|| PHP_ERROR_AT_END.find(body))?;
    let text = found.as_str().replace("<b>", "").replace("</b>", "").replace("<br />", "");
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    Some(mask_foreign(&words).chars().take(300).collect())
}

static PHP_ERROR: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?:Fatal|Parse) error(?:</b>)?:\s[^\n]{0,2000}?\bin (?:<b>)?\{dir\}[^\s<:]*";
    Regex::new(pattern).expect("a valid pattern")
});

/// PHP writes nothing after a fatal error. Between its first and its last line is the stack.
static PHP_ERROR_AT_END: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?s)(?:Fatal|Parse) error(?:</b>)?:\s[^<>]{0,4000} in (?:<b>)?[^<>\s]{1,1000}(?:</b>)? on line (?:<b>)?\d+(?:</b>)?(?:<br />)?\s*$";
    Regex::new(pattern).expect("a valid pattern")
});

/// The load's requests with their answers.
pub struct Pages<'a>(Vec<AnsweredRequest<'a>>);

struct AnsweredRequest<'a> {
    request: &'a RequestSpec,
    /// SHA-256 of the body without what differs by time and place.
    body: [u8; 32],
    record: PageRecord,
}

impl<'a> Pages<'a> {
    /// Asks each of `requests` of `site`.
    pub fn ask(
        site: &impl Site,
        context: &AnswerContext<'_>,
        requests: &[&'a RequestSpec],
    ) -> Pages<'a> {
        let begun = Instant::now();
        let is_in_time = || begun.elapsed() < ALL_WITHIN && !interrupt::is_requested();
        let asked = requests.iter().take_while(|_| is_in_time()).map(|request| {
            let path = mask_secrets(&request.path);
            let Ok(answer) = site.request_path(&request.path, &request.headers, WITHIN) else {
                // A request without an answer is not judged here: the load itself will show the
                // failure.
                let record = PageRecord { path, ..PageRecord::default() };
                return AnsweredRequest { request, body: hash(""), record };
            };
            let location = answer.header("location").filter(|_| is_redirect(answer.status));
            let location = location.map(|to| mask_foreign(&context.without_place_in_target(to)));
            let body = context.body(&answer);
            let host = request.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("host"));
            let text = context.masked_text(&request.path, &answer, &body);
            let record = PageRecord {
                path,
                text_sha256: sha256(&text),
                text: beginning(text),
                host: host.map(|(_, host)| mask_foreign(host)),
                status: answer.status,
                location,
                title: gist(&body),
                bytes: answer.body_bytes,
                bytes_again: Vec::new(),
                // True until the second answer is the same. Titles rarely change, so they are
                // compared until a change is seen.
                changes: true,
                title_changes: false,
                php_error: php_error(&body),
                as_unknown: false,
                asks_for_password: asks_for_password(&answer.body),
            };
            AnsweredRequest { request, body: hash(&body), record }
        });
        let mut pages = Pages(asked.collect());
        if is_in_time() {
            pages.ask_unknown(site, context);
        }
        pages
    }

    /// Asks for a path that does not exist, and marks the pages that are the same as its answer. The
    /// home page and files are not compared.
    fn ask_unknown(&mut self, site: &impl Site, context: &AnswerContext<'_>) {
        let is_meant = |asked: &AnsweredRequest<'_>| {
            let path = asked.record.path.split('?').next().unwrap_or_default();
            let name = path.rsplit('/').next().unwrap_or_default();
            asked.record.status == 200 && path != "/" && !name.ends_with(".php")
        };
        let Some(first) = self.0.iter().find(|asked| is_meant(asked)) else { return };
        let path = format!("/stampede-{}/no-such-page", fresh::token());
        let Ok(answer) = site.request_path(&path, &first.request.headers, WITHIN) else { return };
        if answer.status != 200 {
            return;
        }
        let body = context.body(&answer);
        let (title, bytes) = (gist(&body), answer.body_bytes);
        for asked in self.0.iter_mut().filter(|asked| is_meant(asked)) {
            let record = &mut asked.record;
            // A page may show its own path.
            let is_near = record.bytes.abs_diff(bytes) <= bytes / 20;
            record.as_unknown = asked.body == hash(&body) || (record.title == title && is_near);
        }
    }

    /// Asks again for each page that was answered, within the timeout. Those that change are asked for
    /// some times more, to tell the parts that stay.
    pub fn request_again(&mut self, site: &impl Site, context: &AnswerContext<'_>) {
        let begun = Instant::now();
        let is_in_time = || begun.elapsed() < AGAIN_WITHIN && !interrupt::is_requested();
        let answered = self.0.iter_mut().filter(|asked| asked.record.status != 0);
        for asked in answered.take_while(|_| is_in_time()) {
            let RequestSpec { path, headers, .. } = asked.request;
            let Ok(again) = site.request_path(path, headers, WITHIN) else { continue };
            let body = context.body(&again);
            let record = &mut asked.record;
            record.changes = again.status != record.status || hash(&body) != asked.body;
            record.title_changes = gist(&body) != record.title;
            if record.changes {
                let text = |answer: &Answer, body: &str| {
                    beginning(context.masked_text(path, answer, body))
                };
                let mut texts = vec![text(&again, &body)];
                record.bytes_again = vec![again.body_bytes];
                for _ in 0..MORE_ANSWERS {
                    let Ok(more) = site.request_path(path, headers, WITHIN) else { break };
                    let body = context.body(&more);
                    record.title_changes |= gist(&body) != record.title;
                    record.bytes_again.push(more.body_bytes);
                    texts.push(text(&more, &body));
                    if !is_in_time() {
                        break;
                    }
                }
                // Three lengths in all show how much it changes.
                record.bytes_again.truncate(2);
                record.text = constant_lines(&record.text, &texts);
                record.text_sha256 = sha256(&record.text);
            }
        }
    }

    /// Marks all pages as not changing, for an app whose correct answer is known.
    pub(super) fn mark_as_constant(&mut self) {
        for asked in &mut self.0 {
            asked.record.changes = false;
        }
    }

    /// The records of the pages, in the order of the requests.
    pub fn records(self) -> Vec<PageRecord> {
        self.0.into_iter().map(|asked| asked.record).collect()
    }
}

/// Whether a page is a form that asks for a password, and not a page that has such a form beside much
/// else.
fn asks_for_password(body: &str) -> bool {
    let links = body.matches("<a ").count();
    links <= LINKS_MAX && forms(body.as_bytes()).iter().any(|form| form.has_password)
}

/// The most links of a page for logging in: to a forgotten password, to other languages.
const LINKS_MAX: usize = 15;

fn hash(body: &str) -> [u8; 32] {
    Sha256::digest(body).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_a_page_with_little_else() {
        let form = "<form><input name=a><input type=password name=b></form>";
        assert!(asks_for_password(form));
        assert!(!asks_for_password(&("<a href=/>x</a>".repeat(40) + form)));
        assert!(!asks_for_password("<form><input name=a></form>"));
    }

    #[test]
    fn a_php_error_is_seen_and_a_page_about_errors_is_not_mistaken_for_one() {
        let plain =
            "<p>ok\nPHP Fatal error:  Uncaught Error: no f() in {dir}/app/index.php:1\nStack";
        let said = "Fatal error: Uncaught Error: no f() in {dir}/app/index.php";
        assert_eq!(php_error(plain).as_deref(), Some(said));
        let html = "<br />\n<b>Parse error</b>:  unexpected in <b>{dir}/app/a.php</b> on line";
        assert_eq!(php_error(html).as_deref(), Some("Parse error: unexpected in {dir}/app/a.php"));
        // Of containers the paths are not known.
        let unknown = "<br />\n<b>Fatal error</b>:  Failed opening required '/index.php' (include_path='.:/usr/share/php') in <b>Unknown</b> on line <b>0</b><br />\n";
        let said = "Fatal error: Failed opening required '/index.php' (include_path='.:/usr/share/php') in Unknown on line 0";
        assert_eq!(php_error(unknown).as_deref(), Some(said));
        let stack = "PHP Fatal error:  Uncaught Error: no f() in /srv/a.php:1\nStack trace:\n#0 {main}\n  thrown in /srv/a.php on line 1\n";
        let found = php_error(stack).expect("it ends with one");
        assert!(
            found.starts_with("Fatal error: Uncaught Error: no f() in /srv/a.php:1"),
            "{found}"
        );
        for about in [
            "<p>Fatal error: no f() in a.php on line 1</p></body></html>",
            "How to read \"Fatal error: no f() in a.php on line 1\"",
            "Fatal error: see line 3",
        ] {
            assert_eq!(php_error(about), None, "{about}");
        }
        let about = "<h1>Fatal error: Uncaught Error: no f() in /var/www/index.php:1</h1>";
        assert_eq!(php_error(about), None);
    }
}
