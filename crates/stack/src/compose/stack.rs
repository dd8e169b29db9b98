//! A started compose project.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;
use stampede_compose::container::Container;
use stampede_compose::entrance::{Entrance, FailedConnects, all_at_once, listens_inside};
use stampede_compose::groups::check_groups;
use stampede_compose::health;
use stampede_linux::interrupt;
use stampede_mask::mask_foreign;
use stampede_model::fact::containers::ServiceCode;
use stampede_model::isolation::{Exit, IsolationRecord};
use stampede_model::load::{Address, Addresses};
use stampede_model::process_group::ProcessGroup;
use stampede_model::record::{
    ContainerRecord, ObservedState, ProviderKind, RequestedSetup, RuntimeRecord,
};
use stampede_model::redirect::is_redirect;
use stampede_model::time::Nanos;
use stampede_plan::model::RequestSpec;
use stampede_proof::RunningProgram;

use super::ResolvedProject;
use super::engine::WayIn;
use super::error::ComposeError;
use super::proof::{SeenStart, StackProof};
use super::running;
use super::start::Names;
use crate::answer::Answer;
use crate::app::App;
use crate::client::{ClientError, SingleClient, connect};
use crate::error::RuntimeError;
use crate::outside;
use crate::page::{Accepts, PageRequest, PageResult, Site, SiteRequest, request_page};
use crate::pages::AnswerContext;
use crate::placement::Placement;
use crate::process::cold::{LOOK, Rest, wait_until_rest};
use crate::process::port;
use crate::process::ready::{ReadyWait, comes_from_gateway};
use crate::process::stack::StackHandle;
use crate::provider::{Endpoint, Logs, Stack, StackLoss};
use crate::spec::{Readiness, StackSpec};

/// How long a project may take until it answers, if nobody says it: databases are made meanwhile.
const READY_WITHIN: Duration = Duration::from_secs(180);
/// How long the services beside the measured one may take until they work, where the app fails without.
const OTHERS_START_WITHIN: Duration = Duration::from_secs(60);
/// How long a worker of a web server may think that what is behind it is away.
const WORKERS_LEARN_WITHIN: Duration = Duration::from_secs(12);
/// How long one attempt to connect may take.
const CONNECTS_WITHIN: Duration = Duration::from_secs(1);

/// A compose project that was started. Its containers are removed when this value is dropped.
pub(super) struct ComposeStack {
    name: String,
    app: App,
    page: PageRequest,
    page_result: Option<PageResult>,
    ready: Readiness,
    pub(super) resolved: ResolvedProject,
    names: Names,
    pub(super) directory: PathBuf,
    handle: Box<dyn StackHandle>,
    pub(super) containers: Vec<Container>,
    entrance: Entrance,
    placement: Placement,
    first_answer: Nanos,
    first_request: Nanos,
    proof: StackProof,
    /// Where services have code from that is not mounted as the project says.
    code: Vec<ServiceCode>,
    /// The groups of the services within the budget.
    groups: BTreeMap<String, PathBuf>,
    /// Services that were not healthy in time.
    never_healthy: Vec<String>,
}

/// What a start made.
pub(super) struct StackParts {
    pub names: Names,
    pub directory: PathBuf,
    pub handle: Box<dyn StackHandle>,
    pub containers: Vec<Container>,
    pub entrance: Entrance,
    pub proof: StackProof,
    pub code: Vec<ServiceCode>,
    pub groups: BTreeMap<String, PathBuf>,
}

impl ComposeStack {
    pub fn new(spec: &StackSpec, resolved: ResolvedProject, parts: StackParts) -> ComposeStack {
        let StackParts { names, directory, handle, containers, entrance, proof, code, groups } =
            parts;
        ComposeStack {
            name: spec.runtime.name.clone(),
            app: spec.app.clone(),
            page: spec.page.clone(),
            page_result: None,
            ready: spec.ready,
            resolved,
            names,
            directory,
            handle,
            containers,
            entrance,
            placement: spec.placement.clone(),
            first_answer: Nanos::default(),
            first_request: Nanos::default(),
            proof,
            code,
            groups,
            never_healthy: Vec::new(),
        }
    }

