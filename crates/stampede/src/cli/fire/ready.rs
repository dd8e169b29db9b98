//! From flags to a load that is ready to be fired.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use stampede_load::ammo::Request;
use stampede_load::autostop::{Autostop, AutostopError, Judge};
use stampede_load::spec::{Address, Check, EngineChoice, Habits, Load};
use stampede_load::time::Nanos;

use super::limits::{Asked, Limits};
use crate::cli::args::{Engine, FireArgs};
use crate::cli::{Failure, plan_flags};
use crate::machine::MachineFacts;
use crate::plan::model::{Expectation, LoadChoice};
use crate::plan::{self, Overrides};
use crate::reach::Reach;
use crate::target::Target;
use crate::trial::ammo;

/// A load, and what is done with it.
pub struct Ready {
    /// As the flags say it.
    pub choice: LoadChoice,
    /// The same, complete.
    pub load: Load,
    /// Fired before and thrown away; `None`: nothing is.
    pub warm_up: Option<Load>,
    /// What ends it early.
    pub autostop: Option<Judge>,
    /// What the person should know before it starts.
    pub notes: Vec<String>,
}

impl Ready {
    /// Reads the flags, and looks at what the machine allows.
    pub fn of(args: &FireArgs, machine: &MachineFacts) -> Result<Ready, Failure> {
        let (mut choice, warm_up) = load_choice(args)?;
        choice.expect.iter().try_for_each(is_measured)?;
        let target = Target::parse(&args.url).map_err(|error| Failure::from_target(&error))?;
        may_be_loaded(args, &target)?;
        target.settle(&mut choice.client);
        let load = load(args, &choice, &target)?;
        let asked = [&args.connections, &args.load.users, &args.load.max_in_flight];
        let asked = match asked.iter().any(|flag| flag.is_some()) {
            true => Asked::ByFlag,
            false => Asked::ByDefault,
        };
        let notes = Limits { machine, asked, spare_files: SPARE_FILES }.check(&load)?;
        let warm_up = (warm_up > Nanos(0))
            .then(|| Load { model: ammo::warm_up(&load.model, warm_up), ..load.clone() });
        let autostop = autostop(&args.autostop, &load)?;
        Ok(Ready { choice, load, warm_up, autostop, notes })
    }
}

/// The load's flags, read by the plan's own rules.
fn load_choice(args: &FireArgs) -> Result<(LoadChoice, Nanos), Failure> {
    let given = &args.load;
    let by_schedule = given.rate.is_some() || given.schedule.is_some();
    if !by_schedule && given.users.is_none() && args.connections.is_none() {
        return Err(Failure::rendered("no load to fire".to_owned()).hint(LOAD_HINT));
    }
    let flags = plan_flags::load(given);
    // A connection carries one shot at a time: as many as may be under way, or as users.
    let (users, max_in_flight) = match (&args.connections, by_schedule) {
        (None, _) => (flags.users.clone(), flags.max_in_flight.clone()),
        (Some(connections), true) => (None, Some(connections.clone())),
        (Some(connections), false) => (Some(connections.clone()), None),
    };
    let keep_alive = match args.no_keep_alive {
        true => Some("off".to_owned()),
        false => flags.keep_alive.clone(),
    };
    let flags = Overrides {
        users,
        max_in_flight,
        keep_alive,
        seed: args.seed.clone(),
        warm_up: args.warm_up.clone(),
        expect: args.expect.clone(),
        ..flags
    };
    let read = plan::load_from_flags(&flags).map_err(|error| Failure::from_plan(&error))?;
    let mut choice = read.load;
    match args.http.as_deref() {
        None => {}
        Some(http @ ("1.0" | "1.1")) => http.clone_into(&mut choice.client.http),
        Some(other) => {
            return Err(Failure::rendered(format!("`--http` is 1.0 or 1.1, not `{other}`")));
        }
    }
    Ok((choice, read.warm_up))
}

/// What a stack spends only `compare` sees.
fn is_measured(expectation: &Expectation) -> Result<(), Failure> {
    let why = match expectation.figure.as_str() {
        _ if expectation.worse => "compares with another run",
        "cpu_cost" | "memory" => "is about what the server spends",
        _ => return Ok(()),
    };
    let text = format!("`--expect '{}'` {why}, which `fire` does not see", expectation.text);
    Err(Failure::rendered(text).hint("`stampede compare` does, for a server on this machine"))
}

