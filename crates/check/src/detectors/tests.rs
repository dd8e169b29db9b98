//! Checks what hand-made passes show.

use std::collections::BTreeMap;
use std::slice;
use std::sync::Arc;

use serde_json::json;
use stampede_stack::Answer;

use super::state::exonerated;
use super::*;
use crate::analyze::lost;
use crate::harness::StepResult;
use crate::kinds::KINDS;
use crate::model::CheckRequest;
use crate::sample::reset;
use crate::users::{self, TokenPlace};
use crate::watch::{RetainedToken, State, Turn, Worker};

const SEED: u64 = 7;

fn step(user: u32, target: &str) -> Step {
    let request =
        CheckRequest { method: "GET".into(), target: target.into(), ..CheckRequest::default() };
    Step { user, request: Arc::new(request), with_next: false }
}

fn actual(number: u64, status: u16, body: &str) -> StepResult {
    let headers = vec![("content-type".to_owned(), "text/plain".to_owned())];
    let outcome = Ok(Answer::of_text(status, headers, body));
    StepResult::of(number, outcome, Vec::new())
}

fn state(timezone: &str) -> State {
    let values = [("timezone".to_owned(), json!("UTC")), ("cwd".to_owned(), json!(""))];
    State::boot(values.into()).with([("timezone".to_owned(), Some(json!(timezone)))].into())
}

/// Returns a worker that served these requests: number, time zone at the beginning and at the end
/// of each.
fn worker(turns: &[(u64, &str, Option<&str>)]) -> Worker {
    let turn = |&(number, before, after): &(u64, &str, Option<&str>)| Turn {
        number: Some(number),
        before: state(before),
        after: after.map(state),
        ..Turn::default()
    };
    Worker { boot: state("UTC"), turns: turns.iter().map(turn).collect(), sizes: Vec::new() }
}

fn known() -> ReferenceModel {
    ReferenceModel { seed: SEED, users: 2, ..ReferenceModel::default() }
}

#[test]
fn every_kind_has_exactly_one_detector() {
    for row in &KINDS {
        let own = DETECTORS.iter().filter(|detector| detector.kinds().contains(&row.kind));
        assert_eq!(own.count(), 1, "{}", row.id);
    }
}

fn kinds(pass_result: &PassResult, known: &ReferenceModel) -> Vec<(FindingKind, String, usize)> {
    let all = deviations(pass_result, known).into_iter();
    all.map(|deviation| (deviation.kind, deviation.subject.to_string(), deviation.at)).collect()
}

#[test]
fn a_token_of_another_user_is_a_leak_unless_the_reference_shows_it_too() {
    let others = token_of(1);
    let text = format!("hello {others}");
    let mut pass_result = PassResult {
        steps: vec![step(0, "/me")],
        actual: vec![actual(1, 200, &text)],
        reference: vec![actual(1, 200, "hello nobody")],
        ..PassResult::default()
    };
    assert_eq!(kinds(&pass_result, &known()), [(FindingKind::Leak, "GET /me".to_owned(), 0)]);
    let one = deviations(&pass_result, &known()).remove(0);
    assert!(one.what.contains("shows user A what belongs to user B"), "{}", one.what);
    assert!(one.evidence.contains(&others));
    // A guest book shows everybody's name, under the reference too.
    pass_result.reference = pass_result.actual.clone();
    assert_eq!(kinds(&pass_result, &known()), []);
    // Users may see their own token.
    let own = format!("hello {}", token_of(0));
    pass_result.actual = vec![actual(1, 200, &own)];
    pass_result.reference = pass_result.actual.clone();
    assert_eq!(kinds(&pass_result, &known()), []);
}

fn token_of(user: u32) -> String {
    users::token(SEED, user, TokenPlace::Cookie)
}

