//! Makes the shown pages and data: the list, one run, several runs combined.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use schemars::JsonSchema;
use serde::Serialize;

use stampede_history::RowsOverRuns;
use stampede_results::history::{self, Entry};
use stampede_results::report::LoadedRuns;
use stampede_results::report::page::model::ServerLinks;
use stampede_results::report::page::{self, Page};
use stampede_results::store::{self, RunState, StoreError};

/// A results directory, and the token that gives access to it.
#[derive(Debug)]
pub struct Site {
    results: PathBuf,
    token: String,
    /// The cookie's name. Browsers keep the cookies of all ports together, so it has the port.
    cookie: String,
}

/// The list of runs, in the form that the page reads.
#[derive(Debug, Serialize, JsonSchema)]
pub struct List {
    /// The format's version, as of a report.
    format: u32,
    /// The version of stampede that serves the list.
    stampede: &'static str,
    /// The newest run first.
    history: Vec<LinkedRun>,
    /// The directory that holds the runs.
    results: String,
    /// Where the server has the list and more.
    served: ListAddresses,
}

/// A run, and the address of its page.
#[derive(Debug, Serialize, JsonSchema)]
struct LinkedRun {
    #[serde(flatten)]
    entry: Entry,
    /// Path and query of the run's page. Empty: it has none, since its directory is a link.
    page: String,
}

/// Each row over the runs, in the form that the page reads.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OverRuns {
    /// The format's version, as of a report.
    format: u32,
    /// The version of stampede that serves the page.
    stampede: &'static str,
    /// The directory that holds the runs.
    results: String,
    /// The rows that several runs have.
    #[serde(flatten)]
    rows: RowsOverRuns,
    /// Maps the name of each run to path and query of its page.
    pages: BTreeMap<String, String>,
    /// Number of runs that are older than those that were read.
    older: usize,
    /// Where the server has the list.
    served: ServerLinks,
}

/// Addresses on the server that sent the list.
#[derive(Debug, Serialize, JsonSchema)]
struct ListAddresses {
    /// The list itself.
    home: String,
    /// Server-sent events.
    events: String,
    /// The page of several runs, to which the names of the runs are appended.
    over: String,
    /// The page of each row over the runs.
    rows: String,
}

impl Site {
    /// A site with a new token, at this port.
    pub fn new(results: PathBuf, port: u16) -> Site {
        let token = stampede_linux::fresh::token();
        Site { results, token, cookie: format!("stampede_{port}") }
    }

    /// Whether this is the right token. The time of the comparison reveals nothing about the token.
    pub fn accepts(&self, token: &str) -> bool {
        let pairs = self.token.bytes().zip(token.bytes());
        let differ = pairs.fold(0, |differ, (ours, theirs)| differ | (ours ^ theirs));
        token.len() == self.token.len() && differ == 0
    }

    /// Whether a `Cookie` header has the right token.
    pub fn knows(&self, cookies: &str) -> bool {
        let pairs = cookies.split(';').filter_map(|pair| pair.trim().split_once('='));
        pairs.filter(|(name, _)| *name == self.cookie).any(|(_, token)| self.accepts(token))
    }

    /// The cookie with the token, as `Set-Cookie` has it. No script reads it, no other site's page
    /// sends it, and it is gone when the browser is closed.
    pub fn cookie(&self) -> String {
        format!("{}={}; Path=/; HttpOnly; SameSite=Lax", self.cookie, self.token)
    }

    /// The directory of results.
    pub fn results(&self) -> &Path {
        &self.results
    }

    /// Path and query of the list's page, with the token.
    pub fn entrance(&self) -> String {
        place("/", &[("token", &self.token)])
    }

    /// The list as JSON.
    pub fn list(&self) -> String {
        serde_json::to_string(&self.list_data()).expect("strings and numbers")
    }

    /// The list as a page.
    pub fn list_page(&self) -> String {
        page::served_html(&self.list_data())
    }

