//! Random seconds, records of requests and results.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use stampede_load::example::{Example, UnusualLength, UnusualLengths};
use stampede_load::protocol::Aside;
use stampede_load::report::{LoadResult, RequestRecord, TagFigures};
use stampede_model::counts::{AddressConnections, Connections, Counts, End, Second, TimeSet};
use stampede_model::entry::{EntryError, ReadFailure, RequestError, Skip};
use stampede_model::kept::{KeptConnections, StaleConnections};
use stampede_stats::histogram::Times;
use stampede_traffic::{Tag, TrafficNotes};

use super::{bytes, nanos, outcome};

pub(super) fn second() -> impl Strategy<Value = Second> {
    (any::<u32>(), counts(), time_set(), any::<u32>(), nanos()).prop_map(
        |(index, counts, times, in_flight_max, busy)| Second {
            index,
            counts,
            times,
            in_flight_max,
            busy,
        },
    )
}

pub(super) fn request_record() -> impl Strategy<Value = RequestRecord> {
    let times = (nanos(), nanos(), option::of(nanos()), nanos(), option::of(nanos()), nanos());
    let rest = any::<(u64, u64, u16, Option<u16>)>();
    (times, rest, outcome()).prop_map(|(times, rest, outcome)| {
        let (due, started, connected, sent, first_byte, done) = times;
        let (bytes_sent, bytes_received, tag, status) = rest;
        RequestRecord {
            due,
            started,
            connected,
            sent,
            first_byte,
            done,
            bytes_sent,
            bytes_received,
            tag: Tag(tag),
            outcome,
            status,
        }
    })
}

pub(super) fn load_result() -> impl Strategy<Value = LoadResult> {
    let times = (time_set(), times(Times::new), times(Times::coarse));
    let lengths = (nanos(), nanos());
    let numbers = any::<(u64, u128, u32, u64, u64)>();
    let shares = (0.0_f64..=1.0, 1.0_f64..100.0);
    let by_name = (
        vec(example(), 0..3),
        btree_map("[a-zé]{0,6}", tag_figures(), 0..3),
        btree_map("[a-z-]{1,6}", any::<u64>(), 0..3),
    );
    let engine = select(vec!["epoll".to_owned(), "io_uring".to_owned()]);
    let first = option::of((nanos(), ".{0,8}", any::<u64>()));
    let ended = (end(), connections(), engine, notes(), first);
    (counts(), times, lengths, numbers, shares, by_name, ended).prop_map(
        |(counts, times, lengths, numbers, shares, by_name, ended)| {
            let (times, service_time_all, connect_time) = times;
            let (scheduled, lasted) = lengths;
            let (ok_inside, in_flight_integral, in_flight_max, not_due, records_lost) = numbers;
            let (busy_share_max, stretched) = shares;
            let (examples, tags, odd) = by_name;
            let (end, connections, engine, traffic, first) = ended;
            LoadResult {
                counts,
                times,
                service_time_all,
                connect_time,
                scheduled,
                lasted,
                ok_inside,
                in_flight_integral,
                in_flight_max,
                connections,
                busy_share_max,
                stretched,
                examples,
                engine,
                end,
                not_due,
                tags,
                records_lost,
                traffic,
                odd,
                unusual: UnusualLengths {
                    answers: not_due,
                    first: first.map(|(at, request, body_bytes)| UnusualLength {
                        at,
                        request,
                        body_bytes,
                    }),
                },
                aside: Aside { surplus_answers: not_due, stderr_bytes: records_lost },
                agents: Vec::new(),
            }
        },
    )
}

fn counts() -> impl Strategy<Value = Counts> {
    let failed = btree_map("(net|http|check):[a-z0-9 >]{1,6}", any::<u64>(), 0..4);
    (any::<[u64; 8]>(), failed).prop_map(|(numbers, failed)| {
        let [planned, started, ok, dropped, bytes_sent, bytes_received, answer_bytes, body_bytes] =
            numbers;
        Counts {
            planned,
            started,
            ok,
            failed,
            dropped,
            bytes_sent,
            bytes_received,
            answer_bytes,
            body_bytes,
        }
    })
}

fn times(empty: fn() -> Times) -> impl Strategy<Value = Times> {
    vec((any::<u64>(), 0_u32..64, 1_u64..1 << 40), 0..6).prop_map(move |recorded| {
        let mut times = empty();
        for (ns, shift, count) in recorded {
            times.record_many(ns >> shift, count);
        }
        times
    })
}

