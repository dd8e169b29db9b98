//! Whole investigations of a simulated app. A map is its memory, and the pass says what overlaps.

use std::cell::Cell;
use std::sync::Arc;

use stampede_plan::model::RuntimeSource;
use stampede_stack::Answer;

use super::*;
use crate::kinds::FindingKind;
use crate::orders::{OVERLAPPING, passes};
use crate::sample::reset;
use crate::spill_file::SpillFile;
use crate::users::{self, TokenPlace};
use crate::watch::{State, Turn, Worker};

const SEED: u64 = 7;

/// What an app keeps while its worker lives.
type Memory = BTreeMap<&'static str, String>;

/// An app that waits once in each request: `begin` runs before the wait, `end` after it.
struct App {
    users: u32,
    begin: fn(&mut Memory, &str, &str),
    end: fn(&mut Memory, &str, &str) -> String,
    /// State that all processes share, such as a database: the number of starts so far.
    starts: Cell<u32>,
}

const FORGETS: &str = "forgets";
/// Ends its worker, and with it every request in flight there.
const EXIT: &str = "/exit";
/// Answers and then ends its worker, which has begun one more request by then on every other start.
const LEAVES: &str = "/leaves";
/// Gives a different answer on the first start of a worker, and never again.
const ONCE: &str = "/once";

impl PassRunner for App {
    fn seed(&self) -> u64 {
        SEED
    }

    fn users(&self) -> u32 {
        self.users
    }

    fn spill_file(&self) -> SpillFile {
        SpillFile::on_disk()
    }

    fn run_steps(
        &self,
        choice: &RuntimeChoice,
        steps: &[Step],
        order: SendOrder,
    ) -> Result<PassRecord, RuntimeError> {
        let is_reference = choice.name == FORGETS;
        self.starts.set(self.starts.get() + u32::from(!is_reference));
        let mut record = PassRecord { results: Vec::new(), workers: vec![Worker::default()] };
        let (mut memory, mut shared) = (Memory::new(), 0);
        let mut is_leaving = false;
        for moment in orders::moments(steps) {
            let begin = record.results.len() as u64 + 1;
            let mut all: Vec<(u64, &Step)> = (begin..).zip(&steps[moment]).collect();
            if order == SendOrder::Reversed {
                all.reverse();
            }
            let deadly = |step: &Step| !is_reference && step.request.target == EXIT;
            let is_at_once = order == SendOrder::AtOnce && !is_reference;
            let dies = all.iter().any(|(_, step)| deadly(step));
            let mut results = Vec::new();
            if is_at_once {
                all.iter().for_each(|(_, step)| self.begin(&mut memory, step));
            }
            for (number, step) in &all {
                if !is_at_once {
                    memory.retain(|_, _| !is_reference);
                    self.begin(&mut memory, step);
                }
                shared += 1;
                let text = self.end(&mut memory, step, shared);
                let outcome = match dies && all.len() > 1 && !deadly(step) {
                    true => Err(reset()),
                    false => Ok(Answer::of_text(200, Vec::new(), text)),
                };
                results.push(StepResult::of(*number, outcome, Vec::new()));
                let after = (!deadly(step)).then(State::default);
                let turn = Turn { number: Some(*number), after, ..Turn::default() };
                record.workers.last_mut().expect("a worker").turns.push(turn);
            }
            let leaves = !is_reference && all.iter().any(|(_, step)| step.request.target == LEAVES);
            let is_late = leaves && self.starts.get().is_multiple_of(2) && !is_leaving;
            if dies || is_leaving || (leaves && !is_late) {
                record.workers.push(Worker::default());
                memory.clear();
            }
            is_leaving = is_late;
            results.sort_by_key(|result| result.number);
            record.results.extend(results);
        }
        Ok(record)
    }
}

impl App {
    fn new(
        users: u32,
        begin: fn(&mut Memory, &str, &str),
        end: fn(&mut Memory, &str, &str) -> String,
    ) -> App {
        App { users, begin, end, starts: Cell::new(0) }
    }