    fn list_data(&self) -> List {
        let linked = |entry: Entry| {
            let has_page = self.directory(&entry.name).is_ok();
            let page = place("/run", &[("name", &entry.name)]);
            LinkedRun { page: if has_page { page } else { String::new() }, entry }
        };
        List {
            format: page::model::FORMAT,
            stampede: env!("CARGO_PKG_VERSION"),
            history: history::of(&self.results).into_iter().map(linked).collect(),
            results: self.results.display().to_string(),
            served: ListAddresses {
                home: HOME.to_owned(),
                events: "/events".to_owned(),
                over: "/over?".to_owned(),
                rows: "/rows".to_owned(),
            },
        }
    }

    /// The page of each row over the newest runs. Every run is read as a whole, so this may take some
    /// seconds.
    pub fn rows_page(&self) -> String {
        let (history, _) = stampede_history::read(&self.results, RUNS_MAX);
        let page = |name: &str| place("/run", &[("name", name)]);
        let names = history.runs.iter().map(|run| run.entry.name.as_str());
        page::served_html(&OverRuns {
            format: page::model::FORMAT,
            stampede: env!("CARGO_PKG_VERSION"),
            results: self.results.display().to_string(),
            rows: stampede_history::rows(&history),
            pages: names.map(|name| (name.to_owned(), page(name))).collect(),
            older: history::of(&self.results).len().saturating_sub(RUNS_MAX),
            served: ServerLinks { home: HOME.to_owned(), events: None },
        })
    }

    /// Returns the directory of a listed run. The name cannot be a path, and the directory no link: it
    /// could lead out of the results.
    ///
    /// # Errors
    /// [`StoreError::NoRun`].
    pub fn directory(&self, name: &str) -> Result<PathBuf, StoreError> {
        let mut parts = Path::new(name).components();
        let is_name = matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None));
        let directory = self.results.join(name);
        if is_name && !directory.is_symlink() && directory.join("run.json").is_file() {
            return Ok(directory);
        }
        Err(store::no_run(&self.results, name))
    }

    /// Reads what is shown of listed runs.
    ///
    /// # Errors
    /// As [`LoadedRuns::read`].
    pub fn shown(&self, names: &[String]) -> Result<LoadedRuns, StoreError> {
        let directory = |name: &String| Ok(self.directory(name)?.display().to_string());
        let directories: Vec<String> =
            names.iter().map(directory).collect::<Result<_, StoreError>>()?;
        LoadedRuns::read(&self.results, &directories)
    }

    /// Returns the page of a run.
    ///
    /// # Errors
    /// The run does not exist or cannot be read.
    pub fn run_page(&self, name: &str) -> Result<String, StoreError> {
        let shown = self.shown(&[name.to_owned()])?;
        Ok(page::served_html(&self.run_data(name, &shown)?))
    }

    /// Returns the data of a run's page.
    ///
    /// # Errors
    /// A trial's seconds cannot be read.
    pub fn run_data(&self, name: &str, shown: &LoadedRuns) -> Result<Page, StoreError> {
        let stored = shown.stored();
        let ended = stored.trials.len().to_string();
        let live = stored.state == RunState::UnderWay;
        let events = live.then(|| place("/run/events", &[("name", name), ("ended", &ended)]));
        let served = Some(ServerLinks { home: HOME.to_owned(), events });
        Ok(Page { served, ..shown.page()? })
    }

    /// Returns the page of several runs combined.
    ///
    /// # Errors
    /// As [`Site::run_page`], and those of [`LoadedRuns::read`].
    pub fn overlay_page(&self, names: &[String]) -> Result<String, StoreError> {
        let page = self.shown(names)?.page()?;
        let served = Some(ServerLinks { home: HOME.to_owned(), events: None });
        Ok(page::served_html(&Page { served, ..page }))
    }
}

/// Most runs whose rows are drawn: as many as changes are looked for in.
const RUNS_MAX: usize = 100;

/// Path and query of the list's page.
const HOME: &str = "/";

/// A path with a query, if there are any pairs.
pub fn place(path: &str, pairs: &[(&str, &str)]) -> String {
    if pairs.is_empty() {
        return path.to_owned();
    }
    let mut query = form_urlencoded::Serializer::new(String::new());
    format!("{path}?{}", query.extend_pairs(pairs).finish())
}
