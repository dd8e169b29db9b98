//! Reads the object `options`: users, lengths, stages and scenarios.

use stampede_model::load::Until;
use stampede_model::quantity::{LONGEST, parse_length};
use stampede_model::schedule::{MicroRate, Segment, Segments};
use stampede_model::time::Nanos;
use tree_sitter::Node;

use super::super::{Found, Omission, ProposedLoad};
use super::literal::{Constants, Literal};
use super::tree::line;

/// Proposes the load of the options. A rate of k6 is one of iterations, each of which sends
/// `requests`.
pub(super) fn read<'t>(
    node: Node<'t>,
    constants: &Constants<'t>,
    requests: usize,
    found: &mut Found,
) {
    let Some(options) = Settings::of(node, constants) else {
        return found.leave_out(line(node), Omission::Setting { name: "options".to_owned() });
    };
    options.note_unused(&["vus", "duration", "iterations", "stages", "scenarios"], found);
    if let Some(scenarios) = options.get("scenarios") {
        let all = constants.entries(constants.resolved(scenarios)).unwrap_or_default();
        if all.is_empty() {
            found.leave_out(line(scenarios), Omission::Setting { name: "scenarios".to_owned() });
        }
        for (name, node) in all {
            if found.load.is_some() {
                found.leave_out(line(node), Omission::OtherLoad { name });
                continue;
            }
            let load = Settings::of(node, constants).and_then(|one| one.scenario(requests, found));
            match load {
                Some(load) => found.load = Some(load),
                None => found.leave_out(line(node), Omission::Setting { name }),
            }
        }
        return;
    }
    found.load = match options.get("stages") {
        Some(stages) => options.ramping_users(stages, "vus", found),
        None => options.users(requests),
    };
}

/// The functions that scenarios name.
pub(super) fn functions<'t>(node: Node<'t>, constants: &Constants<'t>) -> Vec<String> {
    let of = |node: Node<'t>| Settings::of(node, constants);
    let scenarios = of(node).and_then(|options| options.get("scenarios")).and_then(of);
    let each = scenarios.map(|scenarios| scenarios.entries).unwrap_or_default();
    each.into_iter().filter_map(|(_, scenario)| of(scenario)?.text("exec")).collect()
}

/// An object whose values are settings.
struct Settings<'a, 't> {
    constants: &'a Constants<'t>,
    entries: Vec<(String, Node<'t>)>,
}

impl<'a, 't> Settings<'a, 't> {
    fn of(node: Node<'t>, constants: &'a Constants<'t>) -> Option<Settings<'a, 't>> {
        let node = constants.resolved(node);
        let entries = (node.kind() == "object").then(|| constants.entries(node))??;
        Some(Settings { constants, entries })
    }

    fn get(&self, name: &str) -> Option<Node<'t>> {
        // Of two with one name, JavaScript takes the last.
        self.entries.iter().rev().find(|(known, _)| known == name).map(|(_, value)| *value)
    }

    fn note_unused(&self, used: &[&str], found: &mut Found) {
        let unused = self.entries.iter().filter(|(name, _)| !used.contains(&name.as_str()));
        for (name, value) in unused {
            found.leave_out(line(*value), Omission::Setting { name: name.clone() });
        }
    }

    fn number(&self, name: &str) -> Option<f64> {
        match self.constants.evaluate(self.get(name)?)? {
            Literal::Number(number) if number >= 0.0 => Some(number),
            _ => None,
        }
    }

    fn count(&self, name: &str) -> Option<u32> {
        let number = self.number(name).filter(|number| *number >= 1.0)?;
        (number <= f64::from(u32::MAX)).then_some(number as u32)
    }

    fn text(&self, name: &str) -> Option<String> {
        self.constants.evaluate(self.get(name)?)?.to_text()
    }

    fn length(&self, name: &str) -> Option<Nanos> {
        length(&self.constants.evaluate(self.get(name)?)?)
    }

    /// `vus` with `duration` or `iterations`.
    fn users(&self, requests: usize) -> Option<ProposedLoad> {
        let (length, iterations) = (self.length("duration"), self.count("iterations"));
        if self.get("vus").is_none() && length.is_none() && iterations.is_none() {
            return None;
        }
        let users = if self.get("vus").is_some() { self.count("vus")? } else { 1 };
        let until = length.map(Until::For).or_else(|| total(iterations?, 1, requests));
        Some(ProposedLoad::Users { users, until })
    }

