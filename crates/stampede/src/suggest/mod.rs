//! What is compared where nobody said it: the runtimes that are here for an app, and a load.

mod written;

use std::collections::BTreeMap;

use crate::fact::Notice;
use crate::plan::Overrides;
use crate::plan::model::{RuntimeChoice, RuntimeSource};
use crate::runtime::{App, Catalogue, RuntimeError};
use crate::summary::words;

pub use written::written;

/// Runtimes of the catalogue, as far as they are for an app on this machine.
#[derive(Debug, Default)]
pub struct Suggestion {
    /// The usual ones that are here and can serve it; where there is none, all that can.
    pub taken: Vec<Suggested>,
    /// Others that are here and can serve it.
    pub beside: Vec<Suggested>,
    /// Those that cannot serve it, and usual ones that are not here; together where the reason is
    /// the same.
    pub left_out: Vec<LeftOut>,
}

/// A runtime of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suggested {
    /// Its name in plans.
    pub name: String,
    /// Title for people.
    pub title: String,
}

/// Runtimes that are left out for the same reason.
#[derive(Debug)]
pub struct LeftOut {
    /// Which, at least one.
    pub runtimes: Vec<Suggested>,
    /// Why, in words.
    pub why: String,
    todo: Todo,
}

/// What can be done about a runtime that is left out.
#[derive(Debug, PartialEq, Eq)]
enum Todo {
    Nothing,
    /// `stampede install` with their names.
    Install,
    /// This, in words.
    Do(String),
}

/// Why nothing can be suggested.
#[derive(Debug, thiserror::Error)]
pub enum SuggestError {
    /// Something is wrong with the app.
    #[error(transparent)]
    App(RuntimeError),
    /// No runtime that is here can serve it.
    #[error("no runtime that is here can serve app `{app}`{why}")]
    Nothing {
        /// App's name.
        app: String,
        /// Why each cannot, a line each.
        why: String,
    },
}

impl SuggestError {
    /// What to do next, for a line of its own.
    pub fn hint(&self) -> Option<String> {
        match self {
            SuggestError::App(error) => error.hint(),
            SuggestError::Nothing { .. } => {
                Some("`stampede runtimes` says what each needs, and how to get it".to_owned())
            }
        }
    }
}

/// Looks at every runtime of the catalogue. Starts nothing but the programs' own version print.
///
/// # Errors
/// What is wrong with an app for all of them; or that none can serve them.
pub fn suggest(catalogue: &Catalogue, apps: &[App]) -> Result<Suggestion, SuggestError> {
    let mut suggestion = Suggestion::default();
    for name in catalogue.runtime_names() {
        // A wrong directory is said by `stampede runtimes`.
        let Ok(directory) = catalogue.runtime(name) else { continue };
        let (name, title) = (name.to_owned(), directory.manifest.title.clone());
        let choice = alone(&name);
        let error = apps.iter().find_map(|app| catalogue.check(&choice, app).err());
        let runtime = Suggested { name, title };
        match (error, directory.manifest.default) {
            (None, true) => suggestion.taken.push(runtime),
            (None, false) => suggestion.beside.push(runtime),
            // Few machines have all of them, and few people miss one.
            (Some(RuntimeError::Missing { .. }), false) => {}
            (Some(error), _) => {
                let left_out = why(error, &runtime.name)?;
                suggestion.leave_out(runtime, left_out);
            }
        }
    }
    if suggestion.taken.is_empty() {
        suggestion.taken = std::mem::take(&mut suggestion.beside);
    }
    match suggestion.taken.is_empty() {
        false => Ok(suggestion),
        true => Err(SuggestError::Nothing {
            app: apps.first().map_or_else(String::new, |app| app.name.clone()),
            why: suggestion.left_out.iter().map(|left| format!("\n{left}")).collect(),
        }),
    }
}

/// Puts runtimes, and what else no flag says, into the flags. What was chosen, for the reader.
pub fn fill(flags: &mut Overrides, suggestion: &Suggestion) -> Vec<Notice> {
    let names: Vec<&str> = suggestion.taken.iter().map(|one| one.name.as_str()).collect();
    let mut chosen = Vec::new();
    choose(&mut chosen, "runtimes", &mut flags.runtimes, &names.join(","));
    chosen.extend(fill_load(flags));
    let mut notices = vec![Notice::Chosen { flags: chosen }];
    if !suggestion.beside.is_empty() {
        let runtimes = suggestion.beside.iter().map(|one| one.name.clone()).collect();
        notices.push(Notice::AlsoInstalled { runtimes });
    }
    let left_out = |left: &LeftOut| Notice::LeftOut { detail: left.to_string() };
    notices.extend(suggestion.left_out.iter().map(left_out));
    notices
}

