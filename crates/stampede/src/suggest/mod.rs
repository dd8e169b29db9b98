//! Chooses what the user did not specify: runtimes of this machine that can serve an app, and a
//! load.

pub mod containers;
mod written;

use std::collections::BTreeMap;

use stampede_model::fact::app::Unsuited;
use stampede_model::fact::{Cause, Notice};
use stampede_model::words;
use stampede_plan::model::{RuntimeChoice, RuntimeSource};
use stampede_plan::{LENGTH, MissingParts, Overrides};
use stampede_stack::{App, Catalogue, RuntimeError};

use stampede_trial::causes::cause;

pub use written::plan_text;

/// The runtimes of the catalogue, by whether they can serve an app on this machine.
#[derive(Debug, Default)]
pub struct Suggestion {
    /// The default runtimes that are installed and can serve the app. If there is none: all that
    /// can.
    pub defaults: Vec<SuggestedRuntime>,
    /// Other runtimes that are installed and can serve the app.
    pub others: Vec<SuggestedRuntime>,
    /// Runtimes that cannot serve the app, and default runtimes that are not installed. Runtimes
    /// with the same reason are grouped.
    pub left_out: Vec<UnsuitableRuntimes>,
}

/// A runtime of the catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuggestedRuntime {
    /// Name in plans.
    pub name: String,
    /// Title for people.
    pub title: String,
}

/// Runtimes that are left out for the same reason.
#[derive(Debug)]
pub struct UnsuitableRuntimes {
    /// The runtimes, at least one.
    pub runtimes: Vec<SuggestedRuntime>,
    /// The reason.
    pub why: Unsuited,
    todo: Remedy,
}

/// What can be done about a runtime that is left out.
#[derive(Debug, PartialEq, Eq)]
enum Remedy {
    Nothing,
    /// Run `stampede install` with the runtimes' names.
    Install,
    /// Do what this text says.
    Do(String),
}

/// Why nothing can be suggested.
#[derive(Debug, thiserror::Error)]
pub enum SuggestError {
    /// Something is wrong with the app.
    #[error(transparent)]
    App(RuntimeError),
    /// No installed runtime can serve the app.
    #[error("no runtime that is here can serve app `{app}`{why}")]
    Nothing {
        /// The app's name.
        app: String,
        /// The reason for each runtime, one on each line.
        why: String,
    },
}

impl SuggestError {
    /// Returns what to do next, for a line of its own.
    pub fn hint(&self) -> Option<String> {
        match self {
            SuggestError::App(error) => error.hint(),
            SuggestError::Nothing { .. } => {
                Some("`stampede runtimes` says what each needs, and how to get it".to_owned())
            }
        }
    }
}

/// Checks every runtime of the catalogue. Starts nothing except programs that print their version.
/// `are_images`: whether their programs are to come from official images. Then the default runtimes alone
/// are checked, since each image has to be fetched for it.
///
/// # Errors
/// Something is wrong with an app, whatever the runtime; or no runtime can serve the apps.
pub fn suggest(
    catalogue: &Catalogue,
    apps: &[App],
    are_images: bool,
) -> Result<Suggestion, SuggestError> {
    let mut suggestion = Suggestion::default();
    for name in catalogue.runtime_names() {
        // `stampede runtimes` reports a wrong directory.
        let Ok(directory) = catalogue.runtime(name) else { continue };
        if are_images && !directory.manifest.default {
            continue;
        }
        let (name, title) = (name.to_owned(), directory.manifest.title.clone());
        let images = are_images.then(BTreeMap::new);
        let choice = RuntimeChoice { images, ..without_settings(&name) };
        let error = apps.iter().find_map(|app| catalogue.check(&choice, app).err());
        let runtime = SuggestedRuntime { name, title };
        match (error, directory.manifest.default) {
            (None, true) => suggestion.defaults.push(runtime),
            (None, false) => suggestion.others.push(runtime),
            // Few machines have all runtimes, and few users miss one.
            (Some(RuntimeError::Missing { .. }), false) => {}
            (Some(error), _) => {
                let left_out = explain(error, &runtime.name)?;
                suggestion.leave_out(runtime, left_out);
            }
        }
    }
    if suggestion.defaults.is_empty() {
        suggestion.defaults = std::mem::take(&mut suggestion.others);
    }
    match suggestion.defaults.is_empty() {
        false => Ok(suggestion),
        true => Err(SuggestError::Nothing {
            app: apps.first().map_or_else(String::new, |app| app.name.clone()),
            why: suggestion.left_out.iter().map(|left| format!("\n{left}")).collect(),
        }),
    }
}

