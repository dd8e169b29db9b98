//! Decides which requests are not sent: those that may destroy something or end the session.

use regex::Regex;
use stampede_model::fact::NotSent;
use stampede_model::segments::{decoded, words};

use super::RequestError;
use super::words::{is_routing, pairs, parts};
use crate::model::{CheckRequest, SkippedRequest};

/// Methods that are sent by default: RFC 9110 section 9.2.1 calls them safe.
pub const METHODS: &str = "GET,HEAD";

/// The rules for requests that may be sent.
#[derive(Clone, Debug)]
pub struct Policy {
    methods: Vec<String>,
    skip: Vec<Pattern>,
}

/// A pattern from the user.
#[derive(Clone, Debug)]
struct Pattern {
    written: String,
    regex: Regex,
}

impl Policy {
    /// Parses methods with commas between them, as in [`METHODS`], and patterns of targets to skip.
    /// In a pattern, `*` matches anything; a pattern that begins with neither `/` nor `*` matches
    /// anywhere.
    ///
    /// # Errors
    /// A word is no method, or a pattern is empty.
    pub fn new(methods: &str, more_skips: &[String]) -> Result<Policy, RequestError> {
        let upper = methods.split(',').map(|method| method.trim().to_ascii_uppercase());
        let upper: Vec<String> = upper.collect();
        let is_method =
            |word: &String| !word.is_empty() && word.bytes().all(|b| b.is_ascii_uppercase());
        if !upper.iter().all(is_method) {
            return Err(RequestError::Methods(methods.to_owned()));
        }
        let skip =
            more_skips.iter().map(|written| Pattern::new(written)).collect::<Result<_, _>>()?;
        Ok(Policy { methods: upper, skip })
    }

    /// Returns why a request is not sent; `None` if it is sent.
    pub fn reason_to_skip(&self, request: &CheckRequest) -> Option<NotSent> {
        if !self.methods.contains(&request.method) {
            return Some(NotSent::Method { methods: self.methods.clone() });
        }
        if let Some(pattern) = self.skip.iter().find(|pattern| pattern.fits(&request.target)) {
            return Some(NotSent::SkipPattern { pattern: pattern.written.clone() });
        }
        let (path, query) = parts(&request.target);
        let word = path.split('/').find_map(|segment| danger(&decoded(segment)));
        if let Some(word) = word {
            return Some(NotSent::DangerousPath { word });
        }
        let pair = pairs(query).find_map(|(key, value)| danger_in_pair(&key, &value));
        pair.map(|part| NotSent::DangerousQuery { part })
    }

    /// Returns the requests that are sent, and the others with their reasons.
    pub fn partition(&self, all: Vec<CheckRequest>) -> (Vec<CheckRequest>, Vec<SkippedRequest>) {
        let (mut sent, mut skipped) = (Vec::new(), Vec::new());
        for request in all {
            match self.reason_to_skip(&request) {
                None => sent.push(request),
                Some(why) => skipped
                    .push(SkippedRequest { request: method_and_target(&request), why: why.into() }),
            }
        }
        (sent, skipped)
    }
}

/// Returns method and target, as in the list of skipped requests.
pub(super) fn method_and_target(request: &CheckRequest) -> String {
    format!("{} {}", request.method, request.target)
}

impl Pattern {
    fn new(written: &str) -> Result<Pattern, RequestError> {
        let pattern = written.trim();
        if pattern.is_empty() {
            return Err(RequestError::Pattern);
        }
        let escaped = regex::escape(pattern).replace(r"\*", ".*");
        let regex = match pattern.starts_with(['/', '*']) {
            true => format!("(?s)^(?:{escaped})$"),
            false => format!("(?s){escaped}"),
        };
        let regex = Regex::new(&regex).map_err(|_| RequestError::Pattern)?;
        Ok(Pattern { written: written.to_owned(), regex })
    }

    /// Returns whether the pattern matches the target, with or without its query.
    fn fits(&self, target: &str) -> bool {
        self.regex.is_match(target) || self.regex.is_match(parts(target).0)
    }
}

/// Returns the dangerous part of a query, like a dangerous word in a path.
fn danger_in_pair(key: &str, value: &str) -> Option<String> {
    if let Some(word) = danger(key) {
        return Some(word);
    }
    let word = value.split('/').find_map(danger).filter(|_| is_routing(key))?;
    Some(format!("{key}={word}"))
}

/// Returns the dangerous word in a segment, if any.
fn danger(segment: &str) -> Option<String> {
    let words = words(segment);
    let alone = words.iter().find(|word| WORDS.contains(&word.as_str())).cloned();
    // `log-out` and `logOut` count as `logout`.
    alone.or_else(|| {
        let joined = words.windows(2).map(|pair| pair.concat());
        joined.into_iter().find(|word| JOINED.contains(&word.as_str()))
    })
}

