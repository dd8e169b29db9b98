//! Describes a stack before anything of it exists: a value that can be printed and compared.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Value, json};
use stampede_mask::mask_json;
use stampede_plan::model::RuntimeChoice;

use super::app::App;
use super::compose::ResolvedProject;
use super::dotenv;
use super::error::RuntimeError;
use super::page::{Accepts, PageRequest};
use super::placement::Placement;
use super::provider::StackRequest;
use super::resolve::ResolvedRuntime;

/// The app's caches at the start of a stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Caches {
    /// As the app's own preparation leaves them.
    #[default]
    Kept,
    /// Emptied, so that the first answer is that of a cold start.
    Emptied,
}

/// When a stack counts as started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Readiness {
    /// Its page shows that the app works.
    #[default]
    RightAnswer,
    /// Its page is answered, whatever the answer is.
    AnyAnswer,
    /// It listens and spends no more CPU time. No request is sent.
    Idle,
}

/// What a start is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StartPurpose {
    /// Its figures count, or a person wants to see it.
    #[default]
    Measured,
    /// It is asked what it is and how it answers, and then stopped: a provider may add what helps to
    /// find out.
    Asked,
}

/// Everything that is known about a stack before its first file is written. Two equal values make
/// the same stack, except for its port and directory.
#[derive(Clone, Debug)]
pub struct StackSpec {
    /// The runtime with its settings, or the server that already runs.
    pub runtime: RuntimeChoice,
    /// The app.
    pub app: App,
    /// The CPUs and memory of the stack.
    pub placement: Placement,
    /// The page that shows whether the app works.
    pub page: PageRequest,
    /// The app's caches at the start.
    pub caches: Caches,
    /// When the stack counts as started.
    pub ready: Readiness,
    /// What the start is for.
    pub purpose: StartPurpose,
    /// What the catalogue and this machine have for it.
    pub(crate) resolved: Option<ResolvedRuntime>,
    /// The compose project whose services it is; `None`: it is none.
    pub(crate) project: Option<ResolvedProject>,
}

impl StackSpec {
    /// The description of a stack for which nothing has to be found: its provider knows how to get
    /// it from `request` alone.
    pub fn of(request: &StackRequest<'_>) -> StackSpec {
        StackSpec {
            runtime: request.runtime.clone(),
            app: request.app.clone(),
            placement: request.placement.clone(),
            page: request.page.clone(),
            caches: request.caches,
            ready: request.ready,
            purpose: request.purpose,
            resolved: None,
            project: None,
        }
    }

    /// What was found for a runtime of the catalogue.
    ///
    /// # Errors
    /// The stack is not one that is started from the catalogue.
    pub(crate) fn resolved(&self) -> Result<&ResolvedRuntime, RuntimeError> {
        let nothing = || RuntimeError::External { name: self.runtime.name.clone() };
        self.resolved.as_ref().ok_or_else(nothing)
    }

    /// All of it, secrets included.
    fn facts(&self) -> Value {
        let manifest = &self.app.manifest;
        json!({
            "name": self.runtime.name,
            "source": self.runtime.source,
            "app": {
                "name": self.app.name,
                "kind": manifest.kind.name(),
                "directory": self.app.path(),
                "docroot": manifest.docroot,
                "prepare": manifest.prepare,
            },
            "env": app_env(&self.app, &self.runtime),
            "php_ini": self.runtime.php_ini,
            "placement": self.placement_facts(),
            "page": { "path": self.page.path, "accepts": match self.page.accepts {
                Accepts::Correct => "correct_answer",
                Accepts::Any => "any_answer",
            }},
            "caches": match self.caches {
                Caches::Kept => "kept",
                Caches::Emptied => "emptied",
            },
            "ready": match self.ready {
                Readiness::RightAnswer => "right_answer",
                Readiness::AnyAnswer => "any_answer",
                Readiness::Idle => "idle",
            },
            "runtime": self.resolved.as_ref().map(ResolvedRuntime::facts),
            "project": self.project.as_ref().map(ResolvedProject::facts),
        })
    }

    fn placement_facts(&self) -> Value {
        let Placement {
            cpus,
            cpus_by_role,
            cpu_quota,
            beside,
            memory_bytes,
            listen,
            port,
            watch,
            ask,
        } = &self.placement;
        json!({
            "cpus": cpus,
            "cpus_by_role": cpus_by_role,
            "cpu_quota": cpu_quota,
            "cpus_beside": beside,
            "memory_bytes": memory_bytes,
            "listen": listen,
            "port": port,
            "watched": watch.is_some(),
            "asked": ask,
        })
    }
}

