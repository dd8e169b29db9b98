//! Converts flags to a load that is ready to be sent.

use std::collections::HashSet;
use std::path::Path;

use stampede_linux::reach::Reach;
use stampede_load::spec::{CpuSharing, EngineChoice, Load};
use stampede_model::agent_places::Agents;
use stampede_model::expectation::{Expectation, Figure};
use stampede_model::fact::{Before, Fact, Reason, Traffic};
use stampede_model::load::{Address, Arrivals, ConnectionHabit, HttpVersion, Model, Until};
use stampede_model::machine::MachineFacts;
use stampede_model::time::Nanos;
use stampede_plan::autostop::{Autostop, Judge};
use stampede_plan::imported::ImportedLoad;
use stampede_plan::lookup::Lookup;
use stampede_plan::model::{KeepAlive, LoadChoice};
use stampede_plan::tank::{self, Criterion, TankConfig};
use stampede_plan::target::{Target, TargetError};
use stampede_plan::{self, Overrides};

use super::agents;
use super::error::FireError;
use super::limits::{LimitSource, Limits};
use super::traffic;
use crate::cli::args_fire::{Engine, FireArgs, TrafficOrder};
use crate::cli::{Failure, plan_flags};
use stampede_trial as trial;

/// A load that is ready, with everything that belongs to it.
pub struct PreparedLoad {
    /// URL of the target, with its secrets.
    pub url: String,
    /// The load as the flags describe it.
    pub choice: LoadChoice,
    /// The complete load.
    pub load: Load,
    /// The agents that send the load; `None`: this process does.
    pub agents: Option<Agents>,
    /// The criteria that end the load early; `None`: there are none.
    pub autostop: Option<Judge>,
    /// Notes for the user before the load starts.
    pub notes: Vec<Before>,
}

impl PreparedLoad {
    /// Converts the notes to facts of the result.
    pub fn notes(&self) -> impl Iterator<Item = Fact<Reason>> {
        self.notes.iter().map(|found| Traffic::BeforeLoad { found: found.clone() }.into())
    }

    /// Reads the flags, and checks the limits of the machine.
    pub fn of(args: &FireArgs, machine: &MachineFacts) -> Result<PreparedLoad, Failure> {
        let given = tank::Given { url: args.url.clone(), traffic: args.traffic.traffic.clone() };
        let tank = args.traffic.tank.as_deref().map(|path| tank::read(path, &given)).transpose()?;
        let script = traffic::script(args)?;
        let of_tank = tank.as_ref().map(|tank| tank.url.clone());
        let url = args.url.clone().or(of_tank).unwrap_or_default();
        is_no_file(&url)?;
        does_something(args)?;
        names_a_load(args, script.as_ref())?;
        let (mut choice, warm_up) = load_choice(args, tank.as_ref())?;
        choice.expect.iter().try_for_each(is_measured)?;
        let agents = agents::read(&args.agents)?;
        let lookup = Lookup::parse(&args.connect_to, &args.resolve).map_err(TargetError::from)?;
        let mut target = Target::parse(&url, &lookup)?;
        // An address that may be somebody else's is not even connected to.
        // Nor is one that only agents may reach.
        let by_agents = agents.as_ref().is_some_and(Agents::are_elsewhere);
        let taken = target.choose(|ip| {
            !by_agents && (args.i_may_load_this_host || Reach::of(ip) == Reach::Near)
        })?;
        may_be_loaded(args, &url, &target)?;
        if let Some(host) = host_header(args) {
            target.set_server_name(host)?;
        }
        if tank.is_some() && target.script().is_some() {
            return Err(FireError::TankToFastCgi.into());
        }
        target.settle(&mut choice.client);
        let source = traffic::Files { tank: tank.as_ref(), script: script.as_ref() };
        let load = load(args, source, &choice, &target)?;
        let mut load = Load { cpus: cpus(args, machine)?, ..load };
        if load.traffic.ends_connections(load.habits) {
            load.habits.connection = ConnectionHabit::PerRequest;
            choice.client.keep_alive = KeepAlive::Off;
        }
        let asked = [&args.load.concurrency, &args.load.max_in_flight];
        let source = match args.connections.is_some() || asked.iter().any(|flag| flag.is_some()) {
            true => LimitSource::ByFlag,
            false => LimitSource::ByDefault,
        };
        let mut notes = match &agents {
            None => Limits { machine, source, spare_files: SPARE_FILES }.check(&load)?,
            Some(agents) => {
                agents::fit(agents, &load)?;
                Vec::new()
            }
        };
        notes.extend(taken.map(Before::Addresses));
        let passed_over = tank.iter().flat_map(|tank| &tank.unsupported);
        notes.extend(passed_over.map(|one| {
            let (key, instead) = (one.key.clone(), one.why.to_owned());
            Before::KeyPassedOver { key, line: one.line, instead }
        }));
        notes.extend(script.iter().flat_map(left_out));
        notes.extend(default_load(args).as_ref().map(DefaultLoad::note));
        notes.extend(idle_path(args, &target));
        if let Some(pipe) = pipe(args).filter(|_| warm_up > Nanos(0)) {
            return Err(FireError::PipeReadTwice { path: pipe.to_owned() }.into());
        }
        load.warm_up = (warm_up > Nanos(0)).then(|| trial::traffic::warm_up(&load.model, warm_up));
        let of_tank = tank.as_ref().map_or(&[][..], |tank| &tank.autostop);
        let autostop = autostop(of_tank, &args.autostop, &load)?;
        Ok(PreparedLoad { url, choice, load, agents, autostop, notes })
    }
}