/// Loopback and private addresses at will.
fn may_be_loaded(args: &FireArgs, target: &Target) -> Result<(), Failure> {
    let Address::Tcp(address) = &target.address else { return Ok(()) };
    if args.i_may_load_this_host || Reach::of(address.ip()) == Reach::Near {
        return Ok(());
    }
    let text = format!("{} of `{}` is a public address", address.ip(), args.url);
    Err(Failure::rendered(text).hint(
        "load only what you are allowed to load; if you may load this host, add \
         `--i-may-load-this-host`",
    ))
}

fn autostop(given: &[String], load: &Load) -> Result<Option<Judge>, Failure> {
    if given.is_empty() {
        return Ok(None);
    }
    let text = given.join(" ");
    let autostop = Autostop::parse(&text).map_err(|error| mistake(&text, &error))?;
    let judge = Judge::new(&autostop, load);
    judge.map(Some).map_err(|unfit| Failure::new(&unfit).hint(unfit.hint()))
}

/// The place marked below the text.
fn mistake(text: &str, error: &AutostopError) -> Failure {
    let column = text[..error.offset].chars().count();
    let width = text[error.offset..error.offset + error.length].chars().count().max(1);
    let marks = format!("{}{}", " ".repeat(column), "^".repeat(width));
    let text = format!("--autostop: {error}\n  {text}\n  {marks}");
    // All forms would be no help where one is meant.
    let hint = match error.nearest() {
        Some(nearest) => format!("did you mean `{nearest}`? docs/fire.md has them all"),
        None => format!("expected {}", error.expected()),
    };
    Failure::rendered(text).hint(hint)
}

fn load(args: &FireArgs, choice: &LoadChoice, target: &Target) -> Result<Load, Failure> {
    let habits = ammo::habits(&choice.client);
    let check = Check {
        statuses: args.status.clone(),
        body_contains: args.contains.clone().unwrap_or_default().into_bytes(),
        rules: Vec::new(),
    };
    let ammo = [request(args, target, habits)?];
    Ok(Load {
        wire: target.wire.clone(),
        habits,
        timeout: choice.timeout,
        check,
        engine: match args.engine {
            None => EngineChoice::Auto,
            Some(Engine::Epoll) => EngineChoice::Epoll,
            Some(Engine::IoUring) => EngineChoice::IoUring,
        },
        cpus: args.load_cpus.clone(),
        threads: args.threads.unwrap_or(1),
        records: args.files.phout.is_some(),
        ..Load::new(target.address.clone(), choice.model.clone(), ammo)
    })
}

fn request(args: &FireArgs, target: &Target, habits: Habits) -> Result<Request, Failure> {
    let mut headers = vec![("Host".to_owned(), target.host.clone())];
    for header in &args.header {
        let Some((name, value)) = header.split_once(':') else {
            let text = format!("header `{header}` has no colon");
            return Err(Failure::rendered(text).hint("write it as -H 'Name: value'"));
        };
        let (name, value) = (name.trim().to_owned(), value.trim().to_owned());
        headers.retain(|(known, _)| !(known == "Host" && name.eq_ignore_ascii_case("host")));
        headers.push((name, value));
    }
    if !args.cookie.is_empty() {
        headers.push(("Cookie".to_owned(), args.cookie.join("; ")));
    }
    if let Some(user) = &args.basic_auth {
        headers.push(("Authorization".to_owned(), format!("Basic {}", STANDARD.encode(user))));
    }
    let body = match args.body.as_deref() {
        Some(file) if file.starts_with('@') => std::fs::read(&file[1..]).map_err(|error| {
            Failure::rendered(format!("cannot read body `{}`: {error}", &file[1..]))
        })?,
        Some(text) => text.as_bytes().to_vec(),
        None => Vec::new(),
    };
    let method = args.method.as_deref().unwrap_or(if args.body.is_some() { "POST" } else { "GET" });
    target
        .request(method, &target.path, &headers, &body, habits)
        .map_err(|error| Failure::new(&error).hint(error.hint()))
}

const LOAD_HINT: &str = "say `--rate 200 --for 60s`, `--users 50 --for 60s`, `--users 4 --requests 1000` or `--schedule`";
/// Open files beside the connections: what the load library sets aside, too.
const SPARE_FILES: u64 = 128;