    /// The load of one scenario.
    fn scenario(&self, requests: usize, found: &mut Found) -> Option<ProposedLoad> {
        const USED: [&str; 12] = [
            "executor",
            "exec",
            "vus",
            "duration",
            "iterations",
            "stages",
            "rate",
            "timeUnit",
            "startRate",
            "startVUs",
            "preAllocatedVUs",
            "maxVUs",
        ];
        self.note_unused(&USED, found);
        match self.text("executor")?.as_str() {
            "constant-vus" => self.users(requests),
            "ramping-vus" => self.ramping_users(self.get("stages")?, "startVUs", found),
            "shared-iterations" => self.users(requests),
            "per-vu-iterations" => {
                let users = self.count("vus").unwrap_or(1);
                let iterations = self.count("iterations").unwrap_or(1);
                let until = total(iterations, users, requests);
                Some(ProposedLoad::Users { users, until })
            }
            "constant-arrival-rate" => {
                let length = self.length("duration")?;
                let rate = self.rate(self.number("rate")?, requests)?;
                schedule(vec![Segment::Const { rate, length }])
            }
            "ramping-arrival-rate" => self.ramping_rate(requests),
            _ => None,
        }
    }

    /// The highest number of users in stages, for the length of all of them.
    fn ramping_users(
        &self,
        stages: Node<'t>,
        start: &str,
        found: &mut Found,
    ) -> Option<ProposedLoad> {
        found.leave_out(line(stages), Omission::Ramp { name: "stages".to_owned() });
        let stages_of = self.stages(stages)?;
        let highest = stages_of.iter().map(|(target, _)| *target).fold(0.0, f64::max);
        let highest = highest.max(self.number(start).unwrap_or(0.0));
        let length = stages_of.iter().fold(Nanos(0), |sum, (_, length)| sum.plus(*length));
        let is_load = highest >= 1.0 && highest <= f64::from(u32::MAX) && length > Nanos(0);
        let until = Some(Until::For(Nanos(length.0.min(LONGEST.0))));
        is_load.then_some(ProposedLoad::Users { users: highest as u32, until })
    }

    /// Stages as segments that rise or fall from one target to the next.
    fn ramping_rate(&self, requests: usize) -> Option<ProposedLoad> {
        let mut from = self.rate(self.number("startRate").unwrap_or(0.0), requests)?;
        let mut segments = Vec::new();
        for (target, length) in self.stages(self.get("stages")?)? {
            let to = self.rate(target, requests)?;
            match (length, from == to) {
                // A stage without a length jumps to its target.
                (Nanos(0), _) => {}
                (length, true) => segments.push(Segment::Const { rate: to, length }),
                (length, false) => segments.push(Segment::Line { from, to, length }),
            }
            from = to;
        }
        schedule(segments)
    }

    /// Targets and lengths.
    fn stages(&self, node: Node<'t>) -> Option<Vec<(f64, Nanos)>> {
        let Literal::List(stages) = self.constants.evaluate(node)? else { return None };
        let stage = |stage: &Literal| {
            let Literal::Object(fields) = stage else { return None };
            let of =
                |name: &str| fields.iter().find(|(known, _)| known == name).map(|field| &field.1);
            let Literal::Number(target) = of("target")? else { return None };
            Some((target.max(0.0), length(of("duration")?)?))
        };
        stages.iter().map(stage).collect()
    }

    /// Requests per second, of iterations per `timeUnit`.
    fn rate(&self, iterations: f64, requests: usize) -> Option<MicroRate> {
        let unit = match self.get("timeUnit") {
            Some(_) => self.length("timeUnit").filter(|unit| *unit > Nanos(0))?,
            None => Nanos::SECOND,
        };
        let seconds = unit.0 as f64 / Nanos::SECOND.0 as f64;
        let rate = iterations / seconds * requests.max(1) as f64 * 1e6;
        (rate <= MicroRate::HIGHEST.0 as f64).then(|| MicroRate(rate.round() as u64))
    }
}

fn total(iterations: u32, users: u32, requests: usize) -> Option<Until> {
    let total = u64::from(iterations).saturating_mul(u64::from(users));
    Some(Until::Requests(total.saturating_mul(requests.max(1) as u64)))
}

fn schedule(segments: Vec<Segment>) -> Option<ProposedLoad> {
    Segments::new(segments).ok().map(ProposedLoad::Schedule)
}

/// A length of time: a text with units, or a number of milliseconds.
fn length(value: &Literal) -> Option<Nanos> {
    match value {
        Literal::Text(text) => match text.trim().parse::<f64>() {
            Ok(ms) => milliseconds(ms),
            Err(_) => parse_length(text).ok(),
        },
        Literal::Number(ms) => milliseconds(*ms),
        _ => None,
    }
}

fn milliseconds(ms: f64) -> Option<Nanos> {
    let ns = ms * 1e6;
    (ns >= 0.0 && ns <= LONGEST.0 as f64).then_some(Nanos(ns as u64))
}
