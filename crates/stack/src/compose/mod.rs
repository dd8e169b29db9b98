//! Stacks of containers: the services of a compose project, under one budget.
//!
//! ```text
//! compose files ─render─▶ Project ─edit─▶ one file ─up─▶ containers in the keeper's groups
//! ```
//! The compose tool and the engine are asked by their command lines. The user's own project is not
//! touched: the stack has a project name, networks and volumes of its own, takes no port of the
//! machine, and writes to copies of what the project mounts.

pub(crate) mod build;
mod proof;
pub(crate) mod running;
mod stack;
mod stack_logs;
mod start;
mod volumes;
mod way_in;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use serde::Serialize;
use stampede_compose::signs::Overridden;
use stampede_compose::stages::AskedStage;
use stampede_compose::{access, code, edit, engine, error, health, known, limits, project, signs};
use stampede_keeper::{Keeper, KeeperOptions, NamespaceUse};
use stampede_model::fact::Notice;
use stampede_model::fact::containers::{Containers, OwnLimit};
use stampede_plan::model::{
    BuildTarget, Checkout, CodePlace, ComposeSource, RuntimeChoice, RuntimeSource, ServiceLimits,
    VolumeState,
};

use crate::app::App;
use crate::error::RuntimeError;
use crate::locate::SearchPaths;
use crate::process::Supervise;
use crate::provider::{Provider, Stack, StackRequest};
use crate::resolve::RuntimeTraits;
use crate::spec::{StackSpec, app_env_given};

use build::Builds;
use engine::{Engine, Grouping, WayIn};
use project::{Project, Target};
use proof::Proofs;
use way_in::KnownWays;

pub use error::ComposeError;

/// Starts services of compose projects in containers of this machine's engine.
pub struct ComposeProvider {
    places: SearchPaths,
    supervise: Box<Supervise>,
    engine: OnceLock<Engine>,
    builds: Mutex<Builds>,
    proofs: Proofs,
    ways: KnownWays,
}

/// What is known of a compose project before anything of it is started.
#[derive(Clone, Debug)]
pub(crate) struct ResolvedProject {
    engine: Engine,
    /// Without the services that are not started.
    project: Project,
    left_out: BTreeSet<String>,
    target: Target,
    source: ComposeSource,
    env: BTreeMap<String, String>,
    /// Values of php.ini that its PHP is asked for.
    php_ini: BTreeMap<String, String>,
    /// Stages that a flag names for other projects of the run.
    missing_stages: Vec<String>,
    /// Copies of another version that the project's files are in.
    checkouts: Vec<Checkout>,
}

/// What a description of a stack shows of a project.
#[derive(Debug, Serialize)]
pub(crate) struct ProjectFacts<'a> {
    engine: &'a str,
    compose: &'a str,
    service: &'a str,
    port: u16,
    document: &'a serde_json::Map<String, serde_json::Value>,
}

impl ResolvedProject {
    /// Its description.
    pub(crate) fn facts(&self) -> ProjectFacts<'_> {
        ProjectFacts {
            engine: &self.engine.version,
            compose: &self.engine.compose_version,
            service: &self.target.service,
            port: self.target.port,
            document: &self.project.document,
        }
    }

    /// The services within the budget, in the order of the document.
    fn services(&self) -> Vec<String> {
        let names = self.project.services().map(|(name, _)| name.to_owned());
        names.filter(|name| !self.source.beside.contains(name)).collect()
    }
}

impl ComposeProvider {
    /// Each stack has a keeper of its own, so that nothing is left however stampede ends.
    pub fn new(places: SearchPaths) -> ComposeProvider {
        // No process of the stack is the keeper's, so namespaces would hold nothing.
        let options =
            KeeperOptions { namespaces: NamespaceUse::Forbidden, ..KeeperOptions::default() };
        ComposeProvider {
            places,
            supervise: Box::new(move |id, directory| {
                Ok(Box::new(Keeper::guard(id, directory, &options)?))
            }),
            engine: OnceLock::new(),
            builds: Mutex::default(),
            proofs: Proofs::default(),
            ways: KnownWays::default(),
        }
    }