    fn begin(&self, memory: &mut Memory, step: &Step) {
        (self.begin)(memory, &step.request.target, &token(step.user));
    }

    fn end(&self, memory: &mut Memory, step: &Step, shared: u32) -> String {
        match &step.request.target[..] {
            "/visits" => format!("visitor {shared} of all"),
            ONCE if self.starts.get() == 1 => "odd".to_owned(),
            target => (self.end)(memory, target, &token(step.user)),
        }
    }
}

fn token(user: u32) -> String {
    users::token(SEED, user, TokenPlace::Header)
}

fn choice(name: &str) -> RuntimeChoice {
    RuntimeChoice {
        name: name.to_owned(),
        source: RuntimeSource::Catalogue(name.to_owned()),
        settings: BTreeMap::new(),
        php_ini: BTreeMap::new(),
        env: BTreeMap::new(),
        images: None,
        as_today: None,
    }
}

/// Returns the findings of all passes, and the number of differences that were chance.
fn found(app: &App, targets: &[&str]) -> (Vec<Finding>, u32) {
    let request = |target: &&str| {
        let (method, target) = ("GET".to_owned(), (*target).to_owned());
        CheckRequest { method, target, ..CheckRequest::default() }
    };
    let requests: Vec<Arc<CheckRequest>> = targets.iter().map(request).map(Arc::new).collect();
    let (reference_choice, keeps) = (choice(FORGETS), choice("keeps"));
    let mut reference = Reference::new(app, &reference_choice);
    let mut investigation = Investigation::new(app, &keeps);
    for pass in passes(requests.len(), app.users, SEED) {
        let steps = steps(&pass, &requests);
        reference.pass(&steps).expect("it goes");
        investigation.pass(&steps, &reference).expect("it goes");
    }
    let (findings, failed) = investigation.findings(&mut reference, |_| {});
    assert!(failed.is_none());
    (findings, investigation.chance)
}

fn step_list(finding: &Finding) -> Vec<(u32, &str, bool)> {
    let steps = finding.steps.iter();
    steps.map(|step| (step.user, &step.request.target[..], step.with_next)).collect()
}

/// Stores each request's user while it waits; with requests one after another, nothing goes wrong.
fn keeps_meanwhile(memory: &mut Memory, target: &str, token: &str) {
    if target == "/account" {
        memory.insert("user", token.to_owned());
    }
}

fn greets(memory: &mut Memory, target: &str, _: &str) -> String {
    let user = memory.get("user").filter(|_| target == "/account");
    format!("hello {}", user.map_or("you", |user| user))
}

#[test]
fn a_finding_that_needs_simultaneous_requests_keeps_two_of_them() {
    for users in [2, 4] {
        let app = App::new(users, keeps_meanwhile, greets);
        let (findings, chance) = found(&app, &["/", "/account", "/about"]);
        let [leak] = &findings[..] else { panic!("{findings:?}") };
        assert_eq!((leak.kind, &leak.about[..]), (FindingKind::Leak, "GET /account"));
        assert!(leak.is_repeatable && leak.what.ends_with("when several ask at once"));
        let step_list = step_list(leak);
        let [(one, "/account", true), (other, "/account", false)] = step_list[..] else {
            panic!("{step_list:?}");
        };
        assert!(one != other);
        assert_eq!(chance, 0);
    }
}

#[test]
fn the_steps_of_a_finding_with_simultaneous_requests_reproduce_it() {
    let app = App::new(2, keeps_meanwhile, greets);
    let (findings, _) = found(&app, &["/", "/account"]);
    let (reference_choice, keeps) = (choice(FORGETS), choice("keeps"));
    let mut reference = Reference::new(&app, &reference_choice);
    let again =
        Investigation::new(&app, &keeps).reproduce(&findings[0], &mut reference).expect("it goes");
    assert!(again.is_some());
    let mut apart = findings[0].clone();
    apart.steps.iter_mut().for_each(|step| step.with_next = false);
    let again =
        Investigation::new(&app, &keeps).reproduce(&apart, &mut reference).expect("it goes");
    assert!(again.is_none(), "one after the other is another thing");
}

