//! Determines the initial value of state that a worker has only after a first request: settings of
//! database connections, and a framework's own handlers. Then it is known which request has changed
//! them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;

use super::analyze::PassResult;
use super::model::CheckRequest;
use super::watch::{State, Turn, Values, Worker};

/// Prefix of the watch's keys for connections, as in `db:sql_mode App\Shop::$db`.
const CONNECTION: &str = "db:";

/// Handlers that frameworks set at their first request. A worker boots without them.
const HANDLERS: [&str; 2] = ["error_handler", "exception_handler"];
/// The value for no handler.
const NO_HANDLER: &str = "none";

/// Returns the settings of new connections, as the requests that made them left them, and the
/// handlers that most requests set if there is none.
///
/// The watch sees a connection only after the request that made it, which may have changed a
/// setting. So requests that were seen to change it on an existing connection do not count. Of the
/// others, the value of most requests is taken.
pub fn first_use_state<'a>(pass_result: impl IntoIterator<Item = &'a PassResult>) -> Values {
    let mut makers: BTreeMap<&str, Vec<(&Value, &CheckRequest)>> = BTreeMap::new();
    let mut changers: BTreeMap<&str, BTreeSet<&CheckRequest>> = BTreeMap::new();
    // If requests overlap, it is not known which of them set something.
    let is_in_turn =
        |pass_result: &&PassResult| pass_result.steps.iter().all(|step| !step.with_next);
    let pass_result = pass_result.into_iter().filter(is_in_turn);
    for (worker, turn, request) in pass_result.flat_map(turns) {
        let Some(after) = &turn.after else { continue };
        for (name, value) in first_use_values(after) {
            match value_if_set(&turn.before, name) {
                _ if value_if_set(&worker.boot, name).is_some() => {}
                None => makers.entry(name).or_default().push((value, request)),
                Some(before) if before != value => {
                    changers.entry(name).or_default().insert(request);
                }
                Some(_) => {}
            }
        }
    }
    let first_use_state = makers.into_iter().map(|(name, makers)| {
        let changers = changers.remove(name).unwrap_or_default();
        (name.to_owned(), most_common(&makers, &changers).clone())
    });
    first_use_state.filter(|(_, value)| value != NO_HANDLER).collect()
}

/// Returns the current state that a worker may have only after a request. It includes handlers that
/// are not set.
fn first_use_values(state: &State) -> impl Iterator<Item = (&str, &Value)> {
    let connections = state.differing().filter(|(name, _)| name.starts_with(CONNECTION));
    let connections = connections.filter_map(|(name, value)| Some((name.as_str(), value?)));
    connections.chain(HANDLERS.into_iter().filter_map(|name| Some((name, state.get(name)?))))
}

/// Returns the value that most makers left, or the first of equally many. Makers that change it
/// count only if there are no others.
fn most_common<'a>(
    makers: &[(&'a Value, &CheckRequest)],
    changers: &BTreeSet<&CheckRequest>,
) -> &'a Value {
    let mut left: Vec<_> =
        makers.iter().filter(|(_, request)| !changers.contains(request)).collect();
    if left.is_empty() {
        left = makers.iter().collect();
    }
    let by = |value: &Value| -> usize {
        let same = left.iter().filter(|(other, _)| *other == value);
        same.map(|(_, request)| request).collect::<BTreeSet<_>>().len()
    };
    left.iter().rev().max_by_key(|(value, _)| by(value)).map_or(makers[0].0, |(value, _)| value)
}

/// Returns the value; `None` if there is none.
fn value_if_set<'a>(state: &'a State, name: &str) -> Option<&'a Value> {
    state.get(name).filter(|value| **value != NO_HANDLER)
}