/// Puts a load and rounds into the flags where they name neither. What was chosen: flags that say
/// the same.
pub fn fill_load(flags: &mut Overrides) -> Vec<String> {
    let mut chosen = Vec::new();
    if flags.schedule.is_none() {
        if flags.rate.is_none() {
            choose(&mut chosen, "concurrency", &mut flags.concurrency, CONCURRENCY);
        }
        if flags.requests.is_none() {
            choose(&mut chosen, "for", &mut flags.for_, LENGTH);
        }
    }
    choose(&mut chosen, "rounds", &mut flags.rounds, ROUNDS);
    chosen
}

fn choose(chosen: &mut Vec<String>, name: &str, flag: &mut Option<String>, value: &str) {
    if flag.is_none() {
        chosen.push(format!("--{name} {value}"));
        *flag = Some(value.to_owned());
    }
}

/// As many as a runtime has workers where nobody says it: a kept connection fits each, also where
/// it holds its worker.
const CONCURRENCY: &str = "8";
/// Of one trial: some thousand answers of most apps.
const LENGTH: &str = "10s";
/// The fewest that give an interval worth the name.
const ROUNDS: &str = "3";

impl Suggestion {
    fn leave_out(&mut self, runtime: Suggested, (why, todo): (String, Todo)) {
        let same = |left: &&mut LeftOut| left.why == why && left.todo == todo;
        match self.left_out.iter_mut().find(same) {
            Some(left) => left.runtimes.push(runtime),
            None => self.left_out.push(LeftOut { runtimes: vec![runtime], why, todo }),
        }
    }
}

impl LeftOut {
    /// What can be done about it.
    pub fn todo(&self) -> Option<String> {
        let names = || self.runtimes.iter().map(|one| one.name.as_str()).collect::<Vec<_>>();
        match &self.todo {
            Todo::Nothing => None,
            Todo::Install => Some(format!("`stampede install {}`", names().join(","))),
            Todo::Do(what) => Some(what.clone()),
        }
    }
}

impl std::fmt::Display for LeftOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", quoted(&self.runtimes), self.why)?;
        self.todo().map_or(Ok(()), |todo| write!(f, "; {todo}"))
    }
}

fn quoted(runtimes: &[Suggested]) -> String {
    words::list(&runtimes.iter().map(|one| format!("`{}`", one.name)).collect::<Vec<_>>())
}

/// As it is, of the catalogue.
fn alone(name: &str) -> RuntimeChoice {
    RuntimeChoice {
        name: name.to_owned(),
        source: RuntimeSource::Catalogue(name.to_owned()),
        settings: BTreeMap::new(),
        php_ini: BTreeMap::new(),
        env: BTreeMap::new(),
    }
}

