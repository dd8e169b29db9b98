//! Tests the picture in terminals of several sizes.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use stampede_model::counts::{Counts, TimeSet};
use stampede_model::load::{Arrivals, WhenFull};
use stampede_model::schedule::Segments;

use super::*;

fn second(index: u32, ok: u64, took_us: u64, failed: &[(&str, u64)]) -> Second {
    let mut times = TimeSet::empty();
    times.response_time.record_many(took_us * 1_000, ok);
    times.service_time.record_many(took_us * 1_000, ok);
    times.schedule_lag.record_many(45_000, ok);
    let failed: BTreeMap<String, u64> =
        failed.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect();
    let planned = ok + failed.values().sum::<u64>();
    let counts = Counts {
        planned,
        started: planned,
        ok,
        failed,
        bytes_received: ok * 845,
        ..Counts::default()
    };
    Second { index, counts, times, in_flight_max: 7, busy: Nanos(0) }
}

fn open() -> Model {
    Model::Open {
        schedule: Segments::parse("line(1,1000,60s)").expect("a schedule"),
        arrivals: Arrivals::Uniform,
        max_in_flight: 100,
        when_full: WhenFull::Queue,
    }
}

fn picture(model: &Model, seconds: u32, failed: &[(&str, u64)]) -> Dashboard {
    let url = "http://127.0.0.1:8080/search?q=1".to_owned();
    let mut picture = Dashboard::new(url, "line(1,1000,60s)".to_owned(), Vec::new());
    picture.enter(Phase::Measure, model);
    for index in 0..seconds {
        let ok = 10 + u64::from(index) * 16;
        picture.second(&second(index, ok, 900 + u64::from(index) * 40, failed));
    }
    picture
}

fn drawn(picture: &Dashboard, width: u16, height: u16) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("a terminal");
    terminal.draw(|frame| picture.draw(frame)).expect("a picture");
    terminal.backend().to_string()
}

#[test]
fn a_rising_load_with_errors() {
    let failed = [("http:502", 3), ("net:timeout", 1)];
    insta::assert_snapshot!(drawn(&picture(&open(), 40, &failed), 80, 24));
}

#[test]
fn a_narrow_and_low_terminal_gets_what_matters() {
    let failed = [("http:502", 3)];
    insta::assert_snapshot!(drawn(&picture(&open(), 40, &failed), 40, 15));
}

#[test]
fn before_the_first_second_nothing_is_invented() {
    let model = Model::Closed { concurrency: 50, until: Until::Requests(10_000) };
    insta::assert_snapshot!(drawn(&picture(&model, 0, &[]), 80, 16));
}

#[test]
fn a_load_of_unknown_length_shows_no_total() {
    let model = Model::Closed { concurrency: 50, until: Until::Requests(u64::MAX) };
    let drawn = drawn(&picture(&model, 3, &[]), 80, 16);
    assert!(drawn.contains("measure  78 requests so far"), "{drawn}");
    assert!(!drawn.contains("18 446"), "{drawn}");
}

#[test]
fn a_second_without_a_correct_answer_has_no_time() {
    let mut picture = picture(&open(), 3, &[]);
    picture.second(&second(3, 0, 900, &[("http:500", 12)]));
    let drawn = drawn(&picture, 80, 24);
    assert!(drawn.contains("p95 of each second, failed now"), "{drawn}");
}

#[test]
fn no_terminal_is_too_small() {
    let picture = picture(&open(), 5, &[("net:refused", 9)]);
    for width in [1, 2, 9, 13, 26, 200] {
        for height in [1, 2, 5, 8, 60] {
            drawn(&picture, width, height);
        }
    }
}