#[test]
fn a_worker_death_is_a_turn_without_end_or_a_new_worker_for_the_next_request() {
    let steps = vec![step(0, "/a"), step(0, "/b"), step(0, "/c")];
    let answers = vec![actual(1, 200, "x"), actual(2, 200, "x"), actual(3, 200, "x")];
    let pass_result = |workers| PassResult {
        steps: steps.clone(),
        actual: answers.clone(),
        reference: answers.clone(),
        workers,
        ..PassResult::default()
    };
    let fine = worker(&[(1, "UTC", Some("UTC")), (2, "UTC", Some("UTC")), (3, "UTC", Some("UTC"))]);
    assert_eq!(kinds(&pass_result(vec![fine]), &known()), []);
    let worker_deaths = vec![
        worker(&[(1, "UTC", Some("UTC")), (2, "UTC", None)]),
        worker(&[(3, "UTC", Some("UTC"))]),
    ];
    let pass_result_died = pass_result(worker_deaths);
    assert_eq!(kinds(&pass_result_died, &known()), [(FindingKind::Death, "GET /b".to_owned(), 1)]);
    assert_eq!(lost(&pass_result_died), 1);
    let after = vec![
        worker(&[(1, "UTC", Some("UTC"))]),
        worker(&[(2, "UTC", Some("UTC")), (3, "UTC", Some("UTC"))]),
    ];
    assert_eq!(
        kinds(&pass_result(after), &known()),
        [(FindingKind::Death, "GET /a".to_owned(), 0)]
    );
}

#[test]
fn a_leaked_setting_is_reported_only_for_a_request_that_does_not_set_it_itself() {
    let steps = vec![step(0, "/"), step(0, "/berlin"), step(0, "/")];
    let answers = vec![actual(1, 200, "x"), actual(2, 200, "x"), actual(3, 200, "x")];
    let state_leaks = worker(&[
        (1, "UTC", Some("UTC")),
        (2, "UTC", Some("Europe/Berlin")),
        (3, "Europe/Berlin", Some("Europe/Berlin")),
    ]);
    let (actual, workers) = (answers.clone(), vec![state_leaks]);
    let pass_result =
        PassResult { steps, actual, reference: answers, workers, ..PassResult::default() };
    let mut known = known();
    known.exonerated = exonerated(slice::from_ref(&pass_result));
    assert_eq!(kinds(&pass_result, &known), [(FindingKind::State, "timezone".to_owned(), 2)]);
    assert!(deviations(&pass_result, &known)[0].what.contains("`Europe/Berlin` instead of `UTC`"));
    // Requests that all set the time zone find their own value.
    let each = worker(&[
        (1, "UTC", Some("Europe/Berlin")),
        (2, "Europe/Berlin", Some("Europe/Berlin")),
        (3, "Europe/Berlin", Some("Europe/Berlin")),
    ]);
    let pass_result = PassResult { workers: vec![each], ..pass_result };
    let mut known = ReferenceModel { exonerated: BTreeMap::new(), ..known };
    known.exonerated = exonerated(slice::from_ref(&pass_result));
    assert_eq!(kinds(&pass_result, &known), []);
}

#[test]
fn data_of_a_user_kept_by_a_worker_is_reported_with_its_place_in_the_code() {
    let mut kept = worker(&[(1, "UTC", Some("UTC"))]);
    let token = token_of(0);
    kept.turns[0].held = vec![
        RetainedToken { place: "App\\Cart::$user".to_owned(), token: token.clone() },
        RetainedToken { place: "App\\Cart::$user".to_owned(), token },
        RetainedToken { place: "$_SERVER".to_owned(), token: token_of(1) },
        RetainedToken {
            place: "App\\Cart::$other".to_owned(),
            token: "stmpd000000000000".to_owned(),
        },
    ];
    let pass_result = PassResult {
        steps: vec![step(0, "/")],
        actual: vec![actual(1, 200, "x")],
        reference: vec![actual(1, 200, "x")],
        workers: vec![kept],
        ..PassResult::default()
    };
    assert_eq!(
        kinds(&pass_result, &known()),
        [(FindingKind::Kept, "App\\Cart::$user".to_owned(), 0)]
    );
}

#[test]
fn a_different_status_or_body_is_a_different_answer() {
    let pass_result = |status, body| PassResult {
        steps: vec![step(0, "/")],
        actual: vec![actual(1, status, body)],
        reference: vec![actual(1, 200, "Visits: 1")],
        ..PassResult::default()
    };
    assert_eq!(kinds(&pass_result(200, "Visits: 1"), &known()), []);
    let body = deviations(&pass_result(200, "Visits: 2"), &known()).remove(0);
    assert_eq!((body.kind, body.subject.to_string().as_str()), (FindingKind::Answer, "GET /"));
    assert!(body.evidence.contains("Visits: 2"), "{}", body.evidence);
    let status = deviations(&pass_result(500, ""), &known()).remove(0);
    assert_eq!(status.what, "GET / answers 500 instead of 200");
}

