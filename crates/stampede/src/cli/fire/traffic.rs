//! Chooses what `fire` sends: the request of its flags, a request file, the requests of another
//! tool's script, or the traffic of Yandex Tank's configuration.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use stampede_load::check::Rule;
use stampede_load::spec::Check;
use stampede_model::load::Habits;
use stampede_model::schedule::Segments;
use stampede_plan::imported::{self, ImportError, ImportedLoad, ImportedRequest};
use stampede_plan::tank::TankConfig;
use stampede_plan::target::Target;
use stampede_traffic::recorded_rate::{Factor, RecordedRate};
use stampede_traffic::{Format, LoadTraffic, Order, Passes, Request, Source, TrafficFile};

use super::error::FireError;
use crate::cli::Failure;
use crate::cli::args_fire::{FireArgs, TrafficFlags, TrafficOrder};

/// What was read of files that hold more than requests.
#[derive(Clone, Copy)]
pub struct Files<'a> {
    /// Yandex Tank's configuration.
    pub tank: Option<&'a TankConfig>,
    /// A script of another tool, in place of a request file.
    pub script: Option<&'a ImportedLoad>,
}

/// Reads the request file as a script of another tool. `None`: it is none, or its format is named.
pub fn script(args: &FireArgs) -> Result<Option<ImportedLoad>, ImportError> {
    match &args.traffic.traffic {
        Some(path) if args.traffic.traffic_format.is_none() => imported::read(path),
        _ => Ok(None),
    }
}

/// Returns the traffic.
pub fn of(
    args: &FireArgs,
    files: Files<'_>,
    target: &Target,
    habits: Habits,
    seed: u64,
) -> Result<LoadTraffic, Failure> {
    let flags = &args.traffic;
    let Some(file) = file(flags)? else {
        return match files.tank {
            Some(tank) => Ok(tank.traffic.clone()),
            None => Ok([request(args, target, habits)?].into()),
        };
    };
    stampede_mask::requests_file(&file.path);
    if let Some(environment) = &file.environment {
        stampede_mask::requests_file(environment);
    }
    let mut headers = vec![("Host".to_owned(), target.host.clone())];
    add_headers(args, &mut headers)?;
    let source = match (files.script, files.tank.map(|tank| &tank.traffic.source)) {
        (Some(script), _) => Source::List(requests_of(script, target, &headers, habits)?.into()),
        (None, Some(Source::File(of_tank))) => {
            let TrafficFile { format, environment, log, .. } = file;
            let of_tank = of_tank.as_ref().clone();
            Source::File(Box::new(TrafficFile { format, environment, log, ..of_tank }))
        }
        (None, _) => {
            let script = target.script().cloned();
            Source::File(Box::new(TrafficFile { headers, script, ..file }))
        }
    };
    let of_tank = files.tank.map(|tank| &tank.traffic);
    Ok(LoadTraffic {
        order: match flags.traffic_order {
            TrafficOrder::InOrder => Order::InTurn,
            TrafficOrder::Random => Order::Random { seed },
        },
        passes: match of_tank {
            Some(tank) if !flags.once => tank.passes,
            _ => passes(flags),
        },
        limit: flags.traffic_limit.or(of_tank.and_then(|tank| tank.limit)),
        ..LoadTraffic::from(source)
    })
}

/// The requests of a script, with the headers that it does not give.
fn requests_of(
    script: &ImportedLoad,
    target: &Target,
    defaults: &[(String, String)],
    habits: Habits,
) -> Result<Vec<Request>, Failure> {
    let request = |ImportedRequest { spec, .. }: &ImportedRequest| {
        let is_given = |(name, _): &&(String, String)| {
            spec.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name))
        };
        let defaults = defaults.iter().filter(|header| !is_given(header));
        let headers: Vec<_> = defaults.chain(&spec.headers).cloned().collect();
        Ok(target.request(&spec.method, &spec.path, &headers, &spec.body, habits)?)
    };
    script.requests.iter().map(request).collect()
}