    fn engine(&self) -> Result<&Engine, ComposeError> {
        if let Some(engine) = self.engine.get() {
            return Ok(engine);
        }
        let found = Engine::find()?.with_compose()?;
        Ok(self.engine.get_or_init(|| found))
    }

    fn project(&self, choice: &RuntimeChoice, app: &App) -> Result<ResolvedProject, RuntimeError> {
        let failed = |problem: ComposeError| RuntimeError::Containers {
            runtime: choice.name.clone(),
            problem: Box::new(problem),
        };
        let RuntimeSource::Compose(source) = &choice.source else {
            return Err(RuntimeError::External { name: choice.name.clone() });
        };
        let resolve = || {
            let engine = self.engine()?.clone();
            let files = versioned(&source.files, &app.checkouts);
            // The version of PHP may be a build argument, or a variable in the name of an image.
            let versions = source.php.iter();
            let versions = versions.map(|php| (php.argument.clone(), php.version.clone()));
            let env = app_env_given(app, choice);
            let variables = env.clone().into_iter().chain(versions).collect();
            let mut project = Project::render(&engine, &files, &variables)?;
            for Checkout { top, tree, .. } in &app.checkouts {
                project.use_originals(tree, top);
            }
            project.learn_secrets();
            if source.limits == ServiceLimits::Dropped {
                limits::drop_own(&mut project);
            }
            if source.code == CodePlace::Image {
                code::own_lent(&mut project);
            }
            let mut target = project.target(source.service.as_deref(), source.port)?;
            let exposed =
                project.image_with_port(&target).and_then(|image| engine.exposed_port(image));
            if let Some(port) = exposed.filter(|_| source.port.is_none()) {
                target.port = port;
            }
            for service in &source.beside {
                if project.service(service).is_none() {
                    let known = project.services().map(|(name, _)| name.to_owned()).collect();
                    return Err(ComposeError::NoService { service: service.clone(), known });
                }
            }
            let mut left_out = project.left_out(&target.service);
            left_out.retain(|name| !source.beside.contains(name));
            project.remove(&left_out);
            let mut missing_stages = Vec::new();
            for BuildTarget { service, stage, is_optional } in &source.build_targets {
                let stage = AskedStage { service: service.as_deref(), stage };
                match stage.set_in(&mut project) {
                    // Another project of the run has it.
                    Err(_) if *is_optional => missing_stages.push(stage.stage.to_owned()),
                    other => other?,
                }
            }
            if let Some(service) = project.with_host_network() {
                return Err(ComposeError::HostNetwork { service: service.to_owned() });
            }
            if let Some((service, line)) = project.with_other_container() {
                return Err(ComposeError::OtherContainer { service: service.to_owned(), line });
            }
            let (source, checkouts) = (source.clone(), app.checkouts.clone());
            let php_ini = choice.php_ini.clone();
            Ok(ResolvedProject {
                missing_stages,
                engine,
                project,
                left_out,
                target,
                source,
                env,
                php_ini,
                checkouts,
            })
        };
        resolve().map_err(failed)
    }
}

impl Provider for ComposeProvider {
    fn starts(&self, _runtime: &RuntimeChoice) -> bool {
        true
    }

    fn traits(&self, runtime: &RuntimeChoice, app: &App) -> Result<RuntimeTraits, RuntimeError> {
        self.project(runtime, app).map(|_| RuntimeTraits::UNKNOWN)
    }

    fn resolve(&self, request: &StackRequest<'_>) -> Result<StackSpec, RuntimeError> {
        let project = self.project(request.runtime, request.app)?;
        Ok(StackSpec { project: Some(project), ..StackSpec::of(request) })
    }

    fn start(&self, spec: &StackSpec) -> Result<Box<dyn Stack>, RuntimeError> {
        let mut builds = self.builds.lock().unwrap_or_else(PoisonError::into_inner);
        let shared = start::SharedParts {
            places: &self.places,
            supervise: &self.supervise,
            builds: &mut builds,
            proofs: &self.proofs,
            ways: &self.ways,
        };
        start::start(spec, shared)
    }

    fn notices(&self, choice: &RuntimeChoice, app: &App) -> Result<Vec<Notice>, RuntimeError> {
        let resolved = self.project(choice, app)?;
        let all = notices(&resolved).into_iter();
        Ok(all.map(|found| Notice::Containers { runtime: choice.name.clone(), found }).collect())
    }
}

