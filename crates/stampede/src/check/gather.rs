//! The requests of a check: of a list, or found by following the app's links.

use std::path::PathBuf;

use super::look::name;
use super::model::{Asked, Skipped, Step};
use super::requests::crawl::Crawl;
use super::requests::policy::Policy;
use super::requests::sign_in::wants_login;
use super::requests::{self, RequestError};
use super::stand::{Bench, Seen};
use super::work::skipped;
use crate::interrupt;
use crate::plan::model::RuntimeChoice;
use crate::runtime::{RuntimeError, WatchMode};

/// Where requests come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// Links, from this path on, so many at most.
    Links {
        /// The first page.
        from: String,
        /// Requests at most.
        limit: usize,
    },
}

/// What is sent, and what is not.
#[derive(Debug, Default)]
pub struct Gathered {
    /// Requests, in their order.
    pub requests: Vec<Asked>,
    /// What is not sent, with why.
    pub skipped: Vec<Skipped>,
    /// Those of the requests that fail under the reference already: they may end a worker all the same.
    pub bad: Vec<Skipped>,
    /// Requests that lead to a login.
    pub logins: usize,
    /// Links that lead elsewhere and are not followed.
    pub foreign: usize,
    /// Where nothing is left: what the reference says.
    pub broken: Option<String>,
}

/// Why there are none.
#[derive(Debug, thiserror::Error)]
pub enum GatherError {
    /// The list.
    #[error(transparent)]
    List(#[from] RequestError),
    /// The reference.
    #[error(transparent)]
    Reference(#[from] RuntimeError),
}

/// Asks the reference for each once.
///
/// # Errors
/// The list cannot be read, or the reference does not start.
pub fn gather(
    bench: &Bench,
    reference: &RuntimeChoice,
    source: &Source,
    policy: &Policy,
) -> Result<Gathered, GatherError> {
    let mut gathered = Gathered::default();
    let listed = match source {
        Source::File(path) => Some(requests::read(path)?),
        Source::Links { .. } => None,
    };
    let mut stand = bench.up(reference, WatchMode::Full)?;
    let mut last_bad = None;
    let mut ask = |asked: Asked, gathered: &mut Gathered| -> Option<Seen> {
        if let Some(why) = policy.judge(&asked) {
            gathered.skipped.push(skipped(&asked, why));
            return None;
        }
        let seen = stand.send(&Step { user: 0, request: asked.clone() });
        match bad(&seen) {
            Some(why) => {
                last_bad = Some(format!("{} {why}", name(&asked)));
                gathered.bad.push(skipped(&asked, why));
            }
            None => gathered.logins += usize::from(is_login(&seen)),
        }
        gathered.requests.push(asked);
        Some(seen)
    };
    match (listed, source) {
        (Some(listed), _) => {
            for asked in listed.requests {
                if interrupt::asked() {
                    break;
                }
                ask(asked, &mut gathered);
            }
        }
        (None, Source::Links { from, limit }) => {
            let mut crawl = Crawl::new(from, *limit);
            while let Some(target) = crawl.next() {
                if interrupt::asked() {
                    break;
                }
                let asked =
                    Asked { method: "GET".to_owned(), target: target.clone(), ..Asked::default() };
                let Some(seen) = ask(asked, &mut gathered) else { continue };
                let Ok(answer) = &seen.outcome else { continue };
                let kind = answer.header("content-type").unwrap_or_default();
                crawl.saw(&target, kind, &answer.body);
                if let Some(location) = answer.header("location") {
                    crawl.saw(&target, "text/html", &format!("<a href=\"{location}\"></a>"));
                }
            }
            gathered.foreign = crawl.foreign();
        }
        (None, Source::File(_)) => {}
    }
    if gathered.bad.len() == gathered.requests.len() {
        gathered.broken = Some(format!("{}\n{}", last_bad.unwrap_or_default(), stand.log()));
    }
    stand.stop()?;
    Ok(gathered)
}

/// Why it cannot be compared.
fn bad(seen: &Seen) -> Option<String> {
    match &seen.outcome {
        Err(problem) => Some(format!("gets no answer under PHP-FPM already: {problem}")),
        Ok(answer) if answer.status >= 500 => {
            Some(format!("answers {} under PHP-FPM already: {}", answer.status, answer.gist()))
        }
        Ok(_) => None,
    }
}

fn is_login(seen: &Seen) -> bool {
    seen.outcome.as_ref().is_ok_and(|answer| {
        let header = |name| answer.header(name);
        wants_login(answer.status, header("location"), &answer.body, header("www-authenticate"))
    })
}
