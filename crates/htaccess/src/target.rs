//! Reads where a rule leads.

use crate::rule::{Part, Target};

/// The characters of a target that no configuration takes for its own.
fn is_safe(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-./~,+:@=&".contains(&byte)
}

/// Where a rule leads.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// Nowhere: `-`.
    Nowhere,
    /// To this place.
    To(Target),
    /// Back to the same address, written in another way.
    Back,
    /// To another scheme or host.
    Elsewhere,
    /// It is not understood.
    Unknown,
}

/// Reads a target. `base` is what a relative path follows (`/sub/`), `groups` the number of groups
/// that the pattern has.
pub(crate) fn read(text: &str, base: &str, groups: u8, (appends, drops): (bool, bool)) -> Read {
    if text == "-" {
        return Read::Nowhere;
    }
    if text.starts_with("%1") {
        return Read::Back;
    }
    let own = text.strip_prefix("%{ENV:").and_then(|rest| Some(rest.split_once('}')?.1));
    let is_own = own.is_some();
    if own.is_some_and(|own| own.starts_with("/$")) {
        return Read::Back;
    }
    let text = own.map(|own| own.trim_start_matches('/')).unwrap_or(text);
    if text
        .split_once("://")
        .is_some_and(|(scheme, _)| scheme.bytes().all(|one| one.is_ascii_alphabetic()))
    {
        return Read::Elsewhere;
    }
    let (path, query) = match text.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (text, None),
    };
    let path = match path
        .strip_prefix("%{REQUEST_FILENAME}")
        .or_else(|| path.strip_prefix("%{REQUEST_URI}"))
    {
        Some(rest) => parts(rest, groups).map(|mut rest| {
            rest.insert(0, Part::Path);
            rest
        }),
        None if path.starts_with('/') && !is_own => parts(path, groups),
        None => parts(&format!("{base}{path}"), groups),
    };
    let own_query = query.and_then(|query| query.strip_suffix("%{QUERY_STRING}"));
    let appends = appends || own_query.is_some();
    let query = own_query.map(|query| query.trim_end_matches('&')).or(query);
    let query = match query {
        Some(query) => parts(query, groups).map(Some),
        None => Some(drops.then(Vec::new)),
    };
    match (path, query) {
        (Some(path), Some(query)) => {
            // An empty query of a rule that appends is the request's own.
            let query = query.filter(|query| !(query.is_empty() && appends));
            Read::To(Target { path, query, appends })
        }
        _ => Read::Unknown,
    }
}

fn parts(text: &str, groups: u8) -> Option<Vec<Part>> {
    let (mut parts, mut plain) = (Vec::new(), String::new());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'$' {
            plain.push(Some(byte).filter(|byte| is_safe(*byte))?.into());
            continue;
        }
        let digit = bytes.next().filter(u8::is_ascii_digit)? - b'0';
        // `$0` is the whole match, which not each server has.
        if digit == 0 || digit > groups {
            return None;
        }
        if !plain.is_empty() {
            parts.push(Part::Text(std::mem::take(&mut plain)));
        }
        parts.push(Part::Group(digit));
    }
    if !plain.is_empty() {
        parts.push(Part::Text(plain));
    }
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match read(text, "/sub/", 2, (false, false)) {
            Read::To(target) => {
                let (path, query) = target.text(|group| format!("<{group}>"), "<path>");
                format!("{path} {} {}", query.as_deref().unwrap_or("-"), target.appends)
            }
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn targets_are_read() {
        assert_eq!(shown("index.php?page=$1"), "/sub/index.php page=<1> false");
        assert_eq!(shown("/a.php?x=$2&%{QUERY_STRING}"), "/a.php x=<2> true");
        assert_eq!(shown("%{REQUEST_FILENAME}.php"), "<path>.php - false");
        assert_eq!(shown("%{ENV:BASE}/index.php"), "/sub/index.php - false");
        assert_eq!(shown("https://%{HTTP_HOST}/"), "Elsewhere");
        assert_eq!(shown("%1"), "Back");
        for hostile in
            ["a b", "a\"b", "a;b", "{env.X}", "$x", "$3", "%{ENV:X}a{", "a'", "a\\b", "é", "a%0Ab"]
        {
            assert_eq!(shown(hostile), "Unknown", "{hostile}");
        }
    }
}
