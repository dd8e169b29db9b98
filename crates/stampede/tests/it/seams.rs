//! The acceptance of every provider and every generator: one stack under two names is no
//! difference, and a planted difference of 5 % is found. Two stubs pass it without a process, a
//! socket or a clock; they take the place of the real ones in a whole comparison.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Output;
use std::sync::Mutex;
use std::time::Duration;

use stampede_keeper::KeeperOptions;
use stampede_load::example::UnusualLengths;
use stampede_load::protocol::Aside;
use stampede_load::{Generator, InProcess, Listener, Load, LoadError, LoadResult};
use stampede_model::counts::{Connections, Counts, End, TimeSet};
use stampede_model::event::{Event, EventListener};
use stampede_model::isolation::{Exit, IsolationRecord};
use stampede_model::load::Address;
use stampede_model::process_group::ProcessGroup;
use stampede_model::record::{ObservedState, RuntimeRecord};
use stampede_model::stop::Stop;
use stampede_model::time::Nanos;
use stampede_monitor::machine;
use stampede_plan::Overrides;
use stampede_plan::model::{Plan, RequestSpec, RuntimeChoice};
use stampede_results::store::{self, RunDirectory};
use stampede_results::summary::model::{self, Standing};
use stampede_results::summary::{RunData, summarize};
use stampede_stack::{
    Answer, App, Catalogue, ClientError, Endpoint, PageRequest, PageResult, ProcessProvider,
    Provider, Providers, RuntimeError, RuntimeTraits, SearchPaths, Site, SiteRequest, Stack,
    StackLoss, StackRequest, StackSpec,
};
use stampede_stats::histogram::Times;
use stampede_traffic::TrafficNotes;
use stampede_trial::comparison::{Comparison, Seams};

use crate::common::{Sandbox, finish, skipped, stderr, stdout};

/// Starts stacks that exist only in this test. Each has a port that says which runtime it is.
struct StubProvider;

struct StubStack {
    name: String,
    page: PageRequest,
}

impl Provider for StubProvider {
    fn starts(&self, _runtime: &RuntimeChoice) -> bool {
        true
    }

    fn traits(&self, _runtime: &RuntimeChoice, _app: &App) -> Result<RuntimeTraits, RuntimeError> {
        Ok(RuntimeTraits::UNKNOWN)
    }

    fn resolve(&self, request: &StackRequest<'_>) -> Result<StackSpec, RuntimeError> {
        Ok(StackSpec::of(request))
    }

    fn start(&self, spec: &StackSpec) -> Result<Box<dyn Stack>, RuntimeError> {
        Ok(Box::new(StubStack { name: spec.runtime.name.clone(), page: spec.page.clone() }))
    }
}

/// Ports of the stacks: the slower one, and all others.
const SLOWER: u16 = 2;
const OTHERS: u16 = 1;

impl Stack for StubStack {
    fn name(&self) -> &str {
        &self.name
    }

    fn endpoint(&self) -> Endpoint {
        let port = if self.name == "slower" { SLOWER } else { OTHERS };
        let address = Address::Tcp(SocketAddr::from(([127, 0, 0, 1], port)));
        Endpoint { addresses: address.into(), host: None, base: String::new() }
    }

    fn record(&self) -> RuntimeRecord {
        RuntimeRecord { title: self.name.clone(), ..RuntimeRecord::default() }
    }

    fn isolation(&self) -> IsolationRecord {
        IsolationRecord::default()
    }

    fn group(&self) -> ProcessGroup {
        ProcessGroup { roles: Vec::new() }
    }

    fn page(&self) -> PageRequest {
        self.page.clone()
    }

    fn page_result(&self) -> Option<&PageResult> {
        None
    }

    fn use_page(&mut self, page: PageRequest) -> Result<(), RuntimeError> {
        self.page = page;
        Ok(())
    }

    fn verify(&self, _requests: &[&RequestSpec]) -> Result<ObservedState, RuntimeError> {
        Ok(ObservedState { answer: "fine".to_owned(), ..ObservedState::default() })
    }

    fn comparable_answer(&self) -> Result<String, RuntimeError> {
        Ok("fine".to_owned())
    }

    fn gone(&self) -> Option<StackLoss> {
        None
    }

    fn stop(self: Box<Self>) -> Result<Vec<Exit>, RuntimeError> {
        Ok(Vec::new())
    }

    fn is_started(&self) -> bool {
        true
    }
}

impl Site for StubStack {
    fn send(&self, _: &SiteRequest<'_>, _: Duration) -> Result<Answer, ClientError> {
        Ok(Answer::of_text(200, Vec::new(), "fine"))
    }

    fn hosts(&self) -> Vec<String> {
        Vec::new()
    }
}