/// Puts the runtimes and a baseline into the flags where they are missing. Returns the choices, as
/// notices for the reader.
pub fn fill(flags: &mut Overrides, suggestion: &Suggestion) -> Vec<Notice> {
    let names: Vec<&str> = suggestion.defaults.iter().map(|one| one.name.as_str()).collect();
    let mut chosen = Vec::new();
    choose(&mut chosen, "runtimes", &mut flags.runtimes, &names.join(","));
    if names.contains(&BASELINE) {
        choose(&mut chosen, "baseline", &mut flags.baseline, BASELINE);
    }
    let mut notices = vec![Notice::Chosen { flags: chosen }];
    if !suggestion.others.is_empty() {
        let runtimes = suggestion.others.iter().map(|one| one.name.clone()).collect();
        notices.push(Notice::AlsoInstalled { runtimes });
    }
    let left_out = |left: &UnsuitableRuntimes| Notice::LeftOut {
        runtimes: left.runtimes.iter().map(|one| one.name.clone()).collect(),
        why: left.why.clone(),
        todo: left.todo(),
    };
    notices.extend(suggestion.left_out.iter().map(left_out));
    notices
}

/// Puts rounds into the flags, and a length if they have a load without one. Returns the choices as
/// flags.
pub fn fill_length(flags: &mut Overrides, gaps: MissingParts) -> Vec<String> {
    let mut chosen = Vec::new();
    if flags.sets_load() && flags.schedule.is_none() && flags.requests.is_none() {
        choose(&mut chosen, "for", &mut flags.for_, LENGTH);
    }
    // A user who names runtimes and load decides the number of rounds too.
    if gaps.rounds && (gaps.load || gaps.runtimes) {
        choose(&mut chosen, "rounds", &mut flags.rounds, ROUNDS);
    }
    chosen
}

fn choose(chosen: &mut Vec<String>, name: &str, flag: &mut Option<String>, value: &str) {
    if flag.is_none() {
        chosen.push(format!("--{name} {value}"));
        *flag = Some(value.to_owned());
    }
}

/// The baseline: most PHP apps run on it.
const BASELINE: &str = "nginx-fpm";
/// The fewest rounds that give a useful interval.
const ROUNDS: &str = "3";

impl Suggestion {
    fn leave_out(&mut self, runtime: SuggestedRuntime, (why, todo): (Unsuited, Remedy)) {
        let same = |left: &&mut UnsuitableRuntimes| left.why == why && left.todo == todo;
        match self.left_out.iter_mut().find(same) {
            Some(left) => left.runtimes.push(runtime),
            None => self.left_out.push(UnsuitableRuntimes { runtimes: vec![runtime], why, todo }),
        }
    }
}

impl UnsuitableRuntimes {
    /// Returns what can be done about it; `None` if nothing can.
    pub fn todo(&self) -> Option<String> {
        let names = || self.runtimes.iter().map(|one| one.name.as_str()).collect::<Vec<_>>();
        match &self.todo {
            Remedy::Nothing => None,
            Remedy::Install => Some(format!("`stampede install {}`", names().join(","))),
            Remedy::Do(what) => Some(what.clone()),
        }
    }
}

impl std::fmt::Display for UnsuitableRuntimes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", quoted(&self.runtimes), self.why)?;
        self.todo().map_or(Ok(()), |todo| write!(f, "; {todo}"))
    }
}