fn at_once(targets: [&str; 2]) -> Vec<Step> {
    let steps = targets.iter().zip(0..).map(|(target, user)| step(user, target));
    steps.map(|step| Step { with_next: step.user == 0, ..step }).collect()
}

#[test]
fn the_order_of_simultaneous_requests_is_chance_but_a_leaked_token_is_not() {
    let answers = |one: &str, other: &str| vec![actual(1, 200, one), actual(2, 200, other)];
    let pass_result = |one: &str, other: &str| PassResult {
        steps: at_once(["/me", "/me"]),
        actual: answers(one, other),
        reference: answers("Visitor 1", "Visitor 2"),
        reversed: answers("Visitor 2", "Visitor 1"),
        ..PassResult::default()
    };
    assert_eq!(kinds(&pass_result("Visitor 1", "Visitor 2"), &known()), []);
    assert_eq!(kinds(&pass_result("Visitor 2", "Visitor 1"), &known()), []);
    let odd = deviations(&pass_result("Visitor 1", "Visitor 7"), &known()).remove(0);
    assert_eq!((odd.kind, odd.at), (FindingKind::Answer, 1));
    assert!(odd.what.ends_with("when several ask at once"), "{}", odd.what);
    let leak = pass_result(&token_of(1), "Visitor 1");
    assert_eq!(kinds(&leak, &known()), [(FindingKind::Leak, "GET /me".to_owned(), 0)]);
    // In a guest book, a later user sees who was there before.
    let book = PassResult { reversed: answers(&token_of(1), "Visitor 1"), ..leak };
    assert_eq!(kinds(&book, &known()), []);
}

#[test]
fn no_simultaneous_request_is_blamed_for_state_that_the_watch_recorded() {
    // The second request begins before the first has ended; the recorded end may belong to either.
    let mut one = worker(&[(1, "UTC", None), (2, "Europe/Berlin", Some("Europe/Berlin"))]);
    one.turns[1].held =
        vec![RetainedToken { place: "App\\Cart::$user".to_owned(), token: token_of(0) }];
    let answers = vec![actual(1, 200, "x"), actual(2, 200, "x")];
    let (steps, actual) = (at_once(["/a", "/b"]), answers.clone());
    let mut pass_result = PassResult {
        steps,
        actual,
        reference: answers,
        workers: vec![one],
        ..PassResult::default()
    };
    let mut known = known();
    known.exonerated = exonerated(slice::from_ref(&pass_result));
    assert!(known.exonerated.is_empty());
    assert_eq!(kinds(&pass_result, &known), []);
    pass_result.actual[0].outcome = Err(reset());
    assert_eq!(kinds(&pass_result, &known), [(FindingKind::Death, "GET /a".to_owned(), 0)]);
}

#[test]
fn a_session_that_stays_open_is_reported() {
    let boot = State::boot([("session".to_owned(), json!("none"))].into());
    let session = |text: &str| boot.with([("session".to_owned(), Some(json!(text)))].into());
    let turn = |number, before: &str, after: &str| Turn {
        number: Some(number),
        before: session(before),
        after: Some(session(after)),
        ..Turn::default()
    };
    let turns = vec![
        turn(1, "none", "none"),
        turn(2, "none", "none #0123456789ab"),
        turn(3, "none #0123456789ab", "none #0123456789ab"),
    ];
    let workers = vec![Worker { boot: session("none"), turns, sizes: Vec::new() }];
    let steps = vec![step(0, "/"), step(0, "/basket"), step(1, "/")];
    let actual: Vec<StepResult> = (1..4).map(|number| actual(number, 200, "x")).collect();
    let reference = actual.clone();
    let pass_result = PassResult { steps, actual, reference, workers, ..PassResult::default() };
    let mut known = known();
    known.exonerated = exonerated(slice::from_ref(&pass_result));
    assert_eq!(kinds(&pass_result, &known), [(FindingKind::State, "session".to_owned(), 2)]);
}