/// The request file of these flags, before its target is known.
fn file(flags: &TrafficFlags) -> Result<Option<TrafficFile>, Failure> {
    let format = flags.traffic_format.as_deref().map(format).transpose()?;
    let environment = flags.traffic_environment.clone();
    let named = flags.log.file(flags.traffic.as_deref(), flags.methods.as_deref())?;
    Ok(named.map(|named| TrafficFile { format, environment, ..named }))
}

/// The schedule at which the requests of the file were made; `None`: the flags do not ask for it.
pub fn recorded(flags: &TrafficFlags, habits: Habits) -> Result<Option<Segments>, Failure> {
    let Some(file) = file(flags)?.filter(|_| flags.at_recorded_times) else { return Ok(None) };
    let factor = flags.times_as_fast.as_deref().map_or(Ok(Factor::RECORDED), |factor| {
        let wrong = |error| FireError::WrongFactor { factor: factor.to_owned(), error };
        factor.parse().map_err(wrong)
    })?;
    Ok(Some(RecordedRate::of(&file, habits, factor)?.schedule))
}

fn passes(flags: &TrafficFlags) -> Passes {
    if flags.once { Passes::Times(1) } else { Passes::Endless }
}

fn format(name: &str) -> Result<Format, FireError> {
    let unknown = || FireError::UnknownTrafficFormat { format: name.to_owned() };
    Format::named(name).ok_or_else(unknown)
}

/// Adds the headers of the flags. A `Host` header replaces the one that is there.
fn add_headers(args: &FireArgs, headers: &mut Vec<(String, String)>) -> Result<(), FireError> {
    for header in &args.header {
        let Some((name, value)) = header.split_once(':') else {
            return Err(FireError::HeaderWithoutColon { header: header.clone() });
        };
        let (name, value) = (name.trim().to_owned(), value.trim().to_owned());
        headers.retain(|(known, _)| !(known == "Host" && name.eq_ignore_ascii_case("host")));
        headers.push((name, value));
    }
    if args.cookie.iter().any(|cookie| !cookie.contains('=')) {
        return Err(FireError::CookieWithoutEquals);
    }
    if !args.cookie.is_empty() {
        headers.push(("Cookie".to_owned(), args.cookie.join("; ")));
    }
    if let Some(user) = &args.basic_auth {
        if !user.contains(':') {
            return Err(FireError::LoginWithoutColon);
        }
        headers.push(("Authorization".to_owned(), format!("Basic {}", STANDARD.encode(user))));
    }
    Ok(())
}

fn request(args: &FireArgs, target: &Target, habits: Habits) -> Result<Request, Failure> {
    let mut headers = vec![("Host".to_owned(), target.host.clone())];
    add_headers(args, &mut headers)?;
    let body = match args.body.as_deref() {
        Some(text) => match text.strip_prefix('@') {
            Some(file) => std::fs::read(file)
                .map_err(|source| FireError::UnreadableBody { path: file.into(), source })?,
            None => text.as_bytes().to_vec(),
        },
        None => Vec::new(),
    };
    stampede_mask::text(&String::from_utf8_lossy(&body));
    let method = args.method.as_deref().unwrap_or(if args.body.is_some() { "POST" } else { "GET" });
    Ok(target.request(method, &target.path, &headers, &body, habits)?)
}

/// Returns the conditions for a correct answer.
pub fn check(args: &FireArgs) -> Result<Check, FireError> {
    Ok(Check {
        statuses: args.status.iter().cloned().flatten().collect(),
        body_contains: args.contains.clone().unwrap_or_default().into_bytes(),
        rules: args.check.iter().map(|text| rule(text)).collect::<Result<_, _>>()?,
    })
}

fn rule(text: &str) -> Result<Rule, FireError> {
    Rule::parse(text).map_err(|error| FireError::WrongCheck { text: text.to_owned(), error })
}