fn quoted(runtimes: &[SuggestedRuntime]) -> String {
    words::list(&runtimes.iter().map(|one| format!("`{}`", one.name)).collect::<Vec<_>>())
}

/// Returns the choice of a runtime of the catalogue without any settings.
fn without_settings(name: &str) -> RuntimeChoice {
    RuntimeChoice {
        name: name.to_owned(),
        source: RuntimeSource::Catalogue(name.to_owned()),
        settings: BTreeMap::new(),
        php_ini: BTreeMap::new(),
        env: BTreeMap::new(),
        images: None,
        as_today: None,
    }
}

/// Returns why a runtime is left out, and what can be done about it.
///
/// # Errors
/// The error is about the app, whatever the runtime.
fn explain(error: RuntimeError, name: &str) -> Result<(Unsuited, Remedy), SuggestError> {
    use RuntimeError as E;
    let own = format!("stampede install {name}");
    Ok(match &error {
        E::Missing { install, .. } => {
            let todo = match install {
                None => Remedy::Nothing,
                Some(command) if *command == own => Remedy::Install,
                Some(command) => Remedy::Do(format!("`{command}`")),
            };
            (Unsuited::NotInstalled {}, todo)
        }
        E::WrongKind { because: "", runs, .. } => {
            let kinds = runs.iter().map(|kind| (*kind).to_owned()).collect();
            (Unsuited::OtherKinds { kinds }, Remedy::Nothing)
        }
        E::WrongKind { kind, .. } => (
            Unsuited::NotKept { kind: (*kind).to_owned() },
            Remedy::Do(
                "if it is symfony, laravel, lumen, callable or psr15: `--kind NAME`".to_owned(),
            ),
        ),
        E::NotEntered { kind, file, .. } => (
            Unsuited::NotEntered { kind: (*kind).to_owned(), file: (*file).to_owned() },
            match *kind {
                "symfony" => Remedy::Do(
                    "use `adapter: symfony-runtime` in a plan: then this file is not needed"
                        .to_owned(),
                ),
                _ => Remedy::Nothing,
            },
        ),
        E::AppLacks { packages, .. } => (
            Unsuited::PackagesMissing {
                packages: packages.split(' ').map(str::to_owned).collect(),
            },
            error.hint().map_or(Remedy::Nothing, Remedy::Do),
        ),
        E::NamedProgram { .. } | E::Extension { .. } => unusable(&error),
        // An engine that does not answer is no matter of one runtime.
        E::Containers { problem, .. } if problem.is_about_images() => unusable(&error),
        _ => return Err(SuggestError::App(error)),
    })
}

/// Returns that a program or an image is there, and cannot be used.
fn unusable(error: &RuntimeError) -> (Unsuited, Remedy) {
    let cause = Cause { source: None, ..cause(error) };
    (Unsuited::Unusable { cause }, error.hint().map_or(Remedy::Nothing, Remedy::Do))
}

#[cfg(test)]
mod tests {
    use stampede_model::app_kind::AppKind;
    use stampede_plan::model::AppChoice;
    use stampede_stack::SearchPaths;

    use super::*;

    fn suggestion() -> Suggestion {
        let one = |name: &str| SuggestedRuntime { name: name.into(), title: name.to_uppercase() };
        let left = |names: &[&str], why, todo| UnsuitableRuntimes {
            runtimes: names.iter().map(|name| one(name)).collect(),
            why,
            todo,
        };
        let laravel = Unsuited::OtherKinds { kinds: vec!["laravel".into()] };
        Suggestion {
            defaults: vec![one("a"), one("b")],
            others: vec![one("c")],
            left_out: vec![
                left(&["d", "e"], Unsuited::NotInstalled {}, Remedy::Install),
                left(&["f"], laravel, Remedy::Nothing),
            ],
        }
    }