#[test]
fn a_finding_about_kept_state_keeps_sequential_requests() {
    let first_stays: fn(&mut Memory, &str, &str) = |memory, target, token| {
        if target == "/account" {
            memory.entry("user").or_insert(token.to_owned());
        }
    };
    let (findings, _) = found(&App::new(2, first_stays, greets), &["/", "/account", "/about"]);
    let [leak] = &findings[..] else { panic!("{findings:?}") };
    let step_list = step_list(leak);
    let [(one, "/account", false), (other, "/account", false)] = step_list[..] else {
        panic!("{step_list:?}");
    };
    assert!(one != other && !leak.what.contains("at once"));
}

#[test]
fn the_last_of_very_many_findings_are_not_minimized() {
    let first_stays: fn(&mut Memory, &str, &str) = |memory, _, token| {
        memory.entry("user").or_insert(token.to_owned());
    };
    let greets = |memory: &mut Memory, _: &str, _: &str| format!("hello {}", memory["user"]);
    let targets: Vec<String> = (0..MINIMIZED_MAX + 4).map(|page| format!("/{page}")).collect();
    let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
    let (findings, _) = found(&App::new(2, first_stays, greets), &targets);
    let (minimized, others): (Vec<_>, Vec<_>) = findings.iter().partition(|one| one.is_repeatable);
    assert_eq!((minimized.len(), others.len()), (MINIMIZED_MAX, 4));
    for finding in others {
        let step_list = step_list(finding);
        let [(_, target, false)] = step_list[..] else { panic!("{step_list:?}") };
        assert_eq!(finding.about, format!("GET {target}"));
    }
}

#[test]
fn the_order_of_requests_in_a_database_is_no_finding() {
    let app = App::new(2, |_, _, _| {}, greets);
    let (findings, chance) = found(&app, &["/visits", "/about"]);
    assert_eq!((findings, chance), (Vec::new(), 0));
}

#[test]
fn only_the_request_that_ends_its_worker_is_blamed() {
    let app = App::new(3, |_, _, _| {}, greets);
    let (findings, _) = found(&app, &["/", EXIT, "/about"]);
    let [death] = &findings[..] else { panic!("{findings:?}") };
    assert_eq!((death.kind, step_list(death).len()), (FindingKind::Death, 1));
    assert_eq!(death.about, "GET /exit");
}

#[test]
fn a_request_that_a_dying_worker_had_begun_is_not_blamed() {
    let app = App::new(2, |_, _, _| {}, greets);
    let (findings, _) = found(&app, &["/", LEAVES, "/about"]);
    let blamed: Vec<_> = findings.iter().map(|one| (one.kind, &one.about[..])).collect();
    assert_eq!(blamed, [(FindingKind::Death, "GET /leaves")]);
}

#[test]
fn a_deviation_that_no_fresh_start_reproduces_is_counted_as_chance() {
    let app = App::new(2, |_, _, _| {}, greets);
    let (findings, chance) = found(&app, &[ONCE, "/about"]);
    assert_eq!((findings, chance), (Vec::new(), 1));
}

#[test]
fn the_overlapping_pass_consists_of_moments() {
    let requests = vec![Arc::default(); 2];
    for pass in passes(2, 3, SEED) {
        let steps = steps(&pass, &requests);
        let sizes: Vec<usize> =
            orders::moments(&steps).iter().map(ExactSizeIterator::len).collect();
        let size = if pass.name == OVERLAPPING { 3 } else { 1 };
        assert!(sizes.iter().all(|own| *own == size), "{}: {sizes:?}", pass.name);
    }
}
