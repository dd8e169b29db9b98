//! `stampede fire`: load at one URL, and a summary.

use stampede_load::ammo::Request;
use stampede_load::spec::{Check, Habits, Load};

use super::args::FireArgs;
use super::fire_summary::Shot;
use super::shell::print;
use super::{Failure, Outcome};
use crate::event::{Event, Listen, Phase};
use crate::plan::Overrides;
use crate::plan::model::LoadChoice;
use crate::store::mask_secrets;
use crate::target::Target;
use crate::trial::{ammo, cells, load_record};
use crate::{interrupt, plan, progress};

/// Fires, then prints the summary.
pub fn run(args: FireArgs) -> Result<Outcome, Failure> {
    let mut choice = load_choice(&args)?;
    let target = Target::parse(&args.url).map_err(|error| Failure::from_target(&error))?;
    target.settle(&mut choice.client);
    let load = load(&args, &choice, &target)?;
    interrupt::listen().map_err(|error| Failure::new(&error))?;
    let mut shown = Shown(progress::for_stderr());
    shown.begin(&args.url, &choice);
    let fired = stampede_load::fire(&load, &interrupt::stop_for_load(), &mut shown)
        .map_err(|error| Failure::new(&error))?;
    shown.0.event(&Event::RunEnded);
    let record = load_record(&fired, &load, &choice);
    let shot = Shot { url: &args.url, choice: &choice, fired: &fired, record: &record };
    if args.json {
        let json = shot.json().and_then(|json| serde_json::to_string_pretty(&json));
        let text = json.map_err(|error| Failure::new(&error))?;
        return print(format!("{text}\n").as_bytes());
    }
    print(shot.text().as_bytes())
}

/// The load's flags, read by the plan's own rules.
fn load_choice(args: &FireArgs) -> Result<LoadChoice, Failure> {
    let given = &args.load;
    if given.rate.is_none() && given.schedule.is_none() && given.users.is_none() {
        return Err(Failure::rendered("no load to fire".to_owned()).hint(LOAD_HINT));
    }
    let flags = super::plan_flags::load(given);
    let flags = Overrides { seed: args.seed.clone(), ..flags };
    let (mut choice, _) =
        plan::load_from_flags(&flags).map_err(|error| Failure::from_plan(&error))?;
    match args.http.as_deref() {
        None => {}
        Some(http @ ("1.0" | "1.1")) => http.clone_into(&mut choice.client.http),
        Some(other) => {
            return Err(Failure::rendered(format!("`--http` is 1.0 or 1.1, not `{other}`")));
        }
    }
    Ok(choice)
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
        cpus: args.load_cpus.clone(),
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

/// The live picture of a load without a run around it.
struct Shown(Box<dyn Listen>);

impl Shown {
    fn begin(&mut self, url: &str, choice: &LoadChoice) {
        let text = format!("{} at {}", cells::load_text(&choice.model), mask_secrets(url));
        self.0.event(&Event::Notice(&text));
        let expected = cells::length(&choice.model);
        self.0.event(&Event::Phase { phase: Phase::Measure, expected });
    }
}

impl stampede_load::Listener for Shown {
    fn second(&mut self, second: &stampede_load::report::Second) {
        self.0.event(&Event::Second(second));
    }
}

const LOAD_HINT: &str = "say `--rate 200 --for 60s`, `--users 50 --for 60s`, `--users 4 --requests 1000` or `--schedule`";