    #[test]
    fn flags_win_and_defaults_are_reported() {
        let chosen = |flags: Overrides| {
            let mut flags = flags;
            let notices = fill(&mut flags, &suggestion());
            (flags, notices[0].to_string())
        };
        let (flags, message) = chosen(Overrides::default());
        assert_eq!(message, "defaults used: --runtimes a,b");
        assert_eq!(flags.baseline, None, "the most usual one is not among them");
        let given = Overrides { runtimes: Some("c".to_owned()), ..Overrides::default() };
        assert_eq!(chosen(given).0.runtimes.as_deref(), Some("c"));
    }

    #[test]
    fn the_most_common_runtime_is_the_default_baseline() {
        let mut suggestion = suggestion();
        suggestion.defaults[1].name = BASELINE.to_owned();
        let mut flags = Overrides::default();
        fill(&mut flags, &suggestion);
        assert_eq!(flags.baseline.as_deref(), Some(BASELINE));
        let mut flags = Overrides { baseline: Some("a".to_owned()), ..Overrides::default() };
        fill(&mut flags, &suggestion);
        assert_eq!(flags.baseline.as_deref(), Some("a"));
    }

    #[test]
    fn length_and_rounds_have_defaults() {
        let chosen = |flags: Overrides| {
            let mut flags = flags;
            let gaps = stampede_plan::missing_parts(None, &flags).expect("no file is read");
            fill_length(&mut flags, gaps)
        };
        let given = |value: &str| Some(value.to_owned());
        assert_eq!(chosen(Overrides::default()), ["--rounds 3"]);
        let rate = Overrides { rate: given("200"), rounds: given("1"), ..Overrides::default() };
        assert_eq!(chosen(rate), ["--for 10s"]);
        let (rate, runtimes) = (given("200"), given("a,b"));
        assert_eq!(chosen(Overrides { rate, runtimes, ..Overrides::default() }), ["--for 10s"]);
        let counted =
            Overrides { concurrency: given("4"), requests: given("9"), ..Overrides::default() };
        assert_eq!(chosen(counted), ["--rounds 3"]);
        let schedule = Overrides { schedule: given("const(5,1s)"), ..Overrides::default() };
        assert_eq!(chosen(schedule), ["--rounds 3"]);
    }

    fn lines(notices: &[Notice]) -> String {
        notices.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn what_is_left_out_is_said_with_why() {
        let notices = fill(&mut Overrides::default(), &suggestion());
        insta::assert_snapshot!(lines(&notices[1..]), @r"
        also installed (add with `--runtimes`): `c`
        left out: `d` and `e`: not installed here; `stampede install d,e`
        left out: `f`: for apps of kind laravel only
        ");
    }

    #[test]
    fn a_machine_without_any_runtime_is_an_error_that_says_how_to_get_one() {
        let places = SearchPaths { family: vec!["debian".into()], ..SearchPaths::default() };
        let catalogue = Catalogue::load(places);
        let app = catalogue.app(&AppChoice::named("hello".into())).expect("app");
        let error = suggest(&catalogue, &[app], false).expect_err("nothing is here");
        // The default runtimes are those of the catalogue, so that a new one changes no test.
        let defaults = |serves_hello: bool| -> Vec<&str> {
            let is_one = |name: &&str| {
                let manifest = catalogue.runtime(name).expect("a runtime").manifest;
                let serves = manifest.app_kinds.contains(&AppKind::Callable);
                manifest.default && serves == serves_hello
            };
            catalogue.runtime_names().into_iter().filter(is_one).collect()
        };
        let listed = |names: &[&str]| {
            words::list(&names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>())
        };
        let (here, others) = (defaults(true), defaults(false));
        let shown = error.to_string().replace(&listed(&here), "RUNTIMES");
        let shown = shown.replace(&here.join(","), "NAMES").replace(&listed(&others), "OTHERS");
        insta::assert_snapshot!(shown, @r"
        no runtime that is here can serve app `hello`
        RUNTIMES: not installed here; `stampede install NAMES`
        OTHERS: for apps of kind laravel only
        ");
    }
}
