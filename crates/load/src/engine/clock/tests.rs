use super::*;

fn learned(lates: impl IntoIterator<Item = u64>) -> u64 {
    let mut wakeup_delay = WakeupDelay::default();
    lates.into_iter().for_each(|late| wakeup_delay.learn(Nanos(late)));
    wakeup_delay.0.0
}

#[test]
fn nineteen_of_twenty_sleeps_end_in_time() {
    // Late by 1 … 100 µs in an order that repeats after 100: 95 of them are at most 95 µs.
    let lates = (0..20_000).map(|sleep| (sleep * 37 % 100 + 1) * 1_000);
    let learned = learned(lates);
    assert!((93_000..=97_000).contains(&learned), "{learned}");
}

#[test]
fn one_late_sleep_moves_the_estimate_by_one_step() {
    assert_eq!(learned([10_000_000]), SPIN_FIRST.0 + STEP_UP.0);
}

#[test]
fn the_estimate_stays_within_its_bounds() {
    assert_eq!(learned([0; 1_000]), SPIN_MIN.0);
    assert_eq!(learned([u64::MAX; 1_000]), SPIN_MAX.0);
}

/// The estimate for a load that sends `sends` requests every `every` ns, many times over.
fn beating(sends: u32, every: u64) -> ArrivalRate {
    let mut arrival_rate = ArrivalRate::default();
    for turn in 1..=1_000 {
        arrival_rate.sends = sends;
        arrival_rate.nap_length(Nanos(turn * every), u32::MAX);
        arrival_rate.learn_nap_delay(Nanos(1_000), Nanos(21_000));
    }
    arrival_rate
}

#[test]
fn naps_are_as_long_as_six_answers_take() {
    // One answer every 8 µs; naps last 20 µs longer than requested.
    let mut arrival_rate = beating(4, 32_000);
    let nap_length = arrival_rate.nap_length(arrival_rate.since, 100).expect("many come quickly");
    assert!((27_000..=29_000).contains(&nap_length.0), "{nap_length:?}");
    // A nap is at least long enough to be worth it.
    let mut arrival_rate = beating(4, 4_000);
    let nap_length = arrival_rate.nap_length(arrival_rate.since, 100).expect("many come quickly");
    assert!((4_000..=5_000).contains(&nap_length.0), "{nap_length:?}");
}

#[test]
fn a_single_long_nap_is_forgotten() {
    let mut arrival_rate = beating(4, 32_000);
    arrival_rate.learn_nap_delay(Nanos(1_000), Nanos(50_000_000));
    assert!(arrival_rate.nap_length(arrival_rate.since, 100).is_some(), "one says little");
    for _ in 0..100 {
        arrival_rate.learn_nap_delay(Nanos(1_000), Nanos(50_000_000));
    }
    assert_eq!(arrival_rate.nap_length(arrival_rate.since, 100), None, "naps are too long here");
    let again = (0..20_000).any(|_| arrival_rate.nap_length(arrival_rate.since, 100).is_some());
    assert!(again, "they are tried again");
}

#[test]
fn no_nap_is_taken_for_few_or_slow_answers() {
    let mut arrival_rate = beating(4, 32_000);
    assert_eq!(
        arrival_rate.nap_length(arrival_rate.since, 11),
        None,
        "48 µs are more than half of their work"
    );
    assert!(arrival_rate.nap_length(arrival_rate.since, 13).is_some());
    let mut arrival_rate = beating(1, 20_000);
    assert_eq!(
        arrival_rate.nap_length(arrival_rate.since, 1_000),
        None,
        "six would take longer than a nap may"
    );
    assert_eq!(ArrivalRate::default().nap_length(Nanos(1), 1_000), None, "nothing is known yet");
}

#[test]
fn a_batch_of_fast_answers_is_awaited_and_leaves_the_server_work() {
    let count_batch_wait = |every: u64, crowd| {
        let mut arrival_rate = beating(4, 4 * every);
        arrival_rate.batch_to_await(arrival_rate.since, crowd)
    };
    assert_eq!(count_batch_wait(6_000, 10), Some(5), "half");
    assert_eq!(count_batch_wait(6_000, 1_000), Some(GATHER_MAX as u32));
    assert_eq!(count_batch_wait(12_000, 1_000), Some(8), "so many come in 100 µs");
    assert_eq!(count_batch_wait(20_000, 1_000), None, "six take longer");
    assert_eq!(count_batch_wait(6_000, 3), None, "each by itself");
    assert_eq!(
        ArrivalRate::default().batch_to_await(Nanos(1), 1_000),
        None,
        "nothing is known yet"
    );
}

