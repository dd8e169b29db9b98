//! Logs in before the load, and says when sessions kept requests waiting.

use std::path::Path;

use stampede_login::{LoginError, check_sessions, log_in, still_leads_to_login};
use stampede_model::fact::Server;
use stampede_model::load::Model;
use stampede_model::sample::ResourceSample;
use stampede_plan::model::RequestSpec;
use stampede_stack::{Accepts, App, CookieJar, PageRequest, Stack};

use super::NotMeasured;

/// The page that shows that the server is up: the page of the login, if there is one. The others
/// may be refused to who has not logged in.
pub fn page_before_login(app: &App, page: PageRequest) -> PageRequest {
    match &app.manifest.settings.login {
        Some(login) if login.path.starts_with('/') => {
            PageRequest { path: Some(login.path.clone()), accepts: Accepts::Any, ..page }
        }
        _ => page,
    }
}

/// Logs in, and lets the stack ask for `page` as the first session does. Returns the sessions;
/// none: nobody is to log in.
///
/// # Errors
/// Nobody can log in, or the page is not answered.
pub fn begin(
    app: &App,
    measured: &mut dyn Stack,
    page: PageRequest,
) -> Result<Vec<CookieJar>, NotMeasured> {
    let settings = &app.manifest.settings;
    let Some(login) = &settings.login else {
        return match settings.sessions {
            Some(_) => Err(LoginError::NoLogin {}.into()),
            None => Ok(Vec::new()),
        };
    };
    let number = settings.sessions.unwrap_or(1);
    let sessions = log_in(&*measured, app, login, number, &page)?;
    check_sessions(&*measured, &sessions, &page)?;
    let headers = sessions[0].with_cookies(&page.headers);
    measured.use_page(PageRequest { headers, ..page })?;
    match measured.page_result().and_then(|page| still_leads_to_login(login, page)) {
        Some(refused) => Err(refused.into()),
        None => Ok(sessions),
    }
}

/// The requests as the first session sends them.
pub(super) fn of_first(sessions: &[CookieJar], requests: Vec<RequestSpec>) -> Vec<RequestSpec> {
    match sessions.first() {
        None => requests,
        Some(session) => requests.into_iter().map(|request| of(session, request)).collect(),
    }
}

/// A request as a session sends it.
pub(super) fn of(session: &CookieJar, request: RequestSpec) -> RequestSpec {
    RequestSpec { headers: session.with_cookies(&request.headers), ..request }
}

/// The note that requests waited for the lock of their session; `None`: hardly any did.
pub(super) fn lock_waits(resources: &[ResourceSample]) -> Option<Server> {
    let waits = || resources.iter().flat_map(|sample| &sample.session_waits);
    let waiting = waits().filter(|count| **count > 0).count() as u64;
    // A reading without waiters has no list. As many looks are counted for it as for the others.
    let readings = resources.iter().filter(|sample| !sample.session_waits.is_empty()).count();
    let each = waits().count().checked_div(readings)?;
    let looks = (each * resources.len()) as u64;
    let requests_max = u64::from(waits().copied().max()?);
    let is_often = waiting as f64 >= SHARE_MIN * looks as f64;
    is_often.then_some(Server::SessionLock { looks, waiting, requests_max })
}

/// The note that nobody sees whether requests wait for their session: those who logged in have no
/// file below the stack's directory; `None`: they have, or as many sessions as requests at a time
/// leave nothing to wait for.
pub(super) fn unseen(sessions: &[CookieJar], load: &Model, measured: &dyn Stack) -> Option<Server> {
    let enough = match load {
        Model::Closed { concurrency, .. } => sessions.len() as u64 >= u64::from(*concurrency),
        Model::Open { .. } => false,
    };
    let directory = measured.directory().filter(|_| !enough)?;
    let first = sessions.first()?;
    (!has_file_of(directory, first)).then_some(Server::SessionsUnseen {})
}

/// Whether a file below `directory` has a name that ends in the value of one of the cookies, as
/// PHP's own handler and most others name it.
fn has_file_of(directory: &Path, session: &CookieJar) -> bool {
    let mut left = FILES_MAX;
    let mut directories = vec![directory.to_path_buf()];
    while let Some(directory) = directories.pop() {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            left -= 1;
            if left == 0 {
                return true;
            }
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                directories.push(entry.path());
            } else if session.values().any(|value| is_id(value) && name.ends_with(value)) {
                return true;
            }
        }
    }
    false
}

/// Whether the value of a cookie may be a session's id, and not a language.
fn is_id(value: &str) -> bool {
    value.len() >= ID_MIN
}

/// The fewest characters of a session's id: PHP's `session.sid_length` is at least 22.
const ID_MIN: usize = 16;
/// The most files that are looked at. Beyond, nothing is said.
const FILES_MAX: usize = 100_000;
/// The least share of looks with waiting requests that is worth a note.
const SHARE_MIN: f64 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_a_session_is_worth_a_note_if_it_is_often_seen() {
        let reading = |waits: &[u32]| ResourceSample {
            session_waits: waits.to_vec(),
            ..ResourceSample::default()
        };
        let none = || reading(&[]);
        assert_eq!(lock_waits(&[]), None);
        assert_eq!(lock_waits(&[none(), none()]), None);
        let noted = lock_waits(&[reading(&[0, 3, 1, 0, 0]), none()]);
        assert_eq!(noted, Some(Server::SessionLock { looks: 10, waiting: 2, requests_max: 3 }));
        let mut seldom = vec![reading(&[0, 1, 0, 0, 0])];
        seldom.resize_with(5, none);
        assert_eq!(lock_waits(&seldom), None);
    }
}
