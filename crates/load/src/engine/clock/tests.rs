use super::*;

fn learned(wait_mode: WaitMode, lates: impl IntoIterator<Item = u64>) -> u64 {
    let mut wakeup_delay = WakeupDelay::new(wait_mode);
    lates.into_iter().for_each(|late| wakeup_delay.learn(Nanos(late)));
    wakeup_delay.bound.0
}

/// Late by 1 … 100 µs in an order that repeats after 100.
fn evenly_late() -> impl Iterator<Item = u64> {
    (0..20_000).map(|sleep| (sleep * 37 % 100 + 1) * 1_000)
}

#[test]
fn with_its_own_cpu_a_thread_is_in_time_after_199_of_200_sleeps() {
    let learned = learned(WaitMode::Spin, evenly_late());
    assert!((97_000..=104_000).contains(&learned), "{learned}");
}

#[test]
fn on_a_shared_cpu_a_thread_wakes_too_early_as_often_as_too_late() {
    let learned = learned(WaitMode::Sleep, evenly_late());
    assert!((46_000..=54_000).contains(&learned), "{learned}");
}

#[test]
fn one_late_sleep_moves_the_estimate_by_one_step() {
    assert_eq!(learned(WaitMode::Spin, [10_000_000]), DELAY_FIRST.0 + 3_980);
    assert_eq!(learned(WaitMode::Sleep, [10_000_000]), DELAY_FIRST.0 + 500);
}

#[test]
fn the_estimate_stays_within_its_bounds() {
    for wait_mode in [WaitMode::Spin, WaitMode::Sleep] {
        assert_eq!(learned(wait_mode, [0; 3_000]), DELAY_MIN.0);
        assert_eq!(learned(wait_mode, [u64::MAX; 1_000]), DELAY_MAX.0);
    }
}

#[test]
fn a_turn_in_which_another_program_had_the_cpu_is_not_counted_as_spun() {
    let mut clock = Clock::new(WaitMode::Spin, Instant::now());
    let asked = std::cell::Cell::new(0);
    let switches = |count| {
        asked.set(asked.get() + 1);
        count
    };
    clock.count_spin_turn(Nanos(1_000), || switches(1));
    clock.count_spin_turn(TURN_MAX, || switches(1));
    assert_eq!((clock.spun.0, asked.get()), (1_000 + TURN_MAX.0, 0), "not asked each turn");
    clock.count_spin_turn(Nanos(3_000_000), || switches(1));
    assert_eq!(clock.spun.0, 1_000 + TURN_MAX.0, "another had it");
    // The host had the CPU, which the thread's CPU time cannot distinguish from spinning.
    clock.count_spin_turn(Nanos(3_000_000), || switches(1));
    assert_eq!((clock.spun.0, asked.get()), (3_001_000 + TURN_MAX.0, 2));
}

#[test]
fn only_a_thread_with_its_own_cpu_spins_up_to_a_due_time() {
    let sleeps = |wait_mode, until| Clock::new(wait_mode, Instant::now()).sleep_end(until);
    let early = Some(Nanos::SECOND.since(DELAY_FIRST));
    for wait_mode in [WaitMode::Spin, WaitMode::Sleep] {
        assert_eq!(sleeps(wait_mode, Nanos::SECOND), early);
    }
    assert_eq!(sleeps(WaitMode::Spin, DELAY_FIRST), None);
    assert_eq!(sleeps(WaitMode::Sleep, DELAY_FIRST), Some(DELAY_FIRST));
    assert_eq!(sleeps(WaitMode::Sleep, SHARED_SPIN_MAX), None, "for a moment");
}

#[test]
fn answers_are_spun_for_only_where_nothing_else_says_when_they_came() {
    let spins = |wait_mode, timestamps, in_flight| {
        Clock::new(wait_mode, Instant::now()).spins_for_answers(timestamps, in_flight)
    };
    assert!(spins(WaitMode::Spin, Timestamps::Userspace, 1));
    assert!(!spins(WaitMode::Spin, Timestamps::Userspace, 0), "none is awaited");
    assert!(!spins(WaitMode::Spin, Timestamps::Kernel, 1));
    assert!(!spins(WaitMode::Sleep, Timestamps::Userspace, 1), "the server may need the CPU");
}

#[test]
fn a_thread_naps_only_where_many_answers_are_stamped_and_nothing_is_due() {
    let naps = |timestamps, in_flight, until| {
        Clock::new(WaitMode::Sleep, Instant::now()).naps(timestamps, in_flight, until)
    };
    assert!(naps(Timestamps::Kernel, 8, Nanos::SECOND));
    assert!(
        !naps(Timestamps::Kernel, 7, Nanos::SECOND),
        "the server may wait for the next request"
    );
    assert!(!naps(Timestamps::Userspace, 8, Nanos::SECOND), "a look says when answers came");
    let soon = NAP.plus(DELAY_FIRST);
    assert!(!naps(Timestamps::Kernel, 8, soon), "the next request would be late");
    assert!(naps(Timestamps::Kernel, 8, soon.plus(Nanos(1))));
}

#[test]
fn bytes_without_a_timestamp_came_after_the_last_look_that_did_not_see_them() {
    let mut clock = Clock::new(WaitMode::Sleep, Instant::now());
    for now in [1_000, 5_000, 9_000] {
        clock.now = Nanos(now);
        clock.note_look();
    }
    clock.now = Nanos(9_500);
    assert_eq!(clock.arrival(None), Arrival { at: Nanos(9_500), earliest: Nanos(5_000) });
}

#[test]
fn bytes_that_woke_the_thread_came_a_wake_up_before_at_most() {
    let mut clock = Clock::new(WaitMode::Sleep, Instant::now());
    clock.now = Nanos(1_000);
    clock.note_look();
    // Asleep.
    clock.now = Nanos(9_000_000);
    let earliest = Nanos(9_000_000).since(DELAY_FIRST);
    assert_eq!(clock.arrival(None), Arrival { at: Nanos(9_000_000), earliest });
    // Busy with something else until the next look, which finds them.
    clock.note_look();
    clock.now = Nanos(9_000_500);
    assert_eq!(clock.arrival(None), Arrival { at: Nanos(9_000_500), earliest: Nanos(1_000) });
}