/// Sends nothing. Its answers take 10 ms, and 5 % longer from the slower stack; both vary by 1 %
/// from trial to trial.
struct StubGenerator {
    random: Mutex<fastrand::Rng>,
    slower_by: f64,
}

const ANSWERS: u64 = 1000;
const ANSWER_NS: f64 = 10e6;

impl Generator for StubGenerator {
    fn run(
        &self,
        load: &Load,
        _stop: &Stop,
        listener: &mut dyn Listener,
    ) -> Result<LoadResult, LoadError> {
        listener.before_load();
        let is_slower =
            matches!(load.target.first(), Address::Tcp(address) if address.port() == SLOWER);
        let noise = self.random.lock().expect("no panic").f64() * 0.02 - 0.01;
        let factor = (1.0 + noise) * if is_slower { 1.0 + self.slower_by } else { 1.0 };
        let answer = (ANSWER_NS * factor) as u64;
        let mut times = TimeSet::empty();
        (0..ANSWERS).for_each(|_| times.service_time.record(answer));
        let lasted = Nanos(answer * ANSWERS);
        Ok(LoadResult {
            counts: Counts { planned: ANSWERS, started: ANSWERS, ok: ANSWERS, ..Counts::default() },
            service_time_all: times.service_time.clone(),
            times,
            connect_time: Times::new(),
            scheduled: lasted,
            lasted,
            ok_inside: ANSWERS,
            in_flight_integral: u128::from(lasted.0),
            in_flight_max: 1,
            connections: Connections::default(),
            busy_share_max: 0.1,
            stretched: 1.0,
            examples: Vec::new(),
            engine: "stub".to_owned(),
            end: End::Complete,
            not_due: 0,
            tags: BTreeMap::new(),
            records_lost: 0,
            traffic: TrafficNotes::default(),
            odd: BTreeMap::new(),
            unusual: UnusualLengths::default(),
            aside: Aside::default(),
            agents: Vec::new(),
        })
    }
}

struct Quiet;