/// Fills in state that a worker does not have yet, at the boot and later: until it has a
/// connection, a new one counts. The same holds for handlers until one was set. A handler that was
/// removed stays removed.
pub fn fill(workers: &mut [Worker], first_use_state: &Values) {
    for worker in workers {
        // A value that the worker has at boot stays.
        let lacks = |(name, _): &(&String, &Value)| value_if_set(&worker.boot, name).is_none();
        let lacking: Vec<_> = first_use_state.iter().filter(lacks).collect();
        if lacking.is_empty() {
            continue;
        }
        let boot = worker.boot.boot_state().iter().chain(lacking);
        let boot: Arc<Values> = Arc::new(boot.map(own).collect());
        worker.boot = worker.boot.filled(&boot, &[]);
        let mut had = Vec::new();
        for turn in &mut worker.turns {
            for state in [Some(&mut turn.before), turn.after.as_mut()].into_iter().flatten() {
                let (there, none): (Vec<&str>, Vec<&str>) =
                    HANDLERS.iter().partition(|name| value_if_set(state, name).is_some());
                let removed: Vec<&str> =
                    none.into_iter().filter(|name| had.contains(name)).collect();
                *state = state.filled(&boot, &removed);
                had.extend(there);
            }
        }
    }
}

fn own((name, value): (&String, &Value)) -> (String, Value) {
    (name.clone(), value.clone())
}

