//! Turns the description of a stack into one that can be started: chooses a port, fills the working
//! directory and renders the files.

use std::collections::BTreeMap;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use minijinja::Value;
use minijinja::value::Serde;
use serde_json::json;
use stampede_keeper::spec::{BindMount, ProcessSetSpec, ProcessSpec, StopSpec};
use stampede_linux::fresh;
use stampede_model::observed::asked_ini;
use stampede_model::record::{
    CustomBuild, DATABASE_ROLE, ProviderKind, RequestedSetup, RuntimeRecord,
};
use stampede_model::time::Nanos;
use stampede_plan::model::RuntimeChoice;

use super::app_path::AppPath;
use super::listen_address::{self, DelayedStart};
use super::preparation::{BuildContext, StepContext};
use super::stack::Supervisor;
use super::user::{self, User};
use super::watched::watched;
use super::working_directory::{self, COPY, SESSIONS, access_log, mode, working_directory};
use super::{Supervise, cold, port, reach};
use crate::app::App;
use crate::catalogue::RuntimeDirectory;
use crate::copy::io_error;
use crate::database::{self, ErrorContext, QueryCounter};
use crate::deployed::DeploymentSteps;
use crate::differences;
use crate::directory_files::{NeedFiles, told};
use crate::dotenv;
use crate::error::RuntimeError;
use crate::front;
use crate::images::RuntimeImages;
use crate::library;
use crate::locate::{self, ResolvedNeed, SearchPaths};
use crate::manifest::{EffectiveWorkers, Need, ProcessManifest, RunAs, rendered_name};
use crate::page::PageRequest;
use crate::placement::Placement;
use crate::resolve::ResolvedRuntime;
use crate::setting::Settings;
use crate::spec::{Caches, Readiness, StackSpec, app_env};
use crate::template::render;

/// A stack that can be started. If this value is dropped before the start, its working directory is
/// removed.
pub struct PreparedStack {
    /// The parts of the stack.
    pub stack: StackSetup,
    pub(super) keep: Box<dyn Supervisor>,
}

/// What was found, chosen and rendered for a stack.
#[derive(Debug)]
pub struct StackSetup {
    /// The name of the runtime or variant.
    pub name: String,
    /// The runtime's directory in the catalogue.
    pub runtime: RuntimeDirectory,
    /// The app that the stack serves.
    pub app: App,
    /// Where the processes see the app.
    pub(crate) at: AppPath,
    /// The settings in force.
    pub settings: Settings,
    /// The runtime's needs as they were found.
    pub needs: BTreeMap<String, ResolvedNeed>,
    /// The address and port that it listens on.
    pub listens_on: SocketAddr,
    /// The processes and limits that the keeper is asked to start.
    pub processes: ProcessSetSpec,
    /// The runtime's record, with the rendered files.
    pub record: RuntimeRecord,
    /// The file name of the probe in the docroot.
    pub probe: String,
    /// The unix socket of the status page; `None`: there is none.
    pub status: Option<PathBuf>,
    /// The longest time until the first correct answer.
    pub ready_within: Duration,
    /// The directories of the app's copy that were emptied.
    pub emptied: Vec<String>,
    /// The counter of the database's queries; `None`: there is no database.
    pub query_counter: Option<QueryCounter>,
    /// The processes that wait for another one, in their order.
    pub delayed_starts: Vec<DelayedStart>,
    /// What the command of [`Placement::ask`] printed, or its error; `None`: there was no command.
    pub printed: Option<Result<String, Arc<RuntimeError>>>,
    /// The page that shows whether the app works.
    pub page: PageRequest,
    /// When the stack counts as started.
    pub ready: Readiness,
    /// Whether the app is watched ([`Placement::watch`]), so that no time of the stack counts.
    pub is_watched: bool,
}