impl EventListener for Quiet {
    fn event(&mut self, _event: &Event<'_>) {}
}

/// The standing of each runtime beside the first one of the plan.
fn standings(plan: Plan, catalogue: &Catalogue, seams: Seams) -> BTreeMap<String, Standing> {
    let comparison = Comparison::with(plan, catalogue, seams, &machine::facts()).expect("fits");
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().join("run");
    let mut directory = RunDirectory::create(Some(&path), comparison.record()).expect("a run");
    comparison.run(&mut directory, &mut Quiet).expect("written");
    standings_of(&path)
}

/// The same of a run that is on disk.
fn standings_of(path: &Path) -> BTreeMap<String, Standing> {
    let stored = store::read_run(path).expect("a run");
    let summary = summarize(&RunData::read(&stored).expect("its data"));
    let group = &summary.groups[0];
    let standing = |one: &model::Comparison| (one.runtime.clone(), one.standing(group.primary));
    group.comparisons.iter().map(standing).collect()
}

/// `one` beside `same` and `slower`, all of them stubs.
fn stubs(slower_by: f64) -> BTreeMap<String, Standing> {
    let flags = Overrides {
        app: Some("hello".to_owned()),
        runtimes: Some("one,same,slower".to_owned()),
        concurrency: Some("1".to_owned()),
        for_: Some("10s".to_owned()),
        rounds: Some("9".to_owned()),
        warm_up: Some("0s".to_owned()),
        ..Overrides::default()
    };
    let plan = stampede_plan::from_flags(&flags).expect("a plan");
    let random = Mutex::new(fastrand::Rng::with_seed(7));
    let seams = Seams {
        provider: Box::new(StubProvider),
        generator: Box::new(StubGenerator { random, slower_by }),
        sends_here: false,
    };
    standings(plan, &Catalogue::load(SearchPaths::default()), seams)
}

#[test]
fn stubs_are_accepted() {
    let found = stubs(0.05);
    assert_eq!(found["slower"], Standing::Worse, "{found:?}");
    assert!(is_no_difference(found["same"]), "{found:?}");
    let none = stubs(0.0);
    assert_ne!(none["slower"], Standing::Worse, "{none:?}");
}

fn is_no_difference(standing: Standing) -> bool {
    [Standing::Equivalent, Standing::Inconclusive].contains(&standing)
}

/// How long answers take, in µs: so long that what disturbs the machine for a moment matters little.
pub const ANSWER_US: u32 = 40_000;
/// The same with the planted difference: 5 % more.
pub const SLOWER_US: u32 = 42_000;

/// An app that sleeps as long as a variable says, for answers of a known time.
const APP: &str = "<?php usleep((int) getenv('SLEEP_US')); echo 'fine';";

/// Accepts real stacks of `runtimes`, a list of a plan with `one`, `same` and `slower`.
fn accept(runtimes: &str, provider: impl Fn(&Catalogue, &Path) -> Box<dyn Provider>) {
    let place = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| {
        std::fs::write(place.path().join(name), text).expect("written");
    };
    std::fs::create_dir_all(place.path().join("app/public")).expect("a directory");
    write("app/app.yaml", "title: it\nkind: script\ndocroot: public\n");
    write("app/public/index.php", APP);
    write(
        "plan.yaml",
        &format!(
            "app: ./app\nwarm_up: 200ms\nrounds: 6\nworkers: 1\nload: {{one: {{concurrency: 1, for: 1s}}}}\n\
             runtimes: [{runtimes}]\n"
        ),
    );
    let found = || {
        let plan = place.path().join("plan.yaml");
        let plan = stampede_plan::read(&plan, &Overrides::default()).expect("a plan");
        let catalogue = Catalogue::load(SearchPaths::from_env());
        let seams = Seams {
            provider: provider(&catalogue, place.path()),
            generator: Box::new(InProcess),
            // The pinning would hold for all tests of this program.
            sends_here: false,
        };
        standings(plan, &catalogue, seams)
    };
    assert_accepted(found);
}

/// Asserts that `same` is no difference and `slower` is one. A difference by chance is found in one
/// comparison of twenty, so it must be found twice to count.
fn assert_accepted(found: impl Fn() -> BTreeMap<String, Standing>) {
    let first = found();
    assert_eq!(first["slower"], Standing::Worse, "{first:?}");
    assert!(is_no_difference(first["same"]) || is_no_difference(found()["same"]), "{first:?}");
}

/// Accepts what `stampede compare` measures with these arguments.
pub fn accept_command(compare: impl Fn(&Sandbox, &[&str]) -> Output, args: &[&str]) {
    let sandbox = Sandbox::new();
    let rounds = std::cell::Cell::new(0);
    assert_accepted(|| {
        rounds.set(rounds.get() + 1);
        let out = format!("run-{}", rounds.get());
        let load = ["--for", "1s", "--warm-up", "200ms", "--rounds", "6", "--out", &out];
        let output = compare(&sandbox, &[&["compare"], args, &load].concat());
        let run = sandbox.path().join(&out);
        assert!(run.join("summary.json").is_file(), "{}{}", stdout(&output), stderr(&output));
        standings_of(&run)
    });
}

#[test]
#[ignore = "long: 50 s"]
fn processes_are_accepted() {
    if skipped(&["php"]) {
        return;
    }
    let runtime = |name: &str, us: u32| {
        format!("{{{name}: {{use: php-builtin, env: {{SLEEP_US: '{us}'}}}}}}")
    };
    let runtimes =
        [runtime("one", ANSWER_US), runtime("same", ANSWER_US), runtime("slower", SLOWER_US)];
    accept(&runtimes.join(", "), |catalogue, place| {
        let options = KeeperOptions {
            program: env!("CARGO_BIN_EXE_stampede").into(),
            journal: place.join("journal"),
            ..KeeperOptions::default()
        };
        Box::new(ProcessProvider::with_keeper(catalogue.clone(), options))
    });
}

#[test]
#[ignore = "long: 40 s"]
fn servers_that_already_run_are_accepted() {
    accept(&servers(), |catalogue, _| Box::new(Providers::new(catalogue.clone())));
}

/// Two agents send the load.
#[test]
#[ignore = "long: 50 s"]
fn agents_are_accepted() {
    let plan = format!("runtimes: [{}]\nload: {{one: {{concurrency: 2, for: 1s}}}}\n", servers());
    let compare = |sandbox: &Sandbox, args: &[&str]| {
        sandbox.write("plan.yaml", &plan);
        finish(sandbox.stampede(args), Duration::from_secs(240))
    };
    accept_command(compare, &["plan.yaml", "--agents", "local:2"]);
}

/// `one`, `same` and `slower`, servers of this process, as a list of a plan.
fn servers() -> String {
    let server = |us: u32| {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("its address"));
        // Ends with the test's process, because it waits for connections until then.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || serve(stream, Duration::from_micros(us.into())));
            }
        });
        url
    };
    let runtime =
        |name: &str, us: u32| format!("{{{name}: {{use: external, url: '{}'}}}}", server(us));
    [runtime("one", ANSWER_US), runtime("same", ANSWER_US), runtime("slower", SLOWER_US)].join(", ")
}

/// Answers each request after a sleep, until the client closes.
fn serve(stream: TcpStream, sleep: Duration) {
    stream.set_nodelay(true).expect("an option");
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    while reader.read_line(&mut line).is_ok_and(|length| length > 0) {
        if line == "\r\n" {
            std::thread::sleep(sleep);
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nfine";
            if reader.get_mut().write_all(answer).is_err() {
                return;
            }
        }
        line.clear();
    }
}