/// Returns the turns with their workers and requests.
fn turns(pass_result: &PassResult) -> impl Iterator<Item = (&Worker, &Turn, &CheckRequest)> {
    let numbers: BTreeMap<u64, &CheckRequest> = pass_result
        .actual
        .iter()
        .zip(&pass_result.steps)
        .map(|(actual, step)| (actual.number, &*step.request))
        .collect();
    let all = pass_result
        .workers
        .iter()
        .flat_map(|worker| worker.turns.iter().map(move |turn| (worker, turn)));
    all.filter_map(move |(worker, turn)| Some((worker, turn, *numbers.get(&turn.number?)?)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::harness::StepResult;
    use super::super::model::Step;
    use super::*;

    const KEY: &str = "db:sql_mode Shop::$db";

    fn values(mode: &str) -> Values {
        Values::from([(KEY.to_owned(), json!(mode))])
    }

    fn state(mode: Option<&str>) -> State {
        let differing = mode.map(|mode| (KEY.to_owned(), Some(json!(mode))));
        State::default().with(differing.into_iter().collect())
    }

    /// Returns requests to one worker, each with the value of its connection before and after.
    fn pass_result(turns: &[(&str, Option<&str>, Option<&str>)]) -> PassResult {
        let step = |target: &str| Step {
            user: 0,
            request: Arc::new(CheckRequest {
                method: "GET".into(),
                target: target.into(),
                ..CheckRequest::default()
            }),
            with_next: false,
        };
        let actual = |number| StepResult::of(number, Err(crate::sample::reset()), Vec::new());
        let turn =
            |(number, (_, before, after)): (u64, &(&str, Option<&str>, Option<&str>))| Turn {
                number: Some(number),
                before: state(*before),
                after: Some(state(*after)),
                ..Turn::default()
            };
        PassResult {
            steps: turns.iter().map(|(target, ..)| step(target)).collect(),
            actual: (1..).take(turns.len()).map(actual).collect(),
            workers: vec![Worker {
                turns: (1..).zip(turns).map(turn).collect(),
                ..Worker::default()
            }],
            ..PassResult::default()
        }
    }

    #[test]
    fn a_changed_setting_is_not_the_default_of_a_new_connection() {
        let plain = [("/", None, Some("strict")), ("/import", Some("strict"), Some(""))];
        let first = [("/import", None, Some("")), ("/", Some(""), Some(""))];
        for passes in [[&plain[..], &first], [&first, &plain]] {
            let first_use_state = first_use_state(&passes.map(pass_result));
            assert_eq!(first_use_state[KEY], "strict");
        }
        assert_eq!(first_use_state(&[pass_result(&first)])[KEY], "", "nothing else was seen");
        assert!(first_use_state(&[pass_result(&[("/", None, None)])]).is_empty());
        let mut at_once = pass_result(&plain);
        at_once.steps[0].with_next = true;
        assert!(first_use_state(&[at_once]).is_empty(), "whose doing it was is not known");
    }

    const HANDLER: &str = "error_handler";

    /// Returns requests to one worker that boots without a handler, each with the handler before
    /// and after.
    fn handled(turns: &[(&str, &str, &str)]) -> PassResult {
        let mut pass_result = pass_result(
            &turns.iter().map(|(target, ..)| (*target, None, None)).collect::<Vec<_>>(),
        );
        let worker = &mut pass_result.workers[0];
        worker.boot = State::boot(Values::from([(HANDLER.into(), json!(NO_HANDLER))]));
        let boot = worker.boot.clone();
        let is = |handler: &str| match handler == NO_HANDLER {
            true => boot.clone(),
            false => boot.with([(HANDLER.into(), Some(json!(handler)))].into()),
        };
        for (turn, (_, before, after)) in worker.turns.iter_mut().zip(turns) {
            (turn.before, turn.after) = (is(before), Some(is(after)));
        }
        pass_result
    }

    /// Returns the handlers before and after each request as they are compared, and how many differ
    /// from the boot's.
    fn filled(pass_result: &mut PassResult, first_use_state: &Values) -> (Vec<String>, usize) {
        fill(&mut pass_result.workers, first_use_state);
        let turns = pass_result.workers[0].turns.iter();
        let states: Vec<&State> =
            turns.flat_map(|turn| [Some(&turn.before), turn.after.as_ref()]).flatten().collect();
        let handler =
            |state: &&State| state.get(HANDLER).unwrap().as_str().unwrap_or_default().to_owned();
        let differing = states.iter().map(|state| state.differing().count()).sum();
        (states.iter().map(handler).collect(), differing)
    }

    #[test]
    fn a_handler_that_most_requests_set_belongs_to_the_framework() {
        let plain = [("/", NO_HANDLER, "framework"), ("/strict", "framework", "closure")];
        let mut all = [handled(&plain), handled(&[("/strict", NO_HANDLER, "closure")])];
        let made_of_all = first_use_state(&all);
        assert_eq!(made_of_all[HANDLER], "framework");
        let (states, differing) = filled(&mut all[1], &made_of_all);
        assert_eq!((states, differing), (vec!["framework".into(), "closure".into()], 1));
        // Without a framework, the handler comes from that request alone.
        let none = handled(&[("/", NO_HANDLER, NO_HANDLER), ("/strict", NO_HANDLER, "closure")]);
        assert!(first_use_state(&[none]).is_empty());
        // If every request sets it, every request has it anyway.
        let every = handled(&[("/", NO_HANDLER, "closure"), ("/b", "closure", "closure")]);
        assert_eq!(first_use_state(&[every])[HANDLER], "closure");
    }

    #[test]
    fn a_request_that_removes_the_frameworks_handler_is_reported() {
        let first = [("/odd", NO_HANDLER, NO_HANDLER), ("/", NO_HANDLER, "framework")];
        let later = [("/", NO_HANDLER, "framework"), ("/odd", "framework", NO_HANDLER)];
        let mut all = [handled(&first), handled(&later)];
        let first_use_state = first_use_state(&all);
        assert_eq!(
            first_use_state[HANDLER], "framework",
            "one page without it is no sign that there is none"
        );
        let framework = || "framework".to_owned();
        assert_eq!(filled(&mut all[0], &first_use_state), (vec![framework(); 4], 0));
        let states = vec![framework(), framework(), framework(), NO_HANDLER.to_owned()];
        assert_eq!(filled(&mut all[1], &first_use_state), (states, 1));
    }

    #[test]
    fn the_value_of_most_makers_counts() {
        let one = |target, mode| pass_result(&[(target, None, Some(mode))]);
        let passes =
            [one("/odd", "ANSI"), one("/odd", "ANSI"), one("/", "strict"), one("/b", "strict")];
        assert_eq!(first_use_state(&passes)[KEY], "strict");
        assert_eq!(first_use_state(&passes[..3])[KEY], "ANSI", "the first of as many");
    }

    #[test]
    fn a_worker_without_a_connection_gets_the_defaults_of_a_new_one() {
        let mut pass_result = pass_result(&[("/", None, None), ("/", None, Some("strict"))]);
        fill(&mut pass_result.workers, &values("strict"));
        let worker = &pass_result.workers[0];
        assert_eq!(worker.boot.get(KEY), Some(&json!("strict")));
        for state in worker.turns.iter().flat_map(|turn| [Some(&turn.before), turn.after.as_ref()])
        {
            let state = state.expect("each turn has both");
            assert_eq!((state.get(KEY), state.differing().count()), (Some(&json!("strict")), 0));
        }
        // A connection made at the boot has its own value.
        let mut worker = Worker { boot: State::boot(values("own")), ..Worker::default() };
        fill(std::slice::from_mut(&mut worker), &values("strict"));
        assert_eq!(worker.boot.get(KEY), Some(&json!("own")));
    }
}