/// The common templates that a line of `runtime.yaml` asks for.
const OF_PHP: [&str; 2] = ["php.ini.j2", "sendmail.sh"];
const WORKER: &str = "worker.php.j2";
/// Tells PHP that a request came by HTTPS, before each script: not every SAPI reads the environment.
const HTTPS: &str = "https.php";
/// The extensions that are loaded first: others need their symbols.
const FIRST: [&str; 7] = ["mysqlnd", "pdo", "xml", "dom", "igbinary", "msgpack", "sockets"];

/// Writes everything that the stack of `spec` needs, and starts no process of the stack itself.
/// `keep` creates the working directory, given the stack's id, and guards it from then on.
///
/// # Errors
/// A port, directory or file cannot be had, a program that prepares the app fails, or the error of
/// `keep`.
pub(crate) fn materialise(
    spec: &StackSpec,
    places: &SearchPaths,
    keep: &Supervise,
) -> Result<PreparedStack, RuntimeError> {
    let StackSpec { runtime: choice, placement, .. } = spec;
    let ResolvedRuntime { runtime, settings, needs, frameworks, deployed, images, php } =
        spec.resolved()?;
    let unprivileged = user::unprivileged();
    let user = unprivileged.as_ref();
    let port = port::free_port(placement.host(), placement.port)?;
    let (id, dir, keep) = working_directory(places, &spec.app, keep)?
        .map_err(|source| RuntimeError::Keeper { runtime: choice.name.clone(), source })?;
    let app = &runtime.with_database(&spec.app, &dir)?;
    let images = images.as_ref();
    let needs = reach::reachable(&dir, runtime, needs.clone(), user, images.is_some())?;
    let at = AppPath::of(app, &dir, &needs, user, keep.can_bind());
    let at = at.in_containers(images.is_some());
    let choice = &app.choice_with_own_php_ini(choice, at.directory());
    let env = app_env(app, choice);
    dotenv::learn_secrets_with_env(app, &env);
    let probe = format!("stampede-probe-{}.php", fresh::token());
    working_directory::fill(&dir, app, &at, &probe, user)?;
    placement.watch.map_or(Ok(()), |watch| watched(&dir, watch, user))?;
    let build = BuildContext { keep: &*keep, id: &id, dir: &dir, at: &at, images, user };
    let place = database::DatabaseContext { build: &build, needs: &needs };
    let query_counter = runtime.make_database(app, &place)?;
    let steps_env = base_env(&dir).into_iter().chain(env.clone()).collect();
    deployed.write_autoloader(app, &build, &steps_env)?;
    add_library_and_log(&dir, runtime, settings, user)?;

    let parts = Inputs { choice, runtime, app, at: &at, settings, needs: &needs, images, deployed };
    let values = parts.values(&dir, port, placement, &env, user)?;
    let files = parts.render_files(&dir, &values, user)?;
    let processes = parts.processes(&dir, &values, &env, user)?;
    let delayed_starts = listen_address::delayed_starts(&runtime.manifest, &values)?;
    let error_context = ErrorContext { runtime: &choice.name, dir: &dir };
    let own =
        StepContext { app, php: php.as_deref(), env: &steps_env, ask: placement.ask.as_deref() };
    let asks_it = query_counter.as_ref().filter(|_| own.needs_database());
    let servers = database::start_servers(&build, asks_it, &processes, &error_context)?;
    runtime.fill_database(app, &place)?;
    let printed = own.run(&build)?;
    servers.map_or(Ok(()), |servers| servers.stop(&error_context))?;
    // Not before: until here root's programs write into it.
    images.map_or(Ok(()), |_| working_directory::give_whole(&dir, user))?;
    let (status, grows) = worker_status_source(&runtime.manifest.effective_workers, &values)?;
    let given = parts.given(grows);
    let record = RuntimeRecord { given, ..parts.record(files, &processes, frameworks.clone()) };
    let emptied = match spec.caches {
        Caches::Kept => Vec::new(),
        Caches::Emptied => cold::empty_caches(&dir.join(COPY), &app.manifest.caches)?,
    };
    let stack = StackSetup {
        name: choice.name.clone(),
        app: app.clone(),
        ready_within: runtime.manifest.ready.within.0,
        status: status.map(PathBuf::from),
        runtime: runtime.clone(),
        settings: settings.clone(),
        at: at.clone(),
        processes: process_set(id, dir, at.bind(), placement, settings, processes, &delayed_starts),
        needs,
        listens_on: (placement.host(), port).into(),
        record,
        probe,
        emptied,
        query_counter,
        delayed_starts,
        printed,
        page: spec.page.clone(),
        ready: spec.ready,
        is_watched: placement.watch.is_some(),
    };
    Ok(PreparedStack { stack, keep })
}

