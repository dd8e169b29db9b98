//! A report of `fire` made by hand, with every part that the summary can have.

use std::collections::BTreeMap;

use stampede_model::counts::AddressConnections;
use stampede_model::fact::{Behind, Fact, FigureUnit, Found, Generator, Traffic};
use stampede_model::lag::LagMark;
use stampede_model::stat::Stat;

use super::report::{EndReason, Expectation, ExpectationOutcome, FailedWord, TimeNs, TimesNs};
use super::server::ServerUse;
use super::*;

/// Times of which half are `ns` or less.
pub fn times(ns: u64) -> TimesNs {
    let at = |share: u64| TimeNs::Ns(ns * share / 10);
    TimesNs {
        p50: at(10),
        p75: at(12),
        p80: at(13),
        p85: at(14),
        p90: at(16),
        p95: at(20),
        p98: at(25),
        p99: at(30),
        p999: at(90),
        max: at(200),
        mean: at(11),
    }
}

fn expectations() -> Vec<Expectation> {
    let expectation = |text: &str, outcome, found: Option<Found>| Expectation {
        text: text.to_owned(),
        outcome,
        found: found.map(Fact::from),
    };
    vec![
        expectation("p95 < 100ms", ExpectationOutcome::Met, None),
        expectation(
            "ok >= 99.9%",
            ExpectationOutcome::NotMet,
            Some(Found::Value { value: 0.986, unit: FigureUnit::Share }),
        ),
        expectation("p99.9 < 1s", ExpectationOutcome::Unknown, None),
    ]
}

fn connections(address: &str, opened: u64) -> AddressConnections {
    AddressConnections { address: address.to_owned(), opened, failed: 0 }
}

fn lag_marks() -> Vec<LagMark> {
    vec![
        LagMark {
            figure: Stat::Percentile(750),
            time_ns: 1_440_000,
            without_lag_ns: 1_200_000,
            may: false,
        },
        LagMark {
            figure: Stat::Percentile(950),
            time_ns: 2_400_000,
            without_lag_ns: 2_000_000,
            may: false,
        },
    ]
}

fn server_use() -> ServerUse {
    ServerUse {
        watched: "project shop".to_owned(),
        accounting: "cgroup-v2".to_owned(),
        cpus_mean: 0.714,
        cpus_max: 0.981,
        cpu_ns_per_request: Some(14_430_000),
        memory_bytes_max: Some(187 << 20),
        disk_read_bytes: Some(0),
        disk_written_bytes: Some(3 << 20),
        network_received_bytes: Some(310_000),
        network_sent_bytes: Some(2_610_000),
    }
}

/// Returns a report made by hand, with every part that the summary can have.
pub fn made() -> Report {
    let failed = TimeNs::Failed(FailedWord::Failed);
    let response = TimesNs { p99: failed, p999: failed, ..times(1_200_000) };
    let errors = [("http:502", 40), ("net:timeout", 2)].map(|(kind, n)| (kind.to_owned(), n));
    Report {
        format: 1,
        stampede: "0.1.0".to_owned(),
        url: "http://127.0.0.1:8080/".to_owned(),
        address: "127.0.0.1:8080".to_owned(),
        addresses: vec![connections("127.0.0.1:8080", 2_999)],
        load: "const(50,60s)".to_owned(),
        model: LoadModel::Open,
        verdict: Validity::Suspect,
        reasons: vec![Generator::Busy { busy_share: 0.85 }.into()],
        hint: None,
        notes: vec![Traffic::FileShuffled { within: 1_000 }.into()],
        end: EndReason::Autostop,
        autostop: Some("http(5xx,10%,5s): 12 % of requests were `5xx`, for 5 s".to_owned()),
        expectations: expectations(),
        requests_planned: 3_000,
        requests_started: 2_999,
        requests_ok: 2_957,
        requests_failed: 42,
        requests_dropped: 1,
        errors: errors.into(),
        duration_s: 59.8,
        lasted_s: 60.2,
        offered_per_s: Some(50.0),
        throughput_per_s: 49.3,
        kept_up: Some(KeptUp::No {
            why: Behind::Growing { in_flight_at_half: 4, in_flight_at_end: 12 },
            answered_per_second: 49.3,
            offered_per_second: 50.0,
        }),
        response_time_ns: Some(response.clone()),
        response_time_without_lag_ns: Some(TimesNs { p95: TimeNs::Ns(2_000_000), ..response }),
        lag_marks: lag_marks(),
        response_time_ok_ns: Some(times(1_150_000)),
        service_time_ns: TimesNs { p99: failed, p999: failed, ..times(1_100_000) },
        service_time_ok_ns: times(1_050_000),
        connection_wait_ns: Some(times(1_000)),
        schedule_lag_ns: times(23_000),
        connect_time_ns: Some(times(90_000)),
        lower_bounds: vec!["response_time_ns.max".to_owned(), "response_time_ns.mean".to_owned()],
        bytes_in: 2_534_155,
        answer_bytes_mean: Some(851.0),
        document_bytes_mean: Some(612.0),
        bytes_out: 290_903,
        server: Some(server_use()),
        cpu_ns_per_request: Some(12_345),
        engine: "epoll".to_owned(),
        load_threads: 2,
        busy_share_max: 0.853,
        connections: 2_999,
        connections_from_warm_up: 3,
        local_addresses: 1,
        connections_never_answered: 0,
        in_flight_max: 12,
        stretched: 1.25,
        client: "tank".to_owned(),
        protocol: "http".to_owned(),
        http: "1.0".to_owned(),
        keep_alive: false,
        timeout_ns: 11_000_000_000,
        poisson_seed: Some(7),
        traffic_seed: Some(7),
        tags: BTreeMap::new(),
        examples: Vec::new(),
        agents: agents::made(),
    }
}