    /// Waits until the project answers, as its description asks for.
    pub fn ready(mut self, begun: Instant) -> Result<ComposeStack, RuntimeError> {
        if let Some(failed) = self.containers.iter().find(|one| self.has_failed(one)) {
            return Err(self.ended(failed, &self.containers));
        }
        self.wait_for_port(begun)?;
        self.never_healthy = self.wait_until_healthy(begun)?;
        self.run_before_trial(begun)?;
        if self.ready == Readiness::Idle {
            let left = self.ready_within().saturating_sub(begun.elapsed());
            let found =
                wait_until_rest((left, LOOK), || self.check(), || true, || self.processes())?;
            return match found {
                Rest::Reached => self.with_containers_of_now(),
                Rest::NotListening => Err(self.not_ready("nothing listens there")),
            };
        }
        let is_awaited = Cell::new(false);
        let wait = ReadyWait {
            within: self.ready_within(),
            answers_within: self.page.within,
            check: &|| self.check(),
            ask: &|| request_page(&self, &self.app, &self.page, "/", self.page.within),
            may_change: &|found| {
                let status = found.answer.status;
                // An app fails until its database is there, which may be made at its first start.
                let may_wait = status >= 500 && begun.elapsed() < OTHERS_START_WITHIN;
                let may_change = self.containers.len() > 1
                    && (may_wait || comes_from_gateway(status, &found.answer.gist()));
                is_awaited.set(is_awaited.get() || may_change);
                may_change
            },
            not_ready: &|last| self.not_ready(last),
        };
        if let Some(answer) = wait.wait(begun)? {
            self.first_answer = Nanos::from(begun.elapsed());
            self.first_request = answer.took;
            if is_awaited.get() {
                self.wait_for_all_workers(&answer.page_result.path)?;
            }
            self.page_result = Some(answer.page_result);
        }
        if self.ready == Readiness::RightAnswer {
            self.check_page()?;
        }
        self.with_containers_of_now()
    }

    /// Waits until each worker of a web server knows that what is behind it is there. Of nginx, each one that asked
    /// too early answers once more that it is not, for ten seconds (`fail_timeout`).
    fn wait_for_all_workers(&self, path: &str) -> Result<(), RuntimeError> {
        let (address, headers) = (self.endpoint().addresses.first().clone(), &self.page.headers);
        let client = SingleClient::new(address, self.page.within);
        let request = SiteRequest { method: "GET", path, headers, body: b"" };
        let is_there = || match client.exchange(&request) {
            Ok(answer) => !matches!(answer.status, 502..=504),
            Err(_) => true,
        };
        let begun = Instant::now();
        // An app may answer so whenever it has much to do.
        while !all_at_once(is_there) && begun.elapsed() < WORKERS_LEARN_WITHIN {
            self.check()?;
            std::thread::sleep(RETRY_COMMAND);
        }
        self.check()
    }

    /// The same stack, which knows that services which prepare something have ended.
    fn with_containers_of_now(mut self) -> Result<ComposeStack, RuntimeError> {
        let now = Container::all(&self.resolved.engine, &self.names.id);
        self.containers = now.map_err(|problem| self.problem(problem))?;
        let ResolvedProject { engine, source, .. } = &self.resolved;
        running::place(engine.grouping, &self.containers, &source.beside, &self.placement);
        // What has started since must be in the budget, too.
        let checked = check_groups(&self.containers, &self.groups);
        checked.map_err(|problem| self.problem(problem))?;
        Ok(self)
    }

    /// Waits until the service accepts connections.
    fn wait_for_port(&self, begun: Instant) -> Result<(), RuntimeError> {
        let target = &self.resolved.target;
        let listens = || listens_inside(target, &self.containers);
        let mut failed = FailedConnects::to(&self.entrance);
        loop {
            self.check()?;
            let address = self.address()?;
            match connect(&Address::Tcp(address), CONNECTS_WITHIN) {
                Ok(()) => return Ok(()),
                Err(error) if begun.elapsed() > self.ready_within() => {
                    return Err(self.not_ready(&error.to_string()));
                }
                Err(error) if failed.show_unreached(&error, listens) => {
                    let (service, address) = (target.service.clone(), address.to_string());
                    return Err(self.problem(ComposeError::Unreached { service, address }));
                }
                Err(_) => std::thread::sleep(LOOK_AGAIN),
            }
        }
    }

