//! Compares how two runtimes answer the requests of a load: status, title, length, text, and the
//! target of a redirect.

use super::{constant, lines};
use crate::fact::Mismatch;
use crate::record::PageRecord;

/// The number of differences shown in one reason.
const SHOWN: usize = 3;
/// Two bodies count as equally long if they differ by this share of the longer one at most …
const SHARE: f64 = 0.01;
/// … or by this many bytes at most: room for a server's name or a session's id.
const BYTES: f64 = 64.0;
/// The same limits for a page whose body changes each time it is asked for.
const CHANGING_SHARE: f64 = 0.10;
const CHANGING_BYTES: f64 = 256.0;
/// The longest body that a web server makes itself for a redirect or an error.
const SERVERS_OWN_BYTES: u64 = 1024;

/// How `one` differs from `reference`; empty: it does not.
pub(super) fn differences(reference: &[PageRecord], one: &[PageRecord]) -> Vec<Mismatch> {
    let pairs = reference.iter().zip(one);
    // Requests without an answer are left out: the load itself shows those failures.
    let answered = pairs.filter(|(a, b)| a.status != 0 && b.status != 0);
    let mut found: Vec<Mismatch> = answered.filter_map(|(a, b)| difference(a, b)).collect();
    let more = found.len().saturating_sub(SHOWN);
    found.truncate(SHOWN);
    if more > 0 {
        found.push(Mismatch::MorePages { pages: more as u32 });
    }
    found
}

/// Whether both runtimes answered the same requests alike.
pub fn agree(reference: &[PageRecord], one: &[PageRecord]) -> bool {
    reference.len() == one.len() && differences(reference, one).is_empty()
}

fn difference(reference: &PageRecord, one: &PageRecord) -> Option<Mismatch> {
    // The path to which a redirect led may have a session or a time in its query.
    let without_query = |path: &str| path.split('?').next().unwrap_or_default().to_owned();
    if without_query(&reference.path) != without_query(&one.path) {
        let (path, reference) = (one.path.clone(), reference.path.clone());
        return Some(Mismatch::Path { path, reference });
    }
    let has_same_title =
        reference.title == one.title || reference.title_changes || one.title_changes;
    let has_same_body =
        has_same_title && has_same_length(reference, one) && has_same_text(reference, one);
    let is_same = reference.status == one.status
        && has_same_location(reference, one)
        && (has_same_body || (may_be_servers_own(reference) && may_be_servers_own(one)));
    let boxed = |page: &PageRecord| Box::new(page.clone());
    (!is_same).then(|| Mismatch::Page {
        page: boxed(one),
        reference: boxed(reference),
        lines: match reference.changes || one.changes {
            true => constant::differing(&reference.text, &one.text),
            false => lines::differing(&reference.text, &one.text),
        },
    })
}

/// Compares the targets of redirects. A target that changes may have a session or a time in its
/// query.
fn has_same_location(reference: &PageRecord, one: &PageRecord) -> bool {
    let changes = reference.changes || one.changes;
    let of = |page: &PageRecord| {
        let location = page.location.clone().unwrap_or_default();
        let length = location.find('?').filter(|_| changes).unwrap_or(location.len());
        location[..length].to_owned()
    };
    of(reference) == of(one)
}

/// Compares the texts of pages. Of those that change by themselves, the lines that stay the same.
fn has_same_text(reference: &PageRecord, one: &PageRecord) -> bool {
    let are_known = !reference.text_sha256.is_empty() && !one.text_sha256.is_empty();
    if !are_known || reference.text_sha256 == one.text_sha256 {
        return true;
    }
    // Of a page that changes, or may change, the text must say what does.
    let is_told = |page: &PageRecord| {
        !page.text.is_empty() && (!page.changes || constant::is_known(&page.text))
    };
    match reference.changes || one.changes {
        false => false,
        true if is_told(reference) && is_told(one) => {
            constant::differing(&reference.text, &one.text).is_empty()
        }
        true => true,
    }
}

/// Whether the body may be the web server's: each one has words of its own for the same status.
fn may_be_servers_own(page: &PageRecord) -> bool {
    page.status >= 300 && page.bytes <= SERVERS_OWN_BYTES
}

fn is_empty(page: &PageRecord) -> bool {
    page.bytes == 0
}

