//! Tests when each model lets a request start, and what it counts.

use super::*;

struct Listed(std::ops::Range<u64>);

impl Schedule for Listed {
    fn next_due(&mut self) -> Option<Nanos> {
        self.0.next().map(Nanos)
    }

    fn due_by(&self, until: Nanos) -> u64 {
        self.0.clone().take_while(|due| *due <= until.0).count() as u64
    }
}

#[test]
fn counting_the_rest_of_a_share_equals_iterating_over_it() {
    for (index, of, taken, until) in cases(4, 9) {
        let share = Part::new(index, of).unwrap();
        let mut schedule_share = ScheduleShare::new(Box::new(Listed(0..8)), share);
        for _ in 0..taken {
            schedule_share.next_due();
        }
        let counted = schedule_share.due_by(Nanos(until));
        let walked =
            std::iter::from_fn(|| schedule_share.next_due()).take_while(|due| due.0 <= until);
        assert_eq!(counted, walked.count() as u64, "{index} of {of}, {taken}, {until}");
    }
}

/// Each share of up to `threads` threads, after each number of requests, up to each moment.
fn cases(threads: u32, until: u64) -> impl Iterator<Item = (u32, u32, usize, u64)> {
    let parts = (1..=threads).flat_map(|of| (0..of).map(move |index| (index, of)));
    let taken = parts.flat_map(|(index, of)| (0..10).map(move |taken| (index, of, taken)));
    taken
        .flat_map(move |(index, of, taken)| (0..=until).map(move |until| (index, of, taken, until)))
}

#[test]
fn schedule_shares_take_requests_in_turn() {
    let shares = [0, 1, 2].map(|index| {
        let share = Part::new(index, 3).unwrap();
        let mut schedule_share = ScheduleShare::new(Box::new(Listed(0..8)), share);
        let taken: Vec<u64> =
            std::iter::from_fn(|| schedule_share.next_due().map(|due| due.0)).collect();
        (taken, schedule_share.last)
    });
    // Every share knows when the last request of all threads is due.
    let last = Nanos(7);
    assert_eq!(shares, [(vec![0, 3, 6], last), (vec![1, 4, 7], last), (vec![2, 5], last)]);
}

/// Requests that are due at these nanoseconds.
fn open_load(due: std::ops::Range<u64>, when_full: WhenFull, traffic: TrafficEnd) -> Open {
    let share = || ScheduleShare::new(Box::new(Listed(due.clone())), Part::WHOLE);
    Open::new(OpenParts {
        plan: share(),
        starts: share(),
        length: Nanos(due.end),
        limit: 2,
        when_full,
        traffic,
        timeout: Nanos(5),
    })
}

fn start(due: u64, free: u64) -> Action {
    Action::Start { due: Nanos(due), free: Nanos(free) }
}

#[test]
fn a_request_starts_when_it_is_due_and_below_the_limit() {
    let mut load = open_load(10..12, WhenFull::Queue, TrafficEnd::Never);
    assert_eq!(load.next_action(Nanos(9), 0), Action::Wait);
    assert_eq!(load.wake(0), Some(Nanos(10)));
    assert_eq!(load.next_action(Nanos(10), 2), Action::Wait);
    assert_eq!(load.next_action(Nanos(10), 1), start(10, 10));
    // The schedule ended, but the count of planned requests does not know that yet.
    assert_eq!(load.wake(2), None);
    assert_eq!(load.take_planned(Nanos(10)), 1);
    assert_eq!(load.take_planned(Nanos(11)), 1);
    // The last start is 5 ns after the last due time.
    assert_eq!((load.wake(1), load.wake(2)), (Some(Nanos(11)), Some(Nanos(17))));
    assert_eq!(load.next_action(Nanos(16), 0), start(11, 11));
    assert_eq!(load.next_action(Nanos(17), 0), Action::Wait);
    assert_eq!((load.starts_next, load.wake(0)), (None, None));
}

#[test]
fn a_request_that_waited_too_long_is_dropped() {
    let mut load = open_load(10..12, WhenFull::Queue, TrafficEnd::Never);
    assert_eq!(load.take_planned(Nanos(11)), 2);
    assert_eq!(load.next_action(Nanos(17), 0), Action::Drop);
    assert_eq!(load.next_action(Nanos(17), 2), Action::Drop);
    assert_eq!(load.next_action(Nanos(17), 0), Action::Wait);
}

