//! Remote write to a real Prometheus, as Debian has it.

use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stampede_model::event::{Event, EventListener as _, Phase};
use stampede_remote_write::metrics::{COMMON_LABELS, METRICS};

use crate::dashboard;
use crate::trial::{case, reading, record, run, second, settings, started, writer};

/// A running Prometheus, with its own empty data.
struct Prometheus {
    port: u16,
    process: Child,
    data: tempfile::TempDir,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Prometheus {
    /// Starts one; `None`: it is not installed. In CI that is an error.
    fn start() -> Option<Prometheus> {
        // Another program may take the port before Prometheus does.
        for _ in 0..5 {
            let mut prometheus = Prometheus::try_start()?;
            let ready = until(|| {
                if prometheus.process.try_wait().expect("its state").is_some() {
                    return Some(false);
                }
                let answer = ureq::get(prometheus.url("/-/ready")).call();
                answer.is_ok_and(|answer| answer.status() == 200).then_some(true)
            });
            if ready == Some(true) {
                return Some(prometheus);
            }
            let log = std::fs::read_to_string(prometheus.data.path().join("log"));
            println!("Prometheus did not start: {}", log.unwrap_or_default());
        }
        panic!("Prometheus did not start");
    }

    fn try_start() -> Option<Prometheus> {
        let data = tempfile::tempdir().expect("a directory");
        let config = data.path().join("prometheus.yml");
        std::fs::write(&config, "{}\n").expect("the configuration");
        // Free when it was asked for. Prometheus takes no port of its own choice.
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its address").port();
        drop(listener);
        let log = std::fs::File::create(data.path().join("log")).expect("a log");
        let started = Command::new("prometheus")
            .arg(format!("--config.file={}", config.display()))
            .arg(format!("--storage.tsdb.path={}", data.path().join("tsdb").display()))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .arg("--web.enable-remote-write-receiver")
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        match started {
            Ok(process) => Some(Prometheus { port, process, data }),
            Err(error) => {
                assert!(std::env::var_os("CI").is_none(), "`prometheus` in CI: {error}");
                println!("SKIPPED: not installed here: prometheus");
                None
            }
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The result of an instant query, now.
    fn query(&self, query: &str) -> Vec<Value> {
        let answer = ureq::get(self.url("/api/v1/query")).query("query", query).call();
        let mut answer = answer.unwrap_or_else(|error| panic!("{query}: {error}"));
        let text = answer.body_mut().read_to_string().expect("its text");
        let answer: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(answer["status"], "success", "{text}");
        answer["data"]["result"].as_array().expect("a list").clone()
    }

    /// The only value of a query, once it has one.
    fn value(&self, query: &str) -> Option<String> {
        match self.query(query).as_slice() {
            [one] => one["value"][1].as_str().map(str::to_owned),
            _ => None,
        }
    }
}

impl Prometheus {
    /// A panel of the dashboard has something to show, with what Grafana puts in.
    fn shows(&self, panel: &str) {
        let query = panel
            .replace("$__rate_interval", "1m")
            .replace("$__range", "15m")
            .replace("\"$runtime\"", "\"nginx-fpm|other\"")
            .replace("\"$load\"", "\".*\"")
            .replace("$run", "2026-11-27-2100");
        assert!(!query.contains('$'), "{query}");
        assert!(!self.query(&query).is_empty(), "the panel is empty: {query}");
    }
}

/// Asks until there is an answer, for at most half a minute.
fn until<T>(mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let begun = Instant::now();
    while begun.elapsed() < Duration::from_secs(30) {
        if let Some(answer) = ask() {
            return Some(answer);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    None
}

/// What Prometheus answers while the trial runs.
const FIGURES: [(&str, &str); 18] = [
    ("stampede_requests_total{outcome=\"ok\",phase=\"measure\"}", "40"),
    ("stampede_requests_total{kind=\"http:502\",phase=\"measure\"}", "4"),
    ("stampede_requests_planned_total{phase=\"measure\"}", "44"),
    ("stampede_requests_dropped_total{phase=\"measure\"}", "0"),
    ("stampede_in_flight{phase=\"measure\"}", "7"),
    // 2 ms lies in the histogram's bucket of 1 024 ns from 1 953 × 1 024 on: this is its middle.
    ("stampede_response_time_seconds{quantile=\"0.5\"}", "0.002000384"),
    // The 31st of 30 + 2 requests failed.
    ("stampede_response_time_seconds{quantile=\"0.95\"}", "+Inf"),
    ("stampede_response_time_seconds_count{phase=\"measure\"}", "40"),
    ("stampede_generator_cpu_seconds_total{phase=\"measure\"}", "0.024"),
    ("stampede_cpu_seconds_total{role=\"php\"}", "1"),
    ("stampede_cpu_ratio", "0.5"),
    ("stampede_processes", "9"),
    ("stampede_disk_written_bytes_total{role=\"php\"}", "8192"),
    ("stampede_network_received_bytes_total", "1000"),
    ("stampede_phase", "1"),
    ("count(stampede_requests_total{phase=\"warm-up\"})", ""),
    // From the 0 that comes before the first second.
    ("max_over_time(stampede_requests_total{outcome=\"ok\",phase=\"warm-up\"}[1m])", "5"),
    ("min_over_time(stampede_requests_total{outcome=\"ok\",phase=\"measure\"}[1m])", "0"),
];

/// Seconds since the start of 1970.
fn wall_clock() -> f64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.expect("a time after 1970").as_secs_f64()
}

#[test]
fn a_trial_is_seen_while_it_runs_and_gone_afterwards() {
    let Some(prometheus) = Prometheus::start() else { return };
    let mut settings = settings(&prometheus.url("/api/v1/write"));
    settings.labels = vec![("team".to_owned(), "shop \"ä\"".to_owned())];
    settings.pace.timeout = Duration::from_secs(10);
    let mut writer = writer(settings);
    let (run, case) = (run("2026-11-27-2100"), case());
    let begun = wall_clock();
    let nothing = stampede_model::time::Nanos(0);
    writer.event(&Event::RunStarted { run: &run, trials: 6, expected: nothing, warm_up: nothing });
    writer.event(&started(&case));
    let enter = |phase| Event::Phase { phase, expected: None };
    writer.event(&enter(Phase::WarmUp));
    writer.event(&Event::Second(&second(0, 5)));
    writer.event(&enter(Phase::Measure));
    writer.event(&Event::Second(&second(0, 10)));
    writer.event(&Event::Second(&second(1, 30)));
    writer.event(&Event::Resources(&reading()));

    // The reading came last.
    let memory = until(|| prometheus.value("stampede_memory_bytes{role=\"php\"}"));
    assert_eq!(memory.as_deref(), Some("67108864"));
    for (query, expected) in FIGURES {
        let value = prometheus.value(query).unwrap_or_default();
        assert_eq!(value, expected, "{query}: {:?}", prometheus.query(query));
    }
    let at = prometheus.value("timestamp(stampede_in_flight{phase=\"measure\"})");
    let at: f64 = at.expect("a time").parse().expect("a number");
    // Three samples of a series cannot share a millisecond.
    assert!((begun - 0.001..=wall_clock() + 0.01).contains(&at), "{begun} {at}");
    let labels = &prometheus.query("stampede_phase")[0]["metric"];
    let expected = json!({
        "__name__": "stampede_phase", "phase": "measure", "team": "shop \"ä\"",
        "run": "2026-11-27-2100", "runtime": "nginx-fpm", "app": "hello", "load": "steady",
        "round": "2", "trial": "3",
    });
    assert_eq!(labels, &expected);
    let own = prometheus.query("{__name__=~\"stampede_.*\"}");
    for series in &own {
        let name = series["metric"]["__name__"].as_str().expect("a name");
        assert!(METRICS.iter().any(|metric| metric.name == name), "{name}");
        assert!(COMMON_LABELS.iter().all(|label| series["metric"][*label].is_string()), "{series}");
    }
    let panels = dashboard::expressions();
    let (of_verdicts, live): (Vec<&String>, Vec<&String>) =
        panels.iter().partition(|panel| panel.contains("stampede_trial_verdict"));
    live.iter().for_each(|panel| prometheus.shows(panel));

    let record = record();
    writer.event(&Event::TrialEnded { record: &record, case: &case });
    writer.event(&Event::RunEnded);
    let sent = writer.finish();
    assert!(sent.is_whole() && sent.last_error.is_none(), "{sent:?}");
    let left = until(|| {
        let left = prometheus.query("{__name__=~\"stampede_.*\"}");
        (left.len() == 1).then_some(left)
    });
    let left = left.expect("the series end at once, and not after five minutes");
    assert_eq!(left[0]["metric"]["__name__"], "stampede_trial_verdict");
    assert_eq!(
        (&left[0]["metric"]["verdict"], &left[0]["value"][1]),
        (&json!("valid"), &json!("1"))
    );
    of_verdicts.iter().for_each(|panel| prometheus.shows(panel));
    let stored = "count(last_over_time({__name__=~\"stampede_.*\"}[5m]))";
    let series = prometheus.value(stored).expect("what is stored");
    assert_eq!(series, sent.series.to_string(), "each series is there");
}

#[test]
fn a_prometheus_that_takes_no_remote_write_says_so() {
    let Some(prometheus) = Prometheus::start() else { return };
    let mut settings = settings(&prometheus.url("/api/v2/write"));
    settings.pace.timeout = Duration::from_secs(10);
    let mut writer = writer(settings);
    crate::trial::begin(&mut writer);
    writer.second(&second(0, 1));
    let trouble = until(|| writer.take_trouble()).expect("a failure");
    assert!(trouble.error.hint().contains("--web.enable-remote-write-receiver"), "{trouble:?}");
    assert!(writer.finish().failed > 0);
}