    /// Waits until services are healthy by the project's own checks, which do not run later. The measured
    /// one is judged by its page: a check would be its first request. Returns those whose check cannot run, since its
    /// program is not in the image.
    fn wait_until_healthy(&self, begun: Instant) -> Result<Vec<String>, RuntimeError> {
        let mut never = Vec::new();
        let ResolvedProject { engine, project, target, .. } = &self.resolved;
        for container in self.containers.iter().filter(|one| one.service != target.service) {
            let service = project.service(&container.service);
            let Some(check) = service.and_then(health::check) else { continue };
            let check = check.iter().map(String::as_str);
            let words: Vec<&str> =
                ["exec", container.id.as_str()].into_iter().chain(check).collect();
            while container.runs() {
                let Err(failed) = engine.command(&words).run() else { break };
                let (service, said) = (container.service.clone(), failed.last_line());
                // An image may lack the program of its check.
                if said.contains("not found") && begun.elapsed() > OTHERS_START_WITHIN {
                    never.push(service);
                    break;
                }
                if begun.elapsed() > self.ready_within() {
                    let (within, log) = (self.ready_in_words(), self.log_of(container));
                    let said = mask_foreign(&said);
                    return Err(self.problem(ComposeError::NeverHealthy {
                        service,
                        within,
                        said,
                        log,
                    }));
                }
                self.check()?;
                std::thread::sleep(RETRY_COMMAND);
            }
        }
        Ok(never)
    }

    /// Runs the plan's commands in their services, one after the other. A command that fails is run
    /// again until the project should be ready: what it needs may still be starting.
    fn run_before_trial(&self, begun: Instant) -> Result<(), RuntimeError> {
        for (service, command) in &self.resolved.source.before_trial {
            let Some(own) = self.containers.iter().find(|one| one.service == *service) else {
                let known = self.containers.iter().map(|one| one.service.clone()).collect();
                let service = service.clone();
                return Err(self.problem(ComposeError::NoService { service, known }));
            };
            let words = ["exec", own.id.as_str(), "sh", "-c", command];
            while let Err(problem) = self.resolved.engine.run(&words) {
                self.check()?;
                if begun.elapsed() > self.ready_within() {
                    return Err(self.problem(problem));
                }
                std::thread::sleep(RETRY_COMMAND);
            }
        }
        Ok(())
    }

    fn ready_within(&self) -> Duration {
        self.app.manifest.ready_within().unwrap_or(READY_WITHIN)
    }

    fn ready_in_words(&self) -> String {
        format!("{} s", self.ready_within().as_secs_f64())
    }

    fn address(&self) -> Result<SocketAddr, RuntimeError> {
        let service = || self.resolved.target.service.clone();
        let no_address = || self.problem(ComposeError::NoAddress { service: service() });
        self.entrance.addresses.first().copied().ok_or_else(no_address)
    }

    /// Checks that the user has not interrupted, and that no container ended that should run.
    fn check(&self) -> Result<(), RuntimeError> {
        if interrupt::is_requested() {
            return Err(RuntimeError::Interrupted { runtime: self.name.clone() });
        }
        // One that has ended before this list was made was judged then.
        if self.containers.iter().all(|one| one.main.is_none() || one.runs()) {
            return Ok(());
        }
        let now = Container::all(&self.resolved.engine, &self.names.id).unwrap_or_default();
        let failed = now.iter().find(|one| self.has_failed(one));
        failed.map_or(Ok(()), |one| Err(self.ended(one, &now)))
    }

    /// Whether a container has ended that should run. A service that prepares something ends with
    /// success. Services that the measured one does without are not judged.
    fn has_failed(&self, container: &Container) -> bool {
        let target = self.resolved.target.service.as_str();
        let has_prepared =
            container.service != target && container.state == "exited" && container.exit_code == 0;
        let needed = || self.resolved.project.needed_by([target].into_iter());
        !container.runs() && !has_prepared && needed().contains(&container.service)
    }

    /// `all`: the containers of the stack as they are now.
    fn ended(&self, container: &Container, all: &[Container]) -> RuntimeError {
        let others = container.others_ended(all, &self.resolved.project);
        let (service, state) = (container.service.clone(), container.end_in_words(&others));
        let log = others.iter().fold(self.log_of(container), |log, one| log + &self.log_of(one));
        self.problem(ComposeError::Ended { service, state, log })
    }

    /// Checks that the page's last answer is right. A redirect that leads elsewhere is no error:
    /// the load decides whether it is measured.
    fn check_page(&self) -> Result<(), RuntimeError> {
        let Some(found) = &self.page_result else { return Err(self.not_ready("no answer")) };
        let wrong = found.wrong.clone().filter(|_| !is_redirect(found.answer.status));
        let Some(wrong) = wrong else { return Ok(()) };
        let (path, wrong, log) = (found.path.clone(), mask_foreign(&wrong), self.log_lines());
        Err(self.problem(ComposeError::WrongPage { path, wrong, log }))
    }