fn time_set() -> impl Strategy<Value = TimeSet> {
    let fine = || times(Times::new);
    [fine(), fine(), fine(), fine(), fine(), fine()].prop_map(|times| {
        let [
            response_time,
            response_time_without_lag,
            lower_bound,
            service_time,
            connection_wait,
            schedule_lag,
        ] = times;
        TimeSet {
            response_time,
            response_time_without_lag,
            lower_bound,
            service_time,
            connection_wait,
            schedule_lag,
        }
    })
}

fn tag_figures() -> impl Strategy<Value = TagFigures> {
    let coarse = || times(Times::coarse);
    (any::<u64>(), any::<u64>(), coarse(), coarse()).prop_map(
        |(ok, failed, service_time, response_time)| TagFigures {
            ok,
            failed,
            service_time,
            response_time,
        },
    )
}

fn example() -> impl Strategy<Value = Example> {
    let place = ("[a-z:]{1,8}", nanos(), any::<u16>(), nanos(), option::of(any::<u16>()));
    let texts = (".{0,8}", ".{0,8}");
    (place, bytes(), bytes(), texts).prop_map(|(place, head, body, (request, found))| {
        let (kind, at, tag, service_time, status) = place;
        Example { kind, at, request, tag: Tag(tag), service_time, status, head, body, found }
    })
}

fn end() -> impl Strategy<Value = End> {
    select(vec![End::Complete, End::Stopped])
}

fn connections() -> impl Strategy<Value = Connections> {
    let address = (".{0,6}", any::<(u64, u64)>());
    let address = address.prop_map(|(address, (opened, failed))| AddressConnections {
        address,
        opened,
        failed,
    });
    (any::<([u64; 4], u32)>(), kept(), vec(address, 0..3)).prop_map(
        |(([opened, from_warm_up, never_answered, write_errors], sources), kept, addresses)| {
            Connections {
                opened,
                from_warm_up,
                never_answered,
                write_errors: Some(write_errors),
                sources,
                kept,
                addresses,
            }
        },
    )
}

fn kept() -> impl Strategy<Value = KeptConnections> {
    let stale = (nanos(), any::<(u64, u64, u64)>()).prop_map(|(idle_min, numbers)| {
        let (requests, answers_min, answers_max) = numbers;
        StaleConnections { requests, idle_min, answers_min, answers_max }
    });
    (option::of(nanos()), option::of(stale))
        .prop_map(|(answered_idle_max, stale)| KeptConnections { answered_idle_max, stale })
}

fn notes() -> impl Strategy<Value = TrafficNotes> {
    let skip = prop_oneof![
        "[A-Z]{1,5}".prop_map(|method| Skip::Method { method }),
        Just(Skip::NotHttp {}),
        "[a-z.]{1,5}".prop_map(|host| Skip::OtherHost { host }),
        Just(Skip::Other {}),
    ];
    let broken = prop_oneof![
        any::<u64>().prop_map(|bytes| EntryError::LengthTooLarge { bytes }),
        ".{0,6}".prop_map(|path| EntryError::NoRequest { error: RequestError::Path { path } }),
        Just(EntryError::WholeRequest {}),
    ];
    let failed = prop_oneof![
        "/[a-z]{1,6}".prop_map(|path| ReadFailure::Emptied { path: path.into() }),
        ("/[a-z]{1,6}", ".{0,6}")
            .prop_map(|(path, os_error)| ReadFailure::Unreadable { path: path.into(), os_error }),
    ];
    let read = (option::of("[a-z]{1,6}"), any::<u64>(), btree_map(skip, any::<u64>(), 0..4));
    let broken = (any::<u64>(), option::of((any::<u64>(), broken)));
    let rest = (option::of(failed), option::of("[a-z.]{1,6}"), option::of(any::<u64>()));
    (read, broken, rest).prop_map(|(read, broken, rest)| {
        let (format, requests, skipped) = read;
        let (broken, broken_first) = broken;
        let (failed, other_host, shuffled_within) = rest;
        TrafficNotes {
            format,
            requests,
            skipped,
            broken,
            broken_first,
            failed,
            target_variable: other_host.clone(),
            left_out_headers: other_host.iter().map(|name| (name.clone(), requests)).collect(),
            other_host,
            shuffled_within,
        }
    })
}