/// Adds the PHP library of worker scripts and the access log, each where it is needed.
fn add_library_and_log(
    dir: &Path,
    runtime: &RuntimeDirectory,
    settings: &Settings,
    user: Option<&User>,
) -> Result<(), RuntimeError> {
    if runtime.manifest.php_library || runtime.manifest.worker.is_some() {
        library::copy_to(&dir.join("php"), user)?;
    }
    if settings.is_on("access_log") { access_log(dir, user) } else { Ok(()) }
}

const AT_ONCE: StopSpec = StopSpec { signal: libc::SIGKILL, grace: Nanos(0) };

/// The processes and their limits, as the keeper takes them.
fn process_set(
    id: String,
    dir: PathBuf,
    bind: Option<BindMount>,
    placement: &Placement,
    settings: &Settings,
    mut processes: Vec<ProcessSpec>,
    delayed_starts: &[DelayedStart],
) -> ProcessSetSpec {
    if placement.watch.is_some() {
        // Nothing is asked of them any more, and some take a second to end by themselves. A database
        // that is killed leaves memory behind.
        let own = processes.iter_mut().filter(|process| process.role != DATABASE_ROLE);
        own.for_each(|process| process.stop = AT_ONCE);
    }
    ProcessSetSpec {
        id,
        in_memory: vec![dir.join(SESSIONS)],
        bind,
        work: dir,
        cpus: placement.cpus.clone(),
        cpus_by_role: cpus_by_role(placement, settings),
        cpu_quota: placement.cpu_quota,
        memory_bytes: placement.memory_bytes,
        containers: None,
        first: first(&processes, delayed_starts),
        processes,
    }
}

/// The status page's socket, and whether fewer workers than asked for are right before the load.
fn worker_status_source(
    asked: &EffectiveWorkers,
    values: &Value,
) -> Result<(Option<String>, bool), RuntimeError> {
    let rendered = |text: &str| render("effective_workers", text, values);
    let status = asked.status.as_deref().map(rendered).transpose()?;
    let grows = rendered(asked.grows.as_deref().unwrap_or("false"))?;
    Ok((status, grows.eq_ignore_ascii_case("true")))
}

/// The number of processes that are started first; 0: all.
fn first(processes: &[ProcessSpec], delayed_starts: &[DelayedStart]) -> usize {
    match database::servers(processes).count() {
        0 => delayed_starts.first().map_or(0, |after| after.process),
        servers => servers,
    }
}

/// The CPUs of single roles: those of the plan, and the database's if it has CPUs of its own.
fn cpus_by_role(placement: &Placement, settings: &Settings) -> BTreeMap<String, Vec<usize>> {
    let mut cpus = placement.cpus_by_role.clone();
    let beside = settings.values.get(database::CPUS).is_some_and(|at| at == database::CPUS_OF[0]);
    if beside && !placement.beside.is_empty() {
        cpus.entry(DATABASE_ROLE.into()).or_insert_with(|| placement.beside.clone());
    }
    cpus
}

fn owned_pair((key, value): (&str, &str)) -> (String, String) {
    (key.into(), value.into())
}

/// What the steps of [`materialise`] share.
struct Inputs<'a> {
    choice: &'a RuntimeChoice,
    runtime: &'a RuntimeDirectory,
    app: &'a App,
    /// Where the processes see the app.
    at: &'a AppPath,
    settings: &'a Settings,
    needs: &'a BTreeMap<String, ResolvedNeed>,
    /// The images that the programs come from; `None`: from none.
    images: Option<&'a RuntimeImages>,
    deployed: &'a DeploymentSteps,
}