impl PartialEq for StackSpec {
    fn eq(&self, other: &StackSpec) -> bool {
        (&self.runtime, &self.placement, &self.page, self.purpose)
            == (&other.runtime, &other.placement, &other.page, other.purpose)
            && self.facts() == other.facts()
    }
}

/// As JSON, with secrets masked.
impl fmt::Display for StackSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        dotenv::learn_secrets_with_env(&self.app, &app_env(&self.app, &self.runtime));
        f.write_str(&mask_json(&format!("{:#}", self.facts())))
    }
}

/// The app's environment: the defaults, then the app's variables, then the plan's. Later ones
/// override earlier ones.
pub(crate) fn app_env(app: &App, choice: &RuntimeChoice) -> BTreeMap<String, String> {
    let pair = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
    let mut env = BTreeMap::from([("APP_ENV", "prod"), ("APP_DEBUG", "0")].map(pair));
    env.extend(without_mail(app).map(pair));
    env.extend(app_env_given(app, choice));
    env
}

/// The variables by which a framework's app sends no mail: a load would send thousands.
pub(crate) fn without_mail(app: &App) -> impl Iterator<Item = (&str, &str)> {
    let all = app.manifest.framework.iter().flat_map(|known| &known.mail);
    all.map(|(key, value)| (key.as_str(), value.as_str()))
}

/// The app's variables and the plan's, without defaults.
pub(crate) fn app_env_given(app: &App, choice: &RuntimeChoice) -> BTreeMap<String, String> {
    let mut env = app.manifest.env.clone();
    env.extend(choice.env.clone());
    env
}

#[cfg(test)]
mod tests {
    use stampede_plan::lookup::Lookup;
    use stampede_plan::model::{AppChoice, RuntimeSource};

    use super::*;
    use crate::catalogue::Catalogue;
    use crate::external::ExternalProvider;
    use crate::locate::SearchPaths;
    use crate::provider::Provider as _;

    fn spec(change: impl FnOnce(&mut RuntimeChoice, &mut Placement)) -> StackSpec {
        let catalogue = Catalogue::load(SearchPaths::default());
        let app = catalogue.app(&AppChoice::named("hello".to_owned())).expect("an app");
        let mut runtime = RuntimeChoice {
            name: "shop".to_owned(),
            source: RuntimeSource::External {
                url: "http://127.0.0.1:8080".to_owned(),
                watch: None,
                lookup: Lookup::default(),
            },
            settings: BTreeMap::new(),
            php_ini: BTreeMap::new(),
            env: BTreeMap::from([("SHOP_API_TOKEN".to_owned(), "hunter22hunter".to_owned())]),
            images: None,
            as_today: None,
        };
        let mut placement = Placement::default();
        change(&mut runtime, &mut placement);
        let request = StackRequest {
            runtime: &runtime,
            app: &app,
            placement: &placement,
            page: PageRequest::of(&app, &[]),
            caches: Caches::Kept,
            ready: Readiness::RightAnswer,
            purpose: StartPurpose::Measured,
        };
        ExternalProvider.resolve(&request).expect("nothing is looked for")
    }

    #[test]
    fn equal_requests_give_equal_descriptions() {
        let plain = spec(|_, _| {});
        assert_eq!(plain, spec(|_, _| {}));
        let other_env = |runtime: &mut RuntimeChoice, _: &mut Placement| {
            runtime.env.insert("SHOP_API_TOKEN".to_owned(), "another-secret".to_owned());
        };
        let others = [
            spec(|runtime, _| runtime.name = "other".to_owned()),
            spec(|_, placement| placement.memory_bytes = 1),
            spec(other_env),
            StackSpec { caches: Caches::Emptied, ..plain.clone() },
            StackSpec { ready: Readiness::Idle, ..plain.clone() },
            StackSpec { purpose: StartPurpose::Asked, ..plain.clone() },
        ];
        for other in others {
            assert_ne!(plain, other);
        }
    }

    #[test]
    fn it_prints_as_json_without_secrets() {
        let text = spec(|_, _| {}).to_string();
        let printed: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(printed["name"], "shop");
        assert_eq!(printed["env"]["APP_ENV"], "prod");
        assert_eq!(printed["ready"], "right_answer");
        assert!(!text.contains("hunter22"), "{text}");
    }
}