    fn problem(&self, problem: ComposeError) -> RuntimeError {
        RuntimeError::Containers { runtime: self.name.clone(), problem: Box::new(problem) }
    }

    fn not_ready(&self, last: &str) -> RuntimeError {
        let target = &self.resolved.target;
        self.problem(ComposeError::NotReady {
            service: target.service.clone(),
            port: target.port,
            within: self.ready_in_words(),
            last: last.to_owned(),
            log: self.log_lines(),
        })
    }

    fn page_once(&self) -> Result<Answer, RuntimeError> {
        let path = self.page().path.unwrap_or_else(|| "/".to_owned());
        let answer = self.request_path(&path, &self.page.headers, self.page.within);
        let answer = answer.map_err(|error| {
            let problem = error.to_string();
            self.problem(ComposeError::NoAnswer { path: path.clone(), problem })
        })?;
        // A redirect that was not followed is left for the load to judge.
        let is_judged = self.page.accepts == Accepts::Correct && !is_redirect(answer.status);
        match self.app.wrong(&answer).filter(|_| is_judged) {
            None => Ok(answer),
            Some(wrong) => {
                let log = self.log_lines();
                Err(self.problem(ComposeError::WrongPage { path, wrong, log }))
            }
        }
    }

    fn answer_context(&self) -> AnswerContext<'_> {
        let port = self.entrance.addresses.first().map_or(0, SocketAddr::port);
        AnswerContext { app: &self.app, port, dir: None }
    }

    fn given(&self) -> RequestedSetup {
        let php = self.resolved.source.php.as_ref().map(|php| php.version.clone());
        let provider = ProviderKind::Compose;
        let ini = self.resolved.php_ini.clone();
        RequestedSetup { provider, php: php.unwrap_or_default(), ini, ..RequestedSetup::default() }
    }

    fn within_budget(&self) -> impl Iterator<Item = &Container> {
        let beside = &self.resolved.source.beside;
        self.containers.iter().filter(|one| !beside.contains(&one.service))
    }
}

/// The pause between two attempts to connect.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// The pause before a command is run again.
const RETRY_COMMAND: Duration = Duration::from_secs(1);

impl Stack for ComposeStack {
    fn name(&self) -> &str {
        &self.name
    }

    fn endpoint(&self) -> Endpoint {
        let all: Vec<Address> =
            self.entrance.addresses.iter().map(|address| Address::Tcp(*address)).collect();
        let nowhere = || Address::Tcp((std::net::Ipv4Addr::LOCALHOST, 0).into()).into();
        let addresses = Addresses::try_from(all).unwrap_or_else(|_| nowhere());
        Endpoint { addresses, host: None, base: String::new() }
    }

    fn record(&self) -> RuntimeRecord {
        let ResolvedProject { engine, project, target, source, env, .. } = &self.resolved;
        let files: Vec<String> =
            source.files.iter().map(|file| file.display().to_string()).collect();
        let mut settings = BTreeMap::from([
            ("compose".to_owned(), Value::from(files)),
            ("service".to_owned(), Value::from(target.service.as_str())),
            ("port".to_owned(), Value::from(target.port)),
        ]);
        if engine.way_in == WayIn::PublishedPort {
            settings.insert("way_in".to_owned(), Value::from("published_port"));
        }
        if !source.beside.is_empty() {
            settings.insert("beside".to_owned(), Value::from(source.beside.clone()));
        }
        for (name, value) in env {
            settings.insert(format!("env.{name}"), Value::from(value.as_str()));
        }
        let record = |one: &Container| ContainerRecord {
            is_proxied: engine.way_in == WayIn::PublishedPort && one.service == target.service,
            ..one.record(engine, source.beside.contains(&one.service))
        };
        let containers: Vec<ContainerRecord> = self.containers.iter().map(record).collect();
        let mut versions: BTreeMap<String, String> =
            containers.iter().map(ContainerRecord::as_version).collect();
        versions.insert("engine".to_owned(), engine.version.clone());
        versions.insert("compose".to_owned(), engine.compose_version.clone());
        let document = serde_json::to_string_pretty(&project.document).unwrap_or_default();
        RuntimeRecord {
            title: format!("compose project, service {}", target.service),
            versions,
            settings,
            files: BTreeMap::from([("compose.json".to_owned(), document)]),
            first_answer_ns: self.first_answer.0,
            first_request_ns: self.first_request.0,
            given: self.given(),
            containers,
            ..RuntimeRecord::default()
        }
    }