/// Notes what is not taken over of a script.
pub fn left_out(script: &ImportedLoad) -> impl Iterator<Item = Before> {
    script.left_out_by_kind().into_iter().map(|(what, lines)| {
        let instead = what.why().to_owned();
        Before::LeftOutOfScript { what: what.to_string(), lines, instead }
    })
}

/// Refuses a script without a load on the command line, and names the load that the script has.
fn names_a_load(args: &FireArgs, script: Option<&ImportedLoad>) -> Result<(), FireError> {
    let Some((script, path)) = script.zip(args.traffic.traffic.as_ref()) else { return Ok(()) };
    match &script.load {
        Some(proposed) if default_load(args).is_some() => {
            let (path, flags) = (path.clone(), proposed.to_string());
            Err(FireError::LoadOfScript { path, tool: script.tool.name(), flags })
        }
        _ => Ok(()),
    }
}

/// What is sent where no flag says how many requests at a time, or at which rate.
struct DefaultLoad {
    concurrency: &'static str,
    /// `None`: the flags say when it ends.
    length: Option<&'static str>,
}

impl DefaultLoad {
    fn note(&self) -> Before {
        let length = self.length.map(|length| format!(" --for {length}")).unwrap_or_default();
        Before::DefaultLoad { flags: format!("--concurrency {}{length}", self.concurrency) }
    }
}

/// The default load, as far as the flags do not say it; `None`: they say the load.
fn default_load(args: &FireArgs) -> Option<DefaultLoad> {
    let given = &args.load;
    let is_said = by_schedule(args)
        || given.concurrency.is_some()
        || args.connections.is_some()
        || args.traffic.tank.is_some();
    let ends = given.length.is_some()
        || given.requests.is_some()
        || args.traffic.once
        || args.traffic.traffic_limit.is_some();
    let length = (!ends).then_some("10s");
    (!is_said).then_some(DefaultLoad { concurrency: "10", length })
}

/// Returns the `Host` header of the flags.
fn host_header(args: &FireArgs) -> Option<&str> {
    let mut headers = args.header.iter().filter_map(|header| header.split_once(':'));
    headers.find(|(name, _)| name.trim().eq_ignore_ascii_case("host")).map(|(_, host)| host.trim())
}

/// Refuses a file in place of the URL.
fn is_no_file(url: &str) -> Result<(), FireError> {
    match Path::new(url).is_file() {
        true => Err(FireError::FileNotUrl { path: url.to_owned() }),
        false => Ok(()),
    }
}

/// Refuses flags that would have no effect: flags for schedules in the closed model, and a seed
/// without anything random.
fn does_something(args: &FireArgs) -> Result<(), FireError> {
    let by_schedule = by_schedule(args);
    let by_agents = !args.agents.agents.is_empty() && (by_schedule || args.traffic.tank.is_some());
    let is_random = args.load.arrivals.as_deref() == Some("poisson")
        || by_agents && args.load.arrivals.is_none()
        || args.traffic.traffic.is_some() && args.traffic.traffic_order == TrafficOrder::Random;
    let given = [
        ("--when-full", args.load.when_full.is_some() && !by_schedule),
        ("--arrivals", args.load.arrivals.is_some() && !by_schedule),
    ];
    let idle = given.iter().find(|(_, is_idle)| *is_idle && args.traffic.tank.is_none());
    if let Some(&(flag, _)) = idle {
        return Err(FireError::FlagWithoutSchedule { flag });
    }
    if args.seed.is_some() && !is_random {
        return Err(FireError::NothingRandom);
    }
    Ok(())
}

/// Whether the flags name a schedule.
fn by_schedule(args: &FireArgs) -> bool {
    let is_recorded = args.traffic.at_recorded_times;
    args.load.rate.is_some() || args.load.schedule.is_some() || is_recorded
}