/// Why a runtime is left out, and what can be done about it.
///
/// # Errors
/// It is about the app, whatever the runtime.
fn why(error: RuntimeError, name: &str) -> Result<(String, Todo), SuggestError> {
    use RuntimeError as E;
    let own = format!("stampede install {name}");
    Ok(match &error {
        E::Missing { install, .. } => {
            let todo = match install {
                None => Todo::Nothing,
                Some(command) if *command == own => Todo::Install,
                Some(command) => Todo::Do(format!("`{command}`")),
            };
            ("not installed here".to_owned(), todo)
        }
        E::WrongKind { because: "", runs, .. } => {
            (format!("for apps of kind {} only", runs.join(", ")), Todo::Nothing)
        }
        E::WrongKind { kind, .. } => (
            format!(
                "worker modes keep an app in memory, and of one of kind `{kind}` only a whole boot \
                 is known"
            ),
            Todo::Do(
                "`--kind` says it where it is one of symfony, laravel, lumen, callable or psr15"
                    .to_owned(),
            ),
        ),
        E::NotEntered { kind, file, .. } => (
            format!(
                "worker modes keep an app in memory, and this one has no `{file}`, by which one of \
                 kind `{kind}` is entered"
            ),
            match *kind {
                "symfony" => Todo::Do(
                    "`adapter: symfony-runtime` in a plan has its front controller make the kernel"
                        .to_owned(),
                ),
                _ => Todo::Nothing,
            },
        ),
        E::AppLacks { packages, .. } => (
            format!("the app's vendor directory lacks `{}`", packages.replace(' ', "` and `")),
            error.hint().map_or(Todo::Nothing, Todo::Do),
        ),
        E::NamedProgram { .. } | E::Extension { .. } => {
            (error.to_string(), error.hint().map_or(Todo::Nothing, Todo::Do))
        }
        _ => return Err(SuggestError::App(error)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::model::AppChoice;
    use crate::runtime::Places;

    fn suggestion() -> Suggestion {
        let one = |name: &str| Suggested { name: name.into(), title: name.to_uppercase() };
        let left = |names: &[&str], why: &str, todo| LeftOut {
            runtimes: names.iter().map(|name| one(name)).collect(),
            why: why.into(),
            todo,
        };
        Suggestion {
            taken: vec![one("a"), one("b")],
            beside: vec![one("c")],
            left_out: vec![
                left(&["d", "e"], "not installed here", Todo::Install),
                left(&["f"], "for apps of kind laravel only", Todo::Nothing),
            ],
        }
    }

    #[test]
    fn flags_win_and_what_is_chosen_is_said() {
        let chosen = |flags: Overrides| {
            let mut flags = flags;
            let notices = fill(&mut flags, &suggestion());
            (flags, notices[0].to_string())
        };
        let (flags, said) = chosen(Overrides::default());
        assert_eq!(
            said,
            "not said, and so chosen: `--runtimes a,b --concurrency 8 --for 10s --rounds 3`"
        );
        assert_eq!(flags.concurrency.as_deref(), Some("8"));
        let given = |value: &str| Some(value.to_owned());
        let (flags, said) =
            chosen(Overrides { rate: given("200"), rounds: given("1"), ..Overrides::default() });
        assert_eq!(said, "not said, and so chosen: `--runtimes a,b --for 10s`");
        assert_eq!((flags.concurrency, flags.rounds.as_deref()), (None, Some("1")));
        let (_, said) = chosen(Overrides { requests: given("9"), ..Overrides::default() });
        assert_eq!(said, "not said, and so chosen: `--runtimes a,b --concurrency 8 --rounds 3`");
        let (_, said) =
            chosen(Overrides { schedule: given("const(5,1s)"), ..Overrides::default() });
        assert_eq!(said, "not said, and so chosen: `--runtimes a,b --rounds 3`");
    }

    #[test]
    fn a_load_has_a_default_whatever_else_is_named() {
        let mut flags = Overrides { runtimes: Some("a".to_owned()), ..Overrides::default() };
        assert_eq!(fill_load(&mut flags), ["--concurrency 8", "--for 10s", "--rounds 3"]);
        assert_eq!(flags.runtimes.as_deref(), Some("a"));
        assert!(fill_load(&mut flags).is_empty(), "once it is there, it is there");
    }

    fn lines(notices: &[Notice]) -> String {
        notices.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn what_is_left_out_is_said_with_why() {
        let notices = fill(&mut Overrides::default(), &suggestion());
        insta::assert_snapshot!(lines(&notices[1..]), @r"
        here too, for `--runtimes`: `c`
        left out: `d` and `e`: not installed here; `stampede install d,e`
        left out: `f`: for apps of kind laravel only
        ");
    }

    #[test]
    fn a_machine_without_any_runtime_is_an_error_that_says_how_to_get_one() {
        let places = Places { family: vec!["debian".into()], ..Places::default() };
        let catalogue = Catalogue::load(places);
        let app = catalogue.app(&AppChoice::Named("hello".into())).expect("app");
        let error = suggest(&catalogue, &[app]).expect_err("nothing is here");
        insta::assert_snapshot!(error.to_string(), @r"
        no runtime that is here can serve app `hello`
        `apache-fpm`, `apache-modphp`, `caddy-fpm`, `frankenphp`, `frankenphp-worker`, `nginx-fpm`, `nginx-unit`, `roadrunner` and `swoole`: not installed here; `stampede install apache-fpm,apache-modphp,caddy-fpm,frankenphp,frankenphp-worker,nginx-fpm,nginx-unit,roadrunner,swoole`
        `octane-frankenphp`, `octane-roadrunner` and `octane-swoole`: for apps of kind laravel only
        ");
    }
}
