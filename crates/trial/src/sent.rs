//! Describes what a case sends to which app, for the case's record. Two runs whose cases differ in
//! it measure different things, whatever the names of their loads.

use stampede_mask::mask_secrets;
use stampede_model::record::{SentRecord, Spread};
use stampede_model::words;
use stampede_plan::model::{LoadChoice, RequestSpec};
use stampede_stack::{App, sha256};

use super::traffic;

/// The record of what a load sends to an app.
pub(super) fn sent(load: &LoadChoice, app: &App) -> SentRecord {
    let own = traffic::own_request(app);
    let requests = if load.requests.is_empty() { &own[..] } else { &load.requests };
    SentRecord {
        app_kind: app.manifest.kind.name().to_owned(),
        requests: describe_requests(requests) + &logged_in(app),
        arrivals: Spread::of(&load.model),
    }
}

/// As whom the requests are sent: `, 20 sessions of /login`; empty: nobody logs in.
fn logged_in(app: &App) -> String {
    let settings = &app.manifest.settings;
    settings.login.as_ref().map_or(String::new(), |login| {
        let sessions = words::quantity(u64::from(settings.sessions.unwrap_or(1)), "session");
        mask_secrets(&format!(", {sessions} of {}", login.path))
    })
}

/// A list of requests in words: `GET /?ms=10`. What does not fit into such a short text is given by
/// a hash of the whole list.
fn describe_requests(requests: &[RequestSpec]) -> String {
    match requests {
        [RequestSpec { method, path, headers, body, .. }]
            if headers.is_empty() && body.is_empty() =>
        {
            mask_secrets(&format!("{method} {path}"))
        }
        [one @ RequestSpec { method, path, .. }] => {
            let hash = short_hash(std::slice::from_ref(one));
            mask_secrets(&format!("{method} {path}")) + &format!(", headers and body {hash}")
        }
        all => format!("{} requests, {}", words::count(all.len() as u64), short_hash(all)),
    }
}

/// The first 48 bits of a SHA-256: enough to tell two lists apart. The whole hash would not fit
/// twice into a line of a comparison.
fn short_hash(requests: &[RequestSpec]) -> String {
    let mut bytes = Vec::new();
    let mut add = |part: &[u8]| {
        // The length comes first, so that no two different lists have the same bytes.
        bytes.extend((part.len() as u64).to_le_bytes());
        bytes.extend(part);
    };
    for RequestSpec { method, path, headers, body, .. } in requests {
        add(method.as_bytes());
        add(path.as_bytes());
        add(&(headers.len() as u64).to_le_bytes());
        for (name, value) in headers {
            add(name.as_bytes());
            add(value.as_bytes());
        }
        add(body);
    }
    format!("SHA-256 {}…", &sha256(bytes)[..12])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn get(path: &str) -> RequestSpec {
        RequestSpec {
            method: "GET".to_owned(),
            path: path.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
            site: None,
        }
    }

    #[test]
    fn one_request_is_shown_and_a_list_is_hashed_in_its_order() {
        assert_eq!(describe_requests(&[get("/?ms=10")]), "GET /?ms=10");
        let list =
            |paths: &[&str]| describe_requests(&paths.iter().copied().map(get).collect::<Vec<_>>());
        assert!(list(&["/a", "/b"]).starts_with("2 requests, SHA-256 "), "{}", list(&["/a", "/b"]));
        assert_eq!(list(&["/a", "/b"]), list(&["/a", "/b"]));
        assert_ne!(list(&["/a", "/b"]), list(&["/b", "/a"]));
        assert_ne!(list(&["/a", "/b"]), list(&["/ab", "/"]));
    }

    #[test]
    fn a_different_body_or_header_changes_the_hash_and_shows_no_secret() {
        let with = |token: &str, body: &[u8]| {
            let headers = vec![("Authorization".to_owned(), format!("Bearer {token}"))];
            describe_requests(&[RequestSpec { headers, body: body.to_vec(), ..get("/buy") }])
        };
        let said = with("s3cr3t", b"a=1");
        assert!(said.starts_with("GET /buy, headers and body SHA-256 "), "{said}");
        assert!(!said.contains("s3cr3t"));
        assert_ne!(said, with("s3cr3t", b"a=2"));
        assert_ne!(said, with("other", b"a=1"));
    }
}