    fn isolation(&self) -> IsolationRecord {
        let grouping = self.resolved.engine.grouping;
        running::isolation(grouping, self.handle.isolation(), self.placement.memory_bytes)
    }

    fn group(&self) -> ProcessGroup {
        let within: Vec<&Container> = self.within_budget().collect();
        running::process_group(self.resolved.engine.grouping, self.handle.as_ref(), &within)
    }

    fn page(&self) -> PageRequest {
        let led = self.page_result.as_ref().map(|found| found.path.clone());
        let page = self.page.clone();
        PageRequest { path: Some(led.or(page.path).unwrap_or_else(|| "/".to_owned())), ..page }
    }

    fn page_result(&self) -> Option<&PageResult> {
        self.page_result.as_ref()
    }

    fn use_page(&mut self, page: PageRequest) -> Result<(), RuntimeError> {
        self.page = page;
        let found = request_page(&*self, &self.app, &self.page, "/", self.page.within);
        self.page_result = Some(found.map_err(|error| self.not_ready(&error.to_string()))?);
        Ok(())
    }

    fn verify(&self, requests: &[&RequestSpec]) -> Result<ObservedState, RuntimeError> {
        let programs = || RunningProgram::all(&self.processes());
        let before = programs();
        let observed =
            outside::verify(self, &self.answer_context(), || self.page_once(), requests)?;
        let ask = |token: &str| {
            let page = self.page();
            let header = (stampede_proof::HEADER.to_owned(), token.to_owned());
            let headers: Vec<_> = page.headers.into_iter().chain([header]).collect();
            let answer = self.request_path(&page.path.unwrap_or_default(), &headers, page.within);
            Some(answer.ok()?.body)
        };
        let seen = SeenStart {
            containers: self.within_budget().collect(),
            target: &self.resolved.target.service,
            programs: [before, programs()],
            never_healthy: &self.never_healthy,
            code: &self.code,
            ask: &ask,
        };
        Ok(self.proof.complete(&seen, observed))
    }

    fn comparable_answer(&self) -> Result<String, RuntimeError> {
        Ok(self.answer_context().shown(&self.page_once()?))
    }

    fn gone(&self) -> Option<StackLoss> {
        let source = self.handle.lost()?;
        Some(StackLoss::Lost(RuntimeError::Lost { runtime: self.name.clone(), source }))
    }

    fn stop(self: Box<Self>) -> Result<Vec<Exit>, RuntimeError> {
        let ComposeStack { name, handle, .. } = *self;
        handle.stop().map_err(|source| RuntimeError::Lost { runtime: name, source })
    }

    fn is_started(&self) -> bool {
        true
    }

    fn logs(&self) -> &dyn Logs {
        self
    }

    fn directory(&self) -> Option<&Path> {
        Some(&self.directory)
    }

    fn processes(&self) -> Vec<(String, u32)> {
        port::processes(&self.group())
    }

    fn exited(&self) -> Vec<Exit> {
        // A service that prepares something has ended before, and is not in this list as running.
        let mut ended = self
            .containers
            .iter()
            .enumerate()
            .filter(|(_, one)| one.main.is_some() && !one.runs())
            .peekable();
        if ended.peek().is_none() {
            return Vec::new();
        }
        let now = Container::all(&self.resolved.engine, &self.names.id).unwrap_or_default();
        let exit = |(process, one): (usize, &Container)| {
            let now = now.iter().find(|now| now.id == one.id);
            let code = now.and_then(|now| i32::try_from(now.exit_code).ok());
            let has_failed = now.is_none_or(|now| self.has_failed(now));
            has_failed.then(|| Exit { process, role: one.service.clone(), code, signal: None })
        };
        ended.filter_map(exit).collect()
    }

    fn oom_kills(&self) -> u64 {
        stampede_monitor::oom_kills(&self.group())
    }
}

impl Site for ComposeStack {
    fn send(&self, request: &SiteRequest<'_>, within: Duration) -> Result<Answer, ClientError> {
        let addresses = self.endpoint().addresses;
        SingleClient::new(addresses.first().clone(), within).exchange(request)
    }

    fn hosts(&self) -> Vec<String> {
        let mut hosts = vec!["localhost".to_owned()];
        for address in &self.entrance.addresses {
            hosts.push(format!("localhost:{}", address.port()));
            hosts.push(address.to_string());
        }
        hosts
    }
}