#[test]
fn a_full_load_drops_at_once_if_it_is_told_to() {
    let mut load = open_load(10..12, WhenFull::Drop, TrafficEnd::Never);
    assert_eq!(load.wake(2), Some(Nanos(10)));
    assert_eq!(load.next_action(Nanos(10), 2), Action::Drop);
    assert_eq!(load.next_action(Nanos(11), 1), start(11, 11));
}

#[test]
fn without_traffic_a_due_request_waits_for_its_last_start() {
    let mut load = open_load(10..12, WhenFull::Queue, TrafficEnd::Sometime);
    assert_eq!(load.action_without_traffic(Nanos(100)), Action::Wait);
    assert_eq!(load.take_planned(Nanos(11)), 0);
    assert_eq!(load.action_without_traffic(Nanos(16)), Action::Wait);
    assert_eq!(load.action_without_traffic(Nanos(17)), Action::Drop);
    assert_eq!(load.action_without_traffic(Nanos(18)), Action::Drop);
    // Both counted as planned when they were dropped.
    assert_eq!(load.take_planned(Nanos(18)), 2);
    assert_eq!(load.action_without_traffic(Nanos(18)), Action::Wait);
}

#[test]
fn an_open_load_ends_with_its_traffic() {
    let ended = |now| {
        let mut load = open_load(10..20, WhenFull::Queue, TrafficEnd::Sometime);
        assert_eq!(load.next_action(Nanos(10), 0), start(10, 10));
        load.end_traffic(Nanos(now));
        assert_eq!((load.starts_next, load.plan_next, load.wake(0)), (None, None, None));
        assert_eq!(load.take_planned(Nanos(100)), 1);
        load.schedule_end()
    };
    // The gap after the last request belongs to it.
    assert_eq!([ended(10), ended(15)], [Some(Nanos(11)), Some(Nanos(15))]);
}

#[test]
fn a_stretched_load_moves_what_is_due_to_when_it_can_start() {
    let mut load = Pace::Open(open_load(10..14, WhenFull::Stretch, TrafficEnd::Never));
    assert_eq!(load.next_action(Nanos(10), 0), start(10, 10));
    assert_eq!(load.next_action(Nanos(11), 1), start(11, 11));
    assert_eq!((load.next_action(Nanos(12), 2), load.wake(2)), (Action::Wait, None));
    // Below the limit, an end changes nothing.
    load.request_ended(Nanos(30), 1, ConnectResult::Connected);
    assert_eq!(load.wake(0), Some(Nanos(12)));
    load.request_ended(Nanos(18), 2, ConnectResult::Connected);
    load.request_ended(Nanos(17), 2, ConnectResult::Connected);
    assert_eq!((load.schedule_end(), load.stretched()), (None, 1.0));
    assert_eq!(load.next_action(Nanos(19), 1), start(18, 18));
    assert_eq!(load.wake(1), Some(Nanos(19)));
    assert_eq!(load.take_planned(Nanos(19)), 3);
    // It waits without a limit.
    assert_eq!(load.next_action(Nanos(1_000), 1), start(19, 19));
    assert!(load.is_finished(Nanos(1_000)));
    // 6 ns more than the 14 of the schedule.
    assert_eq!((load.schedule_end(), load.stretched()), (Some(Nanos(20)), 1.0 + 6.0 / 14.0));
}

#[test]
fn nothing_was_stretched_in_a_load_without_length() {
    let load = Pace::Open(open_load(0..0, WhenFull::Stretch, TrafficEnd::Never));
    assert_eq!(load.stretched(), 1.0);
    assert_eq!(Pace::Closed(Closed::new(1, Until::Requests(1))).stretched(), 1.0);
}

/// Stops a load of 10 requests at 16, of which 2 have started.
fn stopped(
    (when_full, traffic): (WhenFull, TrafficEnd),
    looked: Option<u64>,
    in_flight: u32,
    counted: Option<u64>,
) -> (StopCounts, u64) {
    let mut load = open_load(10..20, when_full, traffic);
    let before = counted.map_or(0, |until| load.take_planned(Nanos(until)));
    for due in 10..12 {
        assert_eq!(load.next_action(Nanos(due), 0), start(due, due));
    }
    let counts = load.stop(Nanos(16), looked.map(Nanos), in_flight);
    assert_eq!((load.starts_next, load.plan_next), (None, None));
    assert_eq!(load.schedule_end(), Some(Nanos(16)));
    (counts, before + load.take_planned(Nanos(u64::MAX)))
}