#[test]
fn many_answers_are_busy_waited_for_a_tenth_of_the_time() {
    let mut clock = Clock::new(WaitMode::BusyWait, Instant::now());
    clock.now = Nanos(1_000_000);
    clock.note_send();
    let busy_wait_end = clock.now.plus(SPIN_AFTER_SEND);
    clock.spun = Nanos(100_000);
    let until = |awaited| clock.busy_wait_until(Nanos::SECOND, awaited);
    assert_eq!(until(AwaitedAnswers::Soon(CROWD)), busy_wait_end);
    let longer = clock.now.plus(LONG.most);
    let few =
        [AwaitedAnswers::Soon(CROWD - 1), AwaitedAnswers::AtOnce(CROWD), AwaitedAnswers::AtOnce(1)];
    assert_eq!(few.map(until), [longer; 3], "few are no crowd, nor is an open load");
    assert_eq!(until(AwaitedAnswers::AtOnce(0)), busy_wait_end, "nothing is to come");
    clock.spun = Nanos(100_001);
    let until = clock.busy_wait_until(Nanos::SECOND, AwaitedAnswers::Soon(CROWD));
    assert_eq!(until, clock.now, "no more of it");
}

#[test]
fn a_turn_in_which_another_program_had_the_cpu_is_not_counted_as_spun() {
    let mut clock = Clock::new(WaitMode::BusyWait, Instant::now());
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

/// The estimate after many answers, each `every` ns after its send, with one send per 20 ms.
fn response_estimator(every: impl Fn(u64) -> u64) -> ResponseEstimator {
    let mut response_estimator = ResponseEstimator::new(LONG);
    for send in 1..=1_000 {
        let now = Nanos::from_millis(20 * send);
        response_estimator.note_send(now);
        response_estimator.note_receive(now.plus(Nanos(every(send))));
    }
    response_estimator
}

const NEXT: Nanos = Nanos::from_millis(20 * 1_001);

#[test]
fn fast_answers_are_busy_waited_for_and_slow_ones_are_not() {
    let after_a_send = |mut response_estimator: ResponseEstimator| {
        response_estimator.note_send(NEXT);
        response_estimator.busy_wait_until().since(NEXT)
    };
    assert_eq!(after_a_send(response_estimator(|_| 3_900_000)), LONG.most);
    assert_eq!(after_a_send(response_estimator(|_| 4_100_000)), Nanos(0));
    // One answer of a hundred takes 9 ms.
    let odd = response_estimator(|send| if send % 100 == 0 { 9_000_000 } else { 600_000 });
    assert_eq!(after_a_send(odd), LONG.most);
}

#[test]
fn a_thread_on_a_shared_cpu_busy_waits_for_less_time() {
    let until = |wait_mode, after| {
        let mut clock = Clock::new(wait_mode, Instant::now());
        (clock.now, clock.response_estimator.after) = (NEXT, after);
        clock.note_send();
        clock.busy_wait_until(Nanos::from_secs(60), AwaitedAnswers::AtOnce(1)).since(NEXT)
    };
    assert_eq!(until(WaitMode::BusyWait, LONG.average), LONG.most);
    assert_eq!(until(WaitMode::Spin, SHORT.average), SHORT.most);
    assert_eq!(until(WaitMode::Spin, LONG.average), SPIN_AFTER_SEND);
    assert_eq!(until(WaitMode::Sleep, Nanos(0)), Nanos(0));
}

#[test]
fn busy_waiting_counts_from_the_previous_answer() {
    let mut response_estimator = response_estimator(|_| 1_000_000);
    response_estimator.note_send(NEXT);
    response_estimator.note_send(NEXT.plus(Nanos(500_000)));
    let first = NEXT.plus(Nanos(1_000_000));
    response_estimator.note_receive(first);
    assert_eq!(response_estimator.busy_wait_until(), first.plus(LONG.most));
}

#[test]
fn a_stalled_server_is_not_busy_waited_for() {
    let mut response_estimator = response_estimator(|_| 60_000);
    let sends = (0..100).map(|ms| NEXT.plus(Nanos::from_millis(ms)));
    let still = sends.map(|now| {
        response_estimator.note_send(now);
        response_estimator.busy_wait_until()
    });
    let still: Vec<Nanos> = still.collect();
    assert!(still[..5].iter().all(|until| *until == NEXT.plus(LONG.most)), "{still:?}");
    assert_eq!(still[99], NEXT, "no more of it, until it has answered quickly again");
}

#[test]
fn an_answer_read_together_with_a_send_does_not_belong_to_it() {
    let mut response_estimator =
        ResponseEstimator { after: LONG.average, ..ResponseEstimator::new(LONG) };
    response_estimator.note_send(Nanos(1_000));
    response_estimator.note_receive(Nanos(1_000));
    assert_eq!((response_estimator.after, response_estimator.is_awaited), (LONG.average, true));
}

#[test]
fn a_thread_without_a_cpu_of_its_own_does_not_spin() {
    let sleeps = |wait_mode, until| Clock::new(wait_mode, Instant::now()).sleep_end(until);
    assert_eq!(sleeps(WaitMode::Sleep, Nanos(1)), Some(Nanos(1)));
    assert_eq!(sleeps(WaitMode::Spin, Nanos(1)), None);
    let early = Some(Nanos::SECOND.since(SPIN_FIRST));
    assert_eq!(sleeps(WaitMode::Spin, Nanos::SECOND), early);
}