/// Notes a path in the URL that is not used, because the request file has its own paths.
fn idle_path(args: &FireArgs, target: &Target) -> Option<Before> {
    let by_tank = args.traffic.tank.is_some() && args.url.is_some();
    let has_own = (args.traffic.traffic.is_some() || by_tank) && target.script().is_none();
    (has_own && target.path != "/").then(|| Before::PathUnused { path: target.path.clone() })
}

/// Returns the traffic's path if it is not a regular file, but a pipe for example.
fn pipe(args: &FireArgs) -> Option<&Path> {
    let path = args.traffic.traffic.as_deref()?;
    let kind = std::fs::metadata(path).ok()?;
    (!kind.is_file()).then_some(path)
}

/// Reads the load's flags by the same rules as a plan's load.
fn load_choice(args: &FireArgs, tank: Option<&TankConfig>) -> Result<(LoadChoice, Nanos), Failure> {
    let given = &args.load;
    let by_schedule = by_schedule(args);
    let mut flags = plan_flags::load(given);
    if let Some(default) = default_load(args) {
        flags.concurrency = Some(default.concurrency.to_owned());
        flags.for_ = flags.for_.or(default.length.map(str::to_owned));
    }
    // A connection carries one request at a time. So the number of connections is the concurrency,
    // or with a schedule the limit of requests in flight.
    let (concurrency, max_in_flight) = match (&args.connections, by_schedule) {
        (None, _) => (flags.concurrency.clone(), flags.max_in_flight.clone()),
        (Some(connections), true) => (None, Some(connections.to_string())),
        (Some(connections), false) => (Some(connections.to_string()), None),
    };
    let keep_alive = match args.no_keep_alive {
        true => Some("off".to_owned()),
        false => flags.keep_alive.clone(),
    };
    let ends = args.traffic.once || args.traffic.traffic_limit.is_some();
    let until_over = ends && !by_schedule && flags.for_.is_none();
    let until_over = until_over && flags.requests.is_none();
    // These requests are a placeholder. The load of the file or the end of the traffic replaces it
    // below.
    let flags = match tank.is_some() || until_over {
        true => Overrides { requests: Some("1".to_owned()), ..flags },
        false => flags,
    };
    let concurrency = if tank.is_some() { Some("1".to_owned()) } else { concurrency };
    let client = flags.client.clone().or(tank.map(|_| "tank".to_owned()));
    // Uniform arrivals of several machines would depend on how well their clocks agree.
    let by_agents = !args.agents.agents.is_empty() && by_schedule;
    let poisson = by_agents && !args.traffic.at_recorded_times;
    let arrivals = flags.arrivals.clone().or(poisson.then(|| "poisson".to_owned()));
    let flags = Overrides {
        concurrency,
        max_in_flight,
        client,
        arrivals,
        keep_alive,
        // Without a schedule, the seed is only for the order of the traffic.
        seed: args.seed.clone().filter(|_| by_schedule),
        warm_up: args.warm_up.clone(),
        expect: args.expect.clone(),
        ..flags
    };
    // A placeholder, too: the recorded schedule replaces it below.
    let flags = match args.traffic.at_recorded_times {
        true => Overrides { schedule: Some("const(1,1s)".to_owned()), ..flags },
        false => flags,
    };
    let read = stampede_plan::load_from_flags(&flags)?;
    let mut choice = read.load;
    if let Some(tank) = tank {
        take_over(tank, &mut choice);
        take_arrivals(args, &mut choice)?;
    }
    let habits = trial::traffic::habits(&choice.client);
    if let Model::Open { schedule, .. } = &mut choice.model
        && let Some(recorded) = traffic::recorded(&args.traffic, habits)?
    {
        *schedule = recorded;
    }
    if let Model::Closed { until, .. } = &mut choice.model
        && until_over
    {
        *until = Until::Requests(u64::MAX);
    }
    if let Some(name) = &args.http {
        let unknown = || FireError::UnknownHttpVersion { version: name.clone() };
        choice.client.http = HttpVersion::named(name).ok_or_else(unknown)?;
    }
    Ok((choice, read.warm_up))
}

/// Copies the load of a `load.yaml`.
fn take_over(tank: &TankConfig, choice: &mut LoadChoice) {
    choice.model = tank.model.clone();
    choice.timeout = tank.timeout;
    choice.client.http = tank.habits.version;
    choice.client.keep_alive = match tank.habits.connection {
        ConnectionHabit::KeepAlive => KeepAlive::On,
        ConnectionHabit::PerRequest => KeepAlive::Off,
    };
}

