//! Chooses what `fire` sends: the request of its flags, a request file, or the traffic of a
//! `load.yaml`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use stampede_load::check::Rule;
use stampede_load::spec::{Check, Habits};
use stampede_load::traffic::{
    Format, LoadTraffic, Order, Passes, Request, Source, TrafficError, TrafficFile,
};

use crate::cli::Failure;
use crate::cli::args_fire::{FireArgs, TrafficFlags, TrafficOrder};
use crate::mask;
use crate::plan::tank::TankConfig;
use crate::target::Target;

/// Returns the traffic.
pub fn of(
    args: &FireArgs,
    tank: Option<&TankConfig>,
    target: &Target,
    habits: Habits,
    seed: u64,
) -> Result<LoadTraffic, Failure> {
    if let Some(tank) = tank {
        return Ok(tank.traffic.clone());
    }
    let flags = &args.traffic;
    let Some(path) = &flags.traffic else { return Ok([request(args, target, habits)?].into()) };
    mask::requests_file(path);
    let mut headers = vec![("Host".to_owned(), target.host.clone())];
    add_headers(args, &mut headers)?;
    let format = flags.traffic_format.as_deref().map(format).transpose()?;
    let script = target.script().cloned();
    let file = TrafficFile { format, headers, script, ..TrafficFile::new(path) };
    Ok(LoadTraffic {
        order: match flags.traffic_order {
            TrafficOrder::InOrder => Order::InTurn,
            TrafficOrder::Random => Order::Random { seed },
        },
        passes: passes(flags),
        limit: flags.traffic_limit,
        ..LoadTraffic::from(Source::File(file))
    })
}

fn passes(flags: &TrafficFlags) -> Passes {
    if flags.once { Passes::Times(1) } else { Passes::Endless }
}

fn format(name: &str) -> Result<Format, Failure> {
    Format::named(name).ok_or_else(|| {
        let known: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
        let text = format!("unknown `--traffic-format {name}`");
        Failure::rendered(text).hint(format!("use one of {}", known.join(", ")))
    })
}

fn traffic_failure(error: &TrafficError) -> Failure {
    Failure::new(error).hint(error.hint())
}

/// Adds the headers of the flags. A `Host` header replaces the one that is there.
fn add_headers(args: &FireArgs, headers: &mut Vec<(String, String)>) -> Result<(), Failure> {
    for header in &args.header {
        let Some((name, value)) = header.split_once(':') else {
            let text = format!("header `{header}` has no colon");
            return Err(Failure::rendered(text).hint("write it as -H 'Name: value'"));
        };
        let (name, value) = (name.trim().to_owned(), value.trim().to_owned());
        headers.retain(|(known, _)| !(known == "Host" && name.eq_ignore_ascii_case("host")));
        headers.push((name, value));
    }
    if args.cookie.iter().any(|cookie| !cookie.contains('=')) {
        let text = "one of `--cookie` has no `=`".to_owned();
        return Err(Failure::rendered(text).hint("it is 'name=value', 'name=' where that is empty"));
    }
    if !args.cookie.is_empty() {
        headers.push(("Cookie".to_owned(), args.cookie.join("; ")));
    }
    if let Some(user) = &args.basic_auth {
        if !user.contains(':') {
            let text = "`--basic-auth` has no `:` between name and password".to_owned();
            return Err(Failure::rendered(text).hint("it is 'name:password', 'name:' without one"));
        }
        headers.push(("Authorization".to_owned(), format!("Basic {}", STANDARD.encode(user))));
    }
    Ok(())
}

fn request(args: &FireArgs, target: &Target, habits: Habits) -> Result<Request, Failure> {
    let mut headers = vec![("Host".to_owned(), target.host.clone())];
    add_headers(args, &mut headers)?;
    let body = match args.body.as_deref() {
        Some(file) if file.starts_with('@') => std::fs::read(&file[1..]).map_err(|error| {
            Failure::rendered(format!("cannot read body `{}`: {error}", &file[1..]))
                .hint("`-d @FILE` sends what is in FILE, `-d TEXT` the text itself")
        })?,
        Some(text) => text.as_bytes().to_vec(),
        None => Vec::new(),
    };
    mask::text(&String::from_utf8_lossy(&body));
    let method = args.method.as_deref().unwrap_or(if args.body.is_some() { "POST" } else { "GET" });
    let request = target.request(method, &target.path, &headers, &body, habits);
    request.map_err(|error| traffic_failure(&error))
}

/// Returns the conditions for a correct answer.
pub fn check(args: &FireArgs) -> Result<Check, Failure> {
    Ok(Check {
        statuses: args.status.iter().cloned().flatten().collect(),
        body_contains: args.contains.clone().unwrap_or_default().into_bytes(),
        rules: args.check.iter().map(|text| rule(text)).collect::<Result<_, _>>()?,
    })
}

fn rule(text: &str) -> Result<Rule, Failure> {
    Rule::parse(text).map_err(|error| {
        let place = super::ready::marked(text, error.offset, error.length);
        let expected = error.expected();
        Failure::rendered(format!("--check: {error}\n{place}")).hint(match error.nearest() {
            Some(nearest) => format!("did you mean `{nearest}`? docs/checks.md has them all"),
            None => format!("expected {expected}"),
        })
    })
}