/// The same files in the copies of another version, where they are in one.
fn versioned(files: &[PathBuf], checkouts: &[Checkout]) -> Vec<PathBuf> {
    let one = |file: &PathBuf| {
        let real = file.canonicalize().ok()?;
        checkouts.iter().find_map(|Checkout { top, tree, .. }| {
            let place = real.strip_prefix(top).ok()?;
            // An empty path at the end would be a slash at the end.
            Some(if place == Path::new("") { tree.clone() } else { tree.join(place) })
        })
    };
    files.iter().map(|file| one(file).unwrap_or_else(|| file.clone())).collect()
}

/// What the user should know before anything starts; what matters most comes first.
fn notices(resolved: &ResolvedProject) -> Vec<Containers> {
    let ResolvedProject { engine, project, left_out, target, source, env, php_ini, .. } = resolved;
    let of_image = |image: &str| engine.image_variables(image);
    let changes = Overridden {
        beside: &source.beside,
        env: Some(env),
        php_ini: Some(php_ini),
        has_code_in_images: source.code == CodePlace::Image,
    };
    let signs = signs::development_signs(project, changes, of_image);
    let external = |kind: &str| -> Vec<String> {
        let all = project.document.get(kind).and_then(serde_json::Value::as_object);
        let external = all.into_iter().flatten().filter(|(_, one)| edit::is_external(one));
        let named = external.map(|(key, one)| (key, one["name"].as_str().unwrap_or_default()));
        named.map(|(key, name)| if name.is_empty() { key } else { name }.to_owned()).collect()
    };
    let (external, volumes) = (external("networks"), external("volumes"));
    let checked = health::running(project, resolved.services(), |image| engine.has_check(image));
    let about = Containers::Project {
        engine: engine.version.clone(),
        service: target.service.clone(),
        port: target.port,
        services: resolved.services(),
        beside: source.beside.clone(),
        left_out: left_out.iter().cloned().collect(),
    };
    let development = (!signs.is_empty()).then_some(Containers::Development { signs });
    let kept = (source.volumes == VolumeState::Shared).then_some(Containers::VolumesKept {});
    let alone = (engine.grouping == Grouping::PerService && resolved.services().len() > 1)
        .then_some(Containers::LimitsPerService {});
    let unlimited =
        (engine.grouping == Grouping::CpusAlone).then_some(Containers::LimitsMissing {});
    let proxy = (engine.way_in == WayIn::PublishedPort).then_some(Containers::ThroughAProxy {});
    let missing = &resolved.missing_stages;
    let missing =
        (!missing.is_empty()).then(|| Containers::StagesMissing { stages: missing.clone() });
    let networks =
        (!external.is_empty()).then_some(Containers::ExternalNetworks { networks: external });
    let volumes = (!volumes.is_empty()).then_some(Containers::ExternalVolumes { volumes });
    let elsewhere = project.volumes_elsewhere();
    let is_copied = !elsewhere.is_empty() && source.volumes == VolumeState::Copied;
    let elsewhere = is_copied.then_some(Containers::VolumesElsewhere { volumes: elsewhere });
    let limited: Vec<OwnLimit> = resolved
        .services()
        .into_iter()
        .filter_map(|name| edit::own_limit(&name, project.service(&name)?))
        .collect();
    let limits = (!limited.is_empty()).then_some(Containers::OwnLimits { services: limited });
    let mut server = project.service(&target.service).cloned().unwrap_or_default();
    edit::add_variables_to(&mut server, env);
    let name = known::https_name(&server, of_image).map(|name| Containers::HttpsName { name });
    let access = access::with_access(project);
    let access = (!access.is_empty()).then_some(Containers::HostAccess { services: access });
    let checks = (!checked.is_empty()).then_some(Containers::HealthChecksRun { services: checked });
    let all = development.into_iter().chain([about]);
    all.chain(name)
        .chain(alone)
        .chain(unlimited)
        .chain(missing)
        .chain(proxy)
        .chain(limits)
        .chain(access)
        .chain(networks)
        .chain(volumes)
        .chain(elsewhere)
        .chain(checks)
        .chain(kept)
        .collect()
}