/// Tank's arrivals are uniform, which several machines cannot be together, unless that is wanted.
fn take_arrivals(args: &FireArgs, choice: &mut LoadChoice) -> Result<(), FireError> {
    let by_agents = !args.agents.agents.is_empty();
    let is_poisson = args.load.arrivals.as_deref().map_or(by_agents, |given| given == "poisson");
    match &mut choice.model {
        Model::Open { arrivals, .. } if is_poisson => {
            *arrivals = Arrivals::Poisson { seed: seed(args)? };
            Ok(())
        }
        Model::Closed { .. } if args.load.arrivals.is_some() => {
            Err(FireError::FlagWithoutSchedule { flag: "--arrivals" })
        }
        Model::Open { .. } | Model::Closed { .. } => Ok(()),
    }
}

/// The seed that is given, or a new one.
fn seed(args: &FireArgs) -> Result<u64, FireError> {
    let Some(seed) = args.seed.as_deref() else { return Ok(fastrand::u64(..)) };
    seed.parse().map_err(|_| FireError::SeedNotANumber { seed: seed.to_owned() })
}

/// Refuses expectations about CPU and memory of the server, which only `compare` measures.
fn is_measured(expectation: &Expectation) -> Result<(), FireError> {
    let text = || expectation.text.clone();
    match expectation.bound.figure {
        _ if expectation.bound.worse => Err(FireError::ExpectsOtherRun { expectation: text() }),
        Figure::CpuCost | Figure::Memory => {
            Err(FireError::ExpectsServerCost { expectation: text() })
        }
        Figure::Percentile(_) | Figure::Max | Figure::Mean | Figure::Ok | Figure::Throughput => {
            Ok(())
        }
    }
}

/// Refuses a target that is neither loopback nor private, unless the flag for it is given.
fn may_be_loaded(args: &FireArgs, url: &str, target: &Target) -> Result<(), FireError> {
    let Address::Tcp(address) = target.addresses.first() else { return Ok(()) };
    if args.i_may_load_this_host || Reach::of(address.ip()) == Reach::Near {
        return Ok(());
    }
    Err(FireError::ForeignAddress { ip: address.ip(), url: url.to_owned() })
}

/// Combines the criteria of the file, which was parsed before, with those of the flags.
fn autostop(
    of_tank: &[Criterion],
    flags: &[String],
    load: &Load,
) -> Result<Option<Judge>, Failure> {
    if !flags.is_empty() {
        criteria(flags.join(" "))?;
    }
    let of_file = of_tank.iter().map(|criterion| criterion.text.as_str());
    let all: Vec<&str> = of_file.chain(flags.iter().map(String::as_str)).collect();
    if all.is_empty() {
        return Ok(None);
    }
    let autostop = criteria(all.join(" "))?;
    Judge::new(&autostop, load).map(Some).map_err(|unfit| {
        match of_tank.iter().find_map(|criterion| criterion.misfit(&unfit)) {
            Some(error) => Failure::from(error),
            None => Failure::from(unfit),
        }
    })
}

fn criteria(text: String) -> Result<Autostop, FireError> {
    Autostop::parse(&text).map_err(|error| FireError::WrongAutostop { text, error })
}

fn load(
    args: &FireArgs,
    files: traffic::Files<'_>,
    choice: &LoadChoice,
    target: &Target,
) -> Result<Load, Failure> {
    let habits = trial::traffic::habits(&choice.client);
    let check = traffic::check(args)?;
    let traffic = traffic::of(args, files, target, habits, seed(args)?)?;
    Ok(Load {
        wire: target.wire.clone(),
        habits,
        timeout: choice.timeout,
        check,
        engine: match args.engine {
            None | Some(Engine::Epoll) => EngineChoice::Epoll,
            Some(Engine::IoUring) => EngineChoice::IoUring,
        },
        cpu_sharing: CpuSharing::Exclusive,
        threads: args.threads.unwrap_or(1),
        records: args.files.phout.is_some(),
        ..Load::new(target.addresses.clone(), choice.model.clone(), traffic)
    })
}

/// Returns the CPUs of `--load-cpus`. Each must be named once and be online.
fn cpus(args: &FireArgs, machine: &MachineFacts) -> Result<Vec<usize>, FireError> {
    let mut seen = HashSet::new();
    if let Some(twice) = args.load_cpus.iter().find(|cpu| !seen.insert(**cpu)) {
        return Err(FireError::CpuTwice { cpu: *twice });
    }
    // The kernel decides whether a thread may run on an existing CPU.
    let online = &machine.cpus_online;
    let absent = |cpu: &&usize| !online.is_empty() && !online.contains(cpu);
    match args.load_cpus.iter().find(absent) {
        Some(absent) => Err(FireError::NoSuchCpu { cpu: *absent, online: online.clone() }),
        None => Ok(args.load_cpus.clone()),
    }
}

/// Open files besides the connections. The load library reserves the same number.
const SPARE_FILES: u64 = 128;