#[test]
fn a_stop_counts_what_is_left() {
    let plain = (WhenFull::Queue, TrafficEnd::Never);
    let counts = |dropped, not_due| StopCounts { dropped, not_due };
    // Due until 14, when the driver looked last: 12, 13 and 14. Never due: 15 to 19.
    assert_eq!(stopped(plain, Some(14), 1, None), (counts(8, 5), 10));
    // The count of planned requests may be ahead of the starts, or behind them.
    assert_eq!(stopped(plain, Some(14), 1, Some(15)), (counts(8, 5), 10));
    assert_eq!(stopped(plain, Some(14), 1, Some(10)), (counts(8, 5), 10));
    // While it is full nobody looks, and what became due meanwhile was due.
    assert_eq!(stopped(plain, Some(14), 2, None), (counts(8, 3), 10));
    assert_eq!(stopped(plain, None, 1, None), (counts(8, 8), 10));
    // A stretched request is due when it can start.
    let stretched = (WhenFull::Stretch, TrafficEnd::Never);
    assert_eq!(stopped(stretched, Some(14), 1, None), (counts(8, 8), 10));
    // Nobody knows how much more traffic there would have been.
    let ending = (WhenFull::Queue, TrafficEnd::Sometime);
    assert_eq!(stopped(ending, Some(14), 1, None), (counts(5, 2), 7));
    assert_eq!(stopped(ending, Some(16), 1, None), (counts(5, 0), 7));
}

#[test]
fn a_stop_before_the_next_request_is_due_drops_none_of_unknown_traffic() {
    let mut load = open_load(10..20, WhenFull::Queue, TrafficEnd::Sometime);
    let counts = load.stop(Nanos(9), Some(Nanos(9)), 0);
    assert_eq!((counts, load.take_planned(Nanos(u64::MAX))), (StopCounts::default(), 0));
}

#[test]
fn users_of_a_closed_load_start_when_they_are_ready() {
    let mut load = Pace::Closed(Closed::new(2, Until::Requests(3)));
    assert_eq!((load.wake(0), load.schedule_end()), (Some(Nanos(0)), None));
    assert_eq!(load.next_action(Nanos(5), 0), start(0, 0));
    assert_eq!(load.next_action(Nanos(5), 1), start(0, 0));
    assert_eq!((load.next_action(Nanos(5), 2), load.wake(2)), (Action::Wait, None));
    assert_eq!((load.take_planned(Nanos(5)), load.take_planned(Nanos(5))), (2, 0));
    // A user whose connection was refused rests.
    load.request_ended(Nanos(7), 2, ConnectResult::NotConnected);
    let rested = Nanos(7).plus(REST);
    assert_eq!(load.wake(1), Some(rested));
    assert_eq!(load.next_action(rested.since(Nanos(1)), 1), Action::Wait);
    assert_eq!(load.next_action(rested, 1), Action::Start { due: rested, free: rested });
    assert!(load.is_finished(rested));
    load.request_ended(Nanos(8), 1, ConnectResult::Connected);
    assert_eq!((load.next_action(Nanos(9), 0), load.wake(0)), (Action::Wait, None));
    assert_eq!(load.take_planned(Nanos(9)), 1);
}

#[test]
fn a_closed_load_for_a_time_ends_with_it_or_with_a_stop() {
    let mut load = Pace::Closed(Closed::new(1, Until::For(Nanos(100))));
    assert_eq!((load.wake(0), load.schedule_end()), (Some(Nanos(0)), Some(Nanos(100))));
    assert_eq!(load.next_action(Nanos(1), 0), start(0, 0));
    assert_eq!(load.wake(1), Some(Nanos(100)));
    load.request_ended(Nanos(99), 1, ConnectResult::NotConnected);
    assert_eq!(load.wake(0), Some(Nanos(100)));
    assert_eq!([99, 100].map(|now| load.is_finished(Nanos(now))), [false, true]);
    assert_eq!(load.next_action(Nanos(100), 0), Action::Wait);
    assert_eq!(load.stop(Nanos(60), None, 0), StopCounts::default());
    assert!(load.is_finished(Nanos(60)));
    assert_eq!(load.schedule_end(), Some(Nanos(60)));
}

#[test]
fn a_closed_load_ends_with_its_traffic() {
    for until in [Until::For(Nanos(100)), Until::Requests(10)] {
        let mut load = Pace::Closed(Closed::new(1, until));
        assert_eq!(load.action_without_traffic(Nanos(1)), Action::Wait);
        load.end_traffic(Nanos(1));
        assert!(load.is_finished(Nanos(1)));
    }
}
