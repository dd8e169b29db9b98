//! Tests a second load on the connections of the first, as after a warm-up.

use super::*;

/// The result of `second` on a thread that has run `first`.
fn after(first: &Case, second: &Case) -> (LoadResult, LoadResult) {
    let stop = Stop::default();
    let habits = Habits { version: HttpVersion::Http11, connection: first.habit };
    let (load, ends) = load_parts(first);
    let protocol = || Http1::new(&Check::default(), habits);
    let mut driver = driver(first, Simulated::new(first.script.clone()), protocol, load);
    let report = driver.run(&stop);
    let (before, _) = reported(first, ends, report, Nanos(0));
    let (load, ends) = load_parts(second);
    driver.begin(Instant::now(), load);
    let report = driver.run(&stop);
    (before, reported(second, ends, report, Nanos(0)).0)
}

/// Four at a time, 1 ms a request; then two at a time.
#[test]
fn a_second_load_counts_for_itself_and_keeps_the_connections() {
    let first = closed(4, Until::For(ms(100)));
    let (before, result) = after(&first, &closed(2, Until::Requests(20)));
    assert_eq!((before.connections.opened, before.connections.from_warm_up), (4, 0));
    assert_eq!((result.connections.opened, result.connections.from_warm_up), (0, 4));
    assert_eq!((result.counts.planned, result.counts.ok), (20, 20));
    // Its clock began anew.
    assert_eq!(result.lasted, ms(10));
}

/// Both at 1 request in 10 ms for as long.
#[test]
fn a_second_open_load_has_a_schedule_of_its_own() {
    let case = open(every(ms(10), 50), 8);
    let (before, result) = after(&case, &case);
    assert_eq!((before.counts.ok, result.counts.ok), (50, 50));
    assert_eq!((before.lasted, result.lasted), (ms(491), ms(491)));
    assert_eq!((result.connections.opened, result.connections.from_warm_up), (0, 1));
}