fn has_same_length(reference: &PageRecord, one: &PageRecord) -> bool {
    let (a, b) = (reference.bytes as f64, one.bytes as f64);
    let (share, bytes) = match reference.changes || one.changes {
        true => (CHANGING_SHARE, CHANGING_BYTES),
        false => (SHARE, BYTES),
    };
    is_empty(reference) == is_empty(one) && (a - b).abs() <= (a.max(b) * share).max(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(status: u16, title: &str, bytes: u64) -> PageRecord {
        let (path, title) = ("/x".to_owned(), title.to_owned());
        PageRecord { path, status, title, bytes, ..PageRecord::default() }
    }

    fn between(a: &PageRecord, b: &PageRecord) -> String {
        let found = differences(std::slice::from_ref(a), std::slice::from_ref(b));
        found.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn equal_pages_do_not_differ() {
        let a = page(200, "Shop", 10_000);
        assert_eq!(between(&a, &a.clone()), "");
        assert_eq!(between(&a, &page(200, "Shop", 10_090)), "", "a server's name");
        assert_eq!(differences(&[], &[a]), [], "a result of an earlier version");
    }

    #[test]
    fn what_differs_is_shown() {
        let a = page(200, "front", 5);
        insta::assert_snapshot!(between(&a, &page(200, "admin", 5)), @"`/x` gives 200, 5 B, `admin` instead of 200, 5 B, `front`");
        insta::assert_snapshot!(between(&a, &page(404, "front", 5)), @"`/x` gives 404, 5 B, `front` instead of 200, 5 B, `front`");
        insta::assert_snapshot!(between(&a, &page(200, "front", 250_000)), @"`/x` gives 200, 244 KiB, `front` instead of 200, 5 B, `front`");
        insta::assert_snapshot!(between(&a, &page(200, "", 0)), @"`/x` gives 200, an empty body instead of 200, 5 B, `front`");
        let redirect = PageRecord { location: Some("/login".into()), ..page(302, "", 0) };
        insta::assert_snapshot!(between(&a, &redirect), @"`/x` gives 302 to `/login` instead of 200, 5 B, `front`");
        let other = PageRecord { location: Some("/".into()), ..redirect.clone() };
        insta::assert_snapshot!(between(&redirect, &other), @"`/x` gives 302 to `/` instead of 302 to `/login`");
    }

    /// `Users online: 3` and `Users online: 4` are equally long.
    #[test]
    fn another_text_of_the_same_length_differs_unless_it_changes_by_itself() {
        let of = |text: &str, changes| PageRecord {
            text_sha256: text.into(),
            changes,
            ..page(200, "Shop", 900)
        };
        insta::assert_snapshot!(between(&of("a", false), &of("b", false)), @"`/x` gives another answer than on the other runtimes: 200, 900 B, `Shop` in both");
        assert_eq!(between(&of("a", false), &of("a", false)), "");
        assert_eq!(between(&of("a", false), &of("b", true)), "");
        assert_eq!(between(&of("a", false), &of("", false)), "", "an earlier version wrote it");
    }

    /// A random token masks itself, not the page.
    #[test]
    fn of_a_page_that_changes_the_lines_that_stay_are_compared() {
        let of = |name: &str| {
            let answer = |token: &str| format!("200\n\n<h1>{name}</h1>\n<p>token {token}</p>");
            let text = constant::constant_lines(&answer("a1"), &[answer("b2"), answer("c3")]);
            PageRecord { text_sha256: name.into(), changes: true, text, ..page(200, "Shop", 4_000) }
        };
        assert_eq!(between(&of("Cart"), &PageRecord { text_sha256: "x".into(), ..of("Cart") }), "");
        insta::assert_snapshot!(between(&of("Cart"), &of("Setup")), @r"
        `/x` gives another answer than on the other runtimes: 200, 3.91 KiB, `Shop` in both
        - <h1>Cart</h1>
        + <h1>Setup</h1>
        ");
        let not_asked_again = PageRecord { text: "200\n\n<h1>Setup</h1>".into(), ..of("Setup") };
        assert_eq!(between(&of("Cart"), &not_asked_again), "", "what changes is not known");
        let not_kept = PageRecord { text: String::new(), ..of("Setup") };
        assert_eq!(between(&of("Cart"), &not_kept), "");
    }

    #[test]
    fn what_changes_by_itself_may_have_another_first_line_and_about_the_same_length() {
        let changing = |title: &str, bytes| PageRecord {
            changes: true,
            title_changes: true,
            ..page(200, title, bytes)
        };
        assert_eq!(between(&changing("a1", 4_000), &changing("b2", 4_100)), "");
        assert_ne!(between(&changing("a1", 26), &changing("b2", 65_000)), "");
        assert_ne!(between(&changing("a1", 26), &changing("", 0)), "");
        let token = |title: &str| PageRecord { changes: true, ..page(200, title, 4_000) };
        assert_ne!(between(&token("Shop"), &token("Installer")), "");
    }

    /// nginx and Apache have error pages of their own; an app's error page has the app's work in it.
    #[test]
    fn short_errors_of_the_same_status_are_alike() {
        let short = page(404, "404 Not Found", 146);
        assert_eq!(between(&short, &page(404, "Not Found", 236)), "");
        assert_eq!(between(&page(403, "", 0), &page(403, "Forbidden", 199)), "");
        assert_ne!(between(&short, &page(403, "403 Forbidden", 146)), "");
        assert_ne!(between(&short, &page(404, "Nothing here - Shop", 48_000)), "");
        let redirect = |to: &str, bytes| PageRecord {
            location: Some(to.into()),
            ..page(301, "Moved Permanently", bytes)
        };
        assert_eq!(between(&redirect("/a/", 162), &redirect("/a/", 312)), "");
        assert_ne!(between(&redirect("/a/", 162), &redirect("/b/", 162)), "");
    }

    #[test]
    fn many_differences_are_counted() {
        let pages = |title: &str| vec![page(200, title, 5); 6];
        let found = differences(&pages("a"), &pages("b"));
        assert_eq!((found.len(), &found[3]), (4, &Mismatch::MorePages { pages: 3 }));
    }
}
