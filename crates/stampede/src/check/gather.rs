//! The requests of a check: of a list, or found by following the app's links.

use std::path::PathBuf;

use super::look::name;
use super::model::{Asked, Skipped, Step};
use super::requests::{self, Crawl, Policy, RequestError, wants_login};
use super::stand::{Bench, Seen, Stand};
use crate::interrupt;
use crate::plan::model::RuntimeChoice;
use crate::runtime::{RuntimeError, WatchMode};

/// Where requests come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A file, and so many of its requests at most.
    File(PathBuf, usize),
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
        Source::File(path, limit) => Some(requests::read(path)?.bounded(*limit)),
        Source::Links { .. } => None,
    };
    let mut stand = bench.up(reference, WatchMode::Full)?;
    match (listed, source) {
        (Some(listed), _) => {
            let (asked, skipped) = policy.part(listed.asked);
            gathered.skipped.extend(listed.skipped.into_iter().chain(skipped));
            for asked in asked.into_iter().take_while(|_| !interrupt::asked()) {
                gathered.ask(&mut stand, asked);
            }
        }
        (None, Source::Links { from, limit }) => {
            let mut crawl = Crawl::new("localhost", from, *limit, policy.clone());
            follow(&mut crawl, &mut stand, &mut gathered);
            gathered.skipped.extend(crawl.skipped());
        }
        (None, Source::File(..)) => {}
    }
    if gathered.bad.len() == gathered.requests.len() {
        let last = gathered.bad.last();
        let why = last.map_or(String::new(), |bad| format!("{} {}", bad.request, bad.why));
        gathered.broken = Some(format!("{why}\n{}", stand.log()));
    }
    stand.stop()?;
    Ok(gathered)
}

/// Page after page, as long as there are links.
fn follow(crawl: &mut Crawl, stand: &mut Stand, gathered: &mut Gathered) {
    while let Some(target) = crawl.next().filter(|_| !interrupt::asked()) {
        let method = "GET".to_owned();
        let seen =
            gathered.ask(stand, Asked { method, target: target.clone(), ..Asked::default() });
        let Ok(answer) = &seen.outcome else { continue };
        let kind = answer.header("content-type").unwrap_or_default();
        crawl.saw(&target, kind, answer.body.as_bytes());
        if let Some(location) = answer.header("location") {
            crawl.link(&target, location);
        }
    }
}

impl Gathered {
    fn ask(&mut self, stand: &mut Stand, asked: Asked) -> Seen {
        let seen = stand.send(&Step { user: 0, request: asked.clone(), with_next: false });
        match bad(&seen) {
            Some(why) => self.bad.push(Skipped { request: name(&asked), why }),
            None => self.logins += usize::from(is_login(&seen)),
        }
        self.requests.push(asked);
        seen
    }
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
        wants_login(
            answer.status,
            header("location"),
            answer.body.as_bytes(),
            header("www-authenticate"),
        )
    })
}
