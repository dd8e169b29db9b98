//! Tests agents whose clocks run wrong: they drift, and they are stepped. An agent reads the time
//! through one trait, behind which these tests put a clock of their own.

use std::io::stdin;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use stampede_fleet::agent::{Rules, run};
use stampede_fleet::clock::{Clock, Monotonic};
use stampede_known_server::{Answer, Behaviour, KnownServer};
use stampede_model::time::Nanos;

use crate::agents_support::{sum, write_program};
use crate::common::{Sandbox, finish, stderr, stdout};

/// A clock that starts as the machine's one, then drifts and is stepped.
struct Wrong {
    zero: Nanos,
    ppm: i64,
    /// When it is stepped, and by how much, in ms since it was made.
    steps: &'static [(i64, i64)],
}

impl Clock for Wrong {
    fn now(&self) -> Nanos {
        let passed = Monotonic.now().since(self.zero).0 as i64;
        let steps = self.steps.iter().filter(|(at, _)| at * MS <= passed);
        let stepped: i64 = steps.map(|(_, by)| by * MS).sum();
        let shown = self.zero.0 as i64 + passed + passed / 1_000_000 * self.ppm + stepped;
        Nanos(shown as u64)
    }
}

const MS: i64 = 1_000_000;
/// Says which of the clocks the program below has.
const CLOCK: &str = "STAMPEDE_TEST_CLOCK";
/// For the short test, and for the long one. A step is shorter than the silence after which an agent
/// ends: nobody could tell it from silence.
const STEPS: [&[(i64, i64)]; 2] =
    [&[(4_000, 1_200), (6_500, -900)], &[(20_000, 1_200), (40_000, -900)]];

/// Not a test but an agent, if it is started by one of the tests below: it has the orders on its
/// standard input and answers on descriptor 3.
#[test]
fn an_agent_with_a_clock_of_its_own() {
    let Ok(number) = std::env::var(CLOCK) else { return };
    let (ppm, steps) = match &*number {
        "1" => (200, &[] as &[(i64, i64)]),
        "2" => (-200, &[] as &[(i64, i64)]),
        // In a few seconds of a busy machine less than that cannot be told from noise.
        "11" => (5_000, &[] as &[(i64, i64)]),
        "12" => (-5_000, &[] as &[(i64, i64)]),
        "13" => (0, STEPS[0]),
        _ => (0, STEPS[1]),
    };
    let answers = std::fs::File::options().write(true).open("/proc/self/fd/3").expect("a pipe");
    let clock: Arc<dyn Clock> = Arc::new(Wrong { zero: Monotonic.now(), ppm, steps });
    run(stdin(), answers, Rules::default(), &clock, None);
}

/// Writes the program of three agents. Each takes the first clock that is left.
fn program(at: &Path, clocks: &str) -> std::path::PathBuf {
    let (path, own) = (at.join("agent"), std::env::current_exe().expect("this program"));
    let text = format!(
        "#!/bin/sh\nfor clock in {clocks}; do mkdir '{}/'$clock 2>/dev/null && break; done\n\
         exec 3>&1 >&2\n\
         exec env {CLOCK}=$clock '{}' --exact agents_clock::an_agent_with_a_clock_of_its_own \
         --nocapture\n",
        at.display(),
        own.display()
    );
    write_program(&path, &text);
    path
}

/// Sends a load by agents with three wrong clocks. The server takes 20 ms, so a time that was taken
/// from a stepped clock is far too long.
fn send(seconds: u32, clocks: &str) -> Value {
    let mut behaviour = Behaviour::answering(Answer::ok());
    behaviour.reply.service_time = Duration::from_millis(20);
    let (sandbox, server) = (Sandbox::new(), KnownServer::start(behaviour).expect("a server"));
    let program = program(sandbox.path(), clocks);
    let (url, length) = (format!("http://{}/", server.address()), format!("{seconds}s"));
    let program = program.to_str().expect("UTF-8");
    let args = ["fire", &url, "--json", "--rate", "150", "--for", &length, "--agents", "local:3"];
    let args = [&args[..], &["--agent-program", program]].concat();
    let output = finish(sandbox.stampede(&args), Duration::from_secs(u64::from(seconds) + 60));
    serde_json::from_str(&stdout(&output)).unwrap_or_else(|_| panic!("{}", stderr(&output)))
}

/// Checks a load of three agents, and returns the drifts that are known of their clocks.
fn check(summary: &Value) -> Vec<f64> {
    assert_eq!(summary["requests_ok"], summary["requests_planned"], "{summary:#}");
    assert_eq!(summary["requests_ok"].as_u64(), Some(sum(summary, "ok")), "{summary:#}");
    assert_eq!(sum(summary, "expected"), sum(summary, "planned"), "{summary:#}");
    // No reason is about an agent: not lost, not miscounted, none differs, each start is known.
    let reasons = summary["reasons"].as_array().expect("reasons");
    let of_agents =
        |reason: &&Value| reason["code"].as_str().is_some_and(|code| code.starts_with("agent"));
    assert_eq!(reasons.iter().filter(of_agents).collect::<Vec<&Value>>(), [&Value::Null; 0]);
    // A step of a second would be in every request that was in flight.
    for time in ["response_time_ns", "service_time_ns"] {
        let (least, most) = (&summary[time]["min"], &summary[time]["max"]);
        assert!(least.as_f64().is_none_or(|ns| ns >= 20e6), "{time}: {summary:#}");
        assert!(most.as_f64().expect("a number") < 800e6, "{time}: {summary:#}");
    }
    let agents = summary["agents"].as_array().expect("agents");
    for agent in agents {
        let median = agent["service_time_p50"]["median_ns"].as_f64().expect("a number");
        assert!((20e6..60e6).contains(&median), "{agent:#}");
    }
    agents.iter().filter_map(|agent| agent["start"]["drift_ppm"].as_f64()).collect()
}

/// Whether a clock drifts by this much, forwards or backwards. A stepped clock is no line: what is said of
/// it is far from both.
fn is_known(ppm: f64, drift_ppm: f64, tolerance_ppm: f64) -> bool {
    (ppm.abs() - drift_ppm).abs() <= tolerance_ppm || ppm.abs() > 5.0 * drift_ppm
}

#[test]
fn clocks_that_drift_and_step_change_no_time_and_no_verdict() {
    // So few pings show a drift only if most of them come back at once.
    let drifts = check(&send(9, "11 12 13"));
    assert!(drifts.iter().all(|ppm| is_known(*ppm, 5_000.0, 2_000.0)), "{drifts:?}");
}

#[test]
#[ignore = "long: 62 s, waits"]
fn clocks_that_drift_for_a_minute_change_no_time_and_no_verdict() {
    let drifts = check(&send(60, "1 2 4"));
    assert!(drifts.iter().all(|ppm| is_known(*ppm, 200.0, 20.0)), "{drifts:?}");
    let has = |is_it: fn(f64) -> bool| drifts.iter().any(|ppm| is_it(*ppm));
    assert!(has(|ppm| (150.0..250.0).contains(&ppm.abs())), "{drifts:?}");
    // On a busy machine too few pings of one of them may come back at once to know its drift.
    if drifts.len() == 3 {
        assert!(has(|ppm| ppm > 150.0) && has(|ppm| ppm < -150.0), "{drifts:?}");
        assert!(has(|ppm| ppm.abs() > 1_000.0), "{drifts:?}");
    }
}