/// Words that destroy something, or end what later requests need.
const WORDS: [&str; 26] = [
    "cancel",
    "clear",
    "deactivate",
    "del",
    "delete",
    "destroy",
    "drop",
    "erase",
    "flush",
    "logoff",
    "logout",
    "purge",
    "remove",
    "reset",
    "revoke",
    "shutdown",
    "signoff",
    "signout",
    "terminate",
    "trash",
    "truncate",
    "uninstall",
    "unlink",
    "unregister",
    "unsubscribe",
    "wipe",
];
/// Those of them that are also written as two words.
const JOINED: [&str; 6] = ["logoff", "logout", "shutdown", "signoff", "signout", "unsubscribe"];

#[cfg(test)]
mod tests {
    use super::*;

    fn request(method: &str, target: &str) -> CheckRequest {
        CheckRequest { method: method.into(), target: target.into(), ..CheckRequest::default() }
    }

    fn judged(policy: &Policy, method: &str, target: &str) -> String {
        policy.reason_to_skip(&request(method, target)).map_or("sent".into(), |why| why.to_string())
    }

    #[test]
    fn requests_that_log_out_or_delete_are_not_sent() {
        let policy = Policy::new(METHODS, &[]).unwrap();
        let cases = [
            ("/", "sent"),
            ("/deleted-scenes", "sent"),
            ("/dropdown", "sent"),
            ("/presets", "sent"),
            ("/search?q=how+to+delete&sort=reset", "sent"),
            ("/blog?title_id=7", "sent"),
            ("/logout", "`logout` in its path"),
            ("/account/Log-Out", "`logout` in its path"),
            ("/signOut.php", "`signout` in its path"),
            ("/user/7/delete", "`delete` in its path"),
            ("/deleteUser?id=7", "`delete` in its path"),
            ("/user/7/%64elete", "`delete` in its path"),
            ("/DELETE/7", "`delete` in its path"),
            ("/newsletter/unsubscribe/{user}", "`unsubscribe` in its path"),
            ("/wp-login.php?action=logout&_wpnonce=1", "`action=logout` in its query"),
            ("/index.php?route=account/logout", "`route=logout` in its query"),
            ("/x.php?a=1&delete=7", "`delete` in its query"),
            ("/x.php?logout", "`logout` in its query"),
            ("/x.php?_method=DELETE", "`_method=delete` in its query"),
        ];
        for (target, expected) in cases {
            assert_eq!(judged(&policy, "GET", target), expected, "{target}");
        }
    }

    #[test]
    fn only_safe_methods_are_sent_by_default() {
        let policy = Policy::new(METHODS, &[]).unwrap();
        assert_eq!(judged(&policy, "HEAD", "/"), "sent");
        assert_eq!(judged(&policy, "POST", "/"), "only GET, HEAD are sent");
        let policy = Policy::new(" get, post ", &[]).unwrap();
        assert_eq!(judged(&policy, "POST", "/"), "sent");
        assert_eq!(judged(&policy, "HEAD", "/"), "only GET, POST are sent");
        assert_eq!(judged(&policy, "POST", "/cart/clear"), "`clear` in its path");
    }

    #[test]
    fn patterns_of_the_user_are_skipped_too() {
        let patterns = ["/admin*", "/cart?add=*", "/exact", "report", "*.pdf"].map(String::from);
        let policy = Policy::new(METHODS, &patterns).unwrap();
        let cases = [
            ("/", "sent"),
            ("/admin", "matches `--skip /admin*`"),
            ("/admin/users?page=2", "matches `--skip /admin*`"),
            ("/cart", "sent"),
            ("/cart?add=7", "matches `--skip /cart?add=*`"),
            ("/exact?x", "matches `--skip /exact`"),
            ("/exactly", "sent"),
            ("/a/report.json", "matches `--skip report`"),
            ("/a.pdf?x=1", "matches `--skip *.pdf`"),
            ("/apdf", "sent"),
        ];
        for (target, expected) in cases {
            assert_eq!(judged(&policy, "GET", target), expected, "{target}");
        }
    }

    #[test]
    fn skipped_requests_are_listed_with_their_reasons() {
        let policy = Policy::new(METHODS, &[]).unwrap();
        let all = vec![request("GET", "/"), request("POST", "/"), request("GET", "/logout")];
        let (sent, skipped) = policy.partition(all);
        assert_eq!(sent, [request("GET", "/")]);
        let lines: Vec<String> = skipped
            .iter()
            .map(|skipped| format!("{}: {}", skipped.request, skipped.why.sentence()))
            .collect();
        assert_eq!(lines, ["POST /: only GET, HEAD are sent", "GET /logout: `logout` in its path"]);
    }
}