impl Inputs<'_> {
    /// All values that templates may name.
    fn values(
        &self,
        dir: &Path,
        port: u16,
        placement: &Placement,
        env: &BTreeMap<String, String>,
        user: Option<&User>,
    ) -> Result<Value, RuntimeError> {
        let manifest = &self.runtime.manifest;
        let mut ports: BTreeMap<String, u16> = BTreeMap::new();
        for name in &manifest.ports {
            let taken: Vec<u16> = ports.values().copied().chain([port]).collect();
            ports.insert(name.clone(), port::another_free_port(Ipv4Addr::LOCALHOST, &taken)?);
        }
        let all = std::thread::available_parallelism().map_or(1, usize::from);
        let cpus = if placement.cpus.is_empty() { all } else { placement.cpus.len() };
        let cpus_of: BTreeMap<&str, usize> = manifest
            .processes
            .iter()
            .map(|process| {
                let own = placement.cpus_by_role.get(&process.role).map(Vec::len);
                (process.role.as_str(), own.unwrap_or(cpus))
            })
            .collect();
        // `-` means minus in a template.
        let needs: BTreeMap<String, &Path> = self
            .needs
            .iter()
            .map(|(name, found)| (name.replace('-', "_"), found.path.as_path()))
            .collect();
        let (extensions, zend_extensions) = self.extensions();
        Ok(Value::from(Serde(json!({
            "dir": dir,
            "docroot": self.at.docroot(self.app),
            "app": { "dir": self.at.directory(), "kind": self.app.manifest.kind.name() },
            "index": self.app.manifest.index,
            "host": placement.host(),
            // The runtime's own port, which differs from the stack's port if a front listens there.
            "port": ports.get(front::BEHIND).copied().unwrap_or(port),
            "ports": ports,
            "front": { "port": port, "kept": self.runtime.front.is_some_and(|front| front.kept) },
            "worker": manifest.worker,
            "threads": manifest.php_threads,
            "workers": self.settings.workers(),
            "settings": self.settings.values,
            "needs": needs,
            "cpus": cpus,
            "cpus_of": cpus_of,
            "env": env,
            // Every process of a container runs as the user from its begin.
            "user": user.filter(|_| self.images.is_none()),
            "extensions": extensions,
            "zend_extensions": zend_extensions,
            "php_ini": self.choice.php_ini,
            "preload": self.deployed.preload, "directory": told(self.app, self.runtime, self.settings, &self.files(), dir)?,
            "https": self.app.manifest.settings.https,
        }))))
    }

    /// The extensions of the app that exist as files, in an order in which they can be loaded, then
    /// the runtime's own. The second list is OPcache if it is a file (from PHP 8.5 on it is built
    /// in).
    fn extensions(&self) -> (Vec<String>, Vec<String>) {
        let php = self.runtime.manifest.php.as_ref().and_then(|name| self.needs.get(&name.value));
        let files = self.files();
        let dir = match self.images {
            Some(images) => images.extension_dir().map(Path::to_path_buf),
            None => php.and_then(|php| locate::extension_dir(&php.path)),
        };
        let Some(dir) = dir else { return (Vec::new(), Vec::new()) };
        let exists = |name: &str| files.has(&dir.join(format!("{name}.so")));
        let mut wanted = crate::run_php::extensions(self.choice, self.app);
        let needs = &self.runtime.manifest.needs;
        let is_need =
            |name: &String| needs.values().any(|need| need.extension.as_ref() == Some(name));
        wanted.retain(|name| exists(name) && !is_need(name));
        in_loading_order(&mut wanted);
        // PHP looks for a plain name in the directory that was compiled in, not in its own one.
        let own_dir = php.filter(|_| self.images.is_none());
        let own_dir = own_dir.and_then(|php| locate::own_extensions(&php.path));
        let named = |name: &str| match &own_dir {
            Some(dir) => dir.join(format!("{name}.so")).display().to_string(),
            None => name.to_owned(),
        };
        let mut wanted: Vec<String> = wanted.iter().map(|name| named(name)).collect();
        // For an extension that is built in, the need's path is PHP itself.
        let own = |(name, need): (&String, &Need)| {
            let path = need.extension.as_ref().map(|_| &self.needs[name].path);
            let is_file = |path: &&PathBuf| path.extension().is_some_and(|end| end == "so");
            let path = path.filter(|path| php.is_none_or(|php| php.path != **path)).filter(is_file);
            path.map(|path| path.display().to_string())
        };
        wanted.extend(needs.iter().filter_map(own));
        let zend = if exists("opcache") { vec![named("opcache")] } else { Vec::new() };
        (wanted, zend)
    }

    /// Where programs and modules are, and whether they are there.
    fn files(&self) -> NeedFiles<'_> {
        NeedFiles { needs: self.needs, images: self.images }
    }

    fn render_files(
        &self,
        dir: &Path,
        values: &Value,
        user: Option<&User>,
    ) -> Result<BTreeMap<String, String>, RuntimeError> {
        let manifest = &self.runtime.manifest;
        let mut sources: Vec<(String, String)> = Vec::new();
        if manifest.php.is_some() {
            for name in OF_PHP {
                sources.push((name.into(), self.runtime.common_text(name)?));
            }
        }
        if self.app.manifest.settings.https == Some(true) && manifest.php.is_some() {
            sources.push((HTTPS.into(), self.runtime.common_text(HTTPS)?));
        }
        if manifest.worker.is_some() {
            sources.push((WORKER.into(), self.runtime.common_text(WORKER)?));
        }
        for file in &manifest.files {
            sources.push((file.value.clone(), self.runtime.text(&file.value)?));
        }
        let mut files = BTreeMap::new();
        for (source, text) in sources {
            let name = rendered_name(&source).to_string();
            let append = self.settings.append.get(&name).cloned().unwrap_or_default();
            let mut text = match source.ends_with(".j2") {
                true => {
                    let values = minijinja::context! { append => append.clone(), ..values.clone() };
                    self.runtime.render(&source, &text, &values)?
                }
                false => text,
            };
            // A template marks the place of raw lines with `{{ append }}`; otherwise they come
            // last.
            if !append.is_empty() && !text.contains(&append) {
                text = format!("{}\n{append}\n", text.trim_end());
            }
            let path = dir.join(&name);
            fs::write(&path, &text).map_err(io_error("write", &path))?;
            if let Some(user) = user {
                std::os::unix::fs::chown(&path, None, Some(user.gid))
                    .map_err(io_error("give away", &path))?;
            }
            mode(&path, 0o640)?;
            files.insert(name, text);
        }
        Ok(files)
    }

    fn processes(
        &self,
        dir: &Path,
        values: &Value,
        env: &BTreeMap<String, String>,
        user: Option<&User>,
    ) -> Result<Vec<ProcessSpec>, RuntimeError> {
        let processes = self.runtime.manifest.processes.iter().enumerate();
        processes
            .map(|(index, process)| self.process(index, process, dir, values, env, user))
            .collect()
    }

    fn process(
        &self,
        index: usize,
        process: &ProcessManifest,
        dir: &Path,
        values: &Value,
        app_env: &BTreeMap<String, String>,
        user: Option<&User>,
    ) -> Result<ProcessSpec, RuntimeError> {
        let role = &process.role;
        let place = format!("{}/runtime.yaml: run of `{role}`", self.runtime.name);
        let line = render(&place, &process.run.value, values)?;
        let words = shell_words::split(&line).unwrap_or_default();
        let known = words.first().and_then(|need| self.needs.get(need));
        let located = known.ok_or_else(|| RuntimeError::Manifest {
            file: format!("{}/runtime.yaml", self.runtime.name),
            line: 0,
            column: 0,
            problem: format!("`run` of role `{role}` must begin with one of its needs"),
            nearest: None,
        })?;
        let mut env = base_env(dir);
        env.extend(app_env.clone());
        for (key, text) in &process.env {
            let value = render(&place, text, values)?;
            if !value.is_empty() {
                env.insert(key.clone(), value);
            }
        }
        let cwd = process.cwd.as_deref().map(|text| render(&place, text, values)).transpose()?;
        Ok(ProcessSpec {
            role: role.clone(),
            program: located.path.clone(),
            args: words[1..].to_vec(),
            env,
            cwd: cwd.map_or_else(|| dir.to_path_buf(), PathBuf::from),
            input: None,
            user: user
                .filter(|_| process.user == RunAs::App || self.images.is_some())
                .map(|user| (user.uid, user.gid)),
            log: dir.join("logs").join(format!("{index}-{role}.log")),
            stop: StopSpec {
                signal: process.stop.signal.number(),
                grace: Nanos::from(process.stop.grace.0),
            },
        })
    }

    fn given(&self, grows: bool) -> RequestedSetup {
        let manifest = &self.runtime.manifest;
        let forced = &manifest.forced;
        // An extension that makes up the runtime does not count as one that the others lack.
        let own = || manifest.needs.values().filter_map(|need| need.extension.clone());
        RequestedSetup {
            php: self.settings.php.clone().unwrap_or_default(),
            provider: match self.images {
                Some(_) => ProviderKind::Images,
                None => ProviderKind::Native,
            },
            workers: self.settings.workers(),
            grows,
            keeps_memory: manifest.mode.keeps_memory(),
            threads: manifest.php_threads,
            ini: asked_ini(&self.settings.values, &self.choice.php_ini),
            forced_extensions: forced.extensions.iter().cloned().chain(own()).collect(),
            forced_ini: forced.ini.iter().cloned().chain(own().map(|name| name + ".*")).collect(),
            own_extensions: self.choice.as_today.is_some(),
        }
    }

    fn record(
        &self,
        files: BTreeMap<String, String>,
        processes: &[ProcessSpec],
        frameworks: BTreeMap<String, String>,
    ) -> RuntimeRecord {
        let commands = processes.iter().map(|process| {
            let words = std::iter::once(process.program.to_string_lossy())
                .chain(process.args.iter().map(|arg| arg.as_str().into()));
            format!("{}: {}", process.role, shell_words::join(words))
        });
        let of_needs = self.needs.iter().map(|(name, found)| (name.clone(), found.version.clone()));
        let versions = of_needs.chain(frameworks).collect();
        let built = self.needs.iter();
        let custom_builds =
            built.filter_map(|(name, found)| Some((name.clone(), found.custom_build?))).collect();
        let mark = locate::custom_build(self.needs).map_or("", |_| CustomBuild::MARK);
        let title = crate::run_php::title(self.choice, &self.runtime.manifest);
        let images = self.images.map(|images| format!(" in images {}", images.in_words()));
        RuntimeRecord {
            title: format!("{title}{}{mark}", images.unwrap_or_default()),
            mode: self.runtime.manifest.mode.name().into(),
            versions,
            custom_builds,
            settings: self.settings.values.clone(),
            files,
            commands: commands.collect(),
            differs: differences::sentences(&self.runtime.sources),
            ..RuntimeRecord::default()
        }
    }
}

/// Sorts extensions, each once, so that each comes after those whose symbols it needs.
pub(crate) fn in_loading_order(extensions: &mut Vec<String>) {
    let rank = |name: &String| FIRST.iter().position(|first| first == name);
    extensions.sort_by_key(|name| (rank(name).unwrap_or(FIRST.len()), name.clone()));
    extensions.dedup();
}

/// The basic environment of every process. Nothing of stampede's own environment reaches a runtime,
/// since it would make the runtimes of two users different.
fn base_env(dir: &Path) -> BTreeMap<String, String> {
    let tmp = dir.join("tmp").display().to_string();
    BTreeMap::from(
        [
            ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
            ("HOME", &tmp),
            ("TMPDIR", &tmp),
            ("LC_ALL", "C.UTF-8"),
            ("PHP_INI_SCAN_DIR", ""),
        ]
        .map(owned_pair),
    )
}
