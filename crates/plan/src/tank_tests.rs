//! Tests of reading Yandex Tank's `load.yaml`: what is read, what is skipped, and every mistake.

use std::path::PathBuf;

use proptest::prelude::*;
use stampede_load::protocol::http1;
use stampede_model::load::{ConnectionHabit, HttpVersion, Model, Until, WhenFull};
use stampede_model::time::Nanos;
use stampede_traffic::{Format, Passes, Source as TrafficSource};

use super::error::{PlanError, RenderStyle, Source};
use super::tank::{TankConfig, parse};

fn read(text: &str) -> Result<TankConfig, PlanError> {
    let (name, base) = ("load.yaml".to_owned(), PathBuf::from("directory"));
    parse(Source { name, text: text.to_owned(), base })
}

/// The texts of the criteria of `autostop`.
fn criteria(config: &TankConfig) -> Vec<&str> {
    config.autostop.iter().map(|criterion| criterion.text.as_str()).collect()
}

#[test]
fn the_tutorial_is_understood() {
    let new = r#"
phantom:
  address: 203.0.113.1:80
  load_profile:
    load_type: rps
    schedule: line(1, 10, 10m)
  header_http: "1.1"
  headers:
    - "[Host: www.target.example.com]"
    - "[Connection: close]"
  uris:
    - "/uri1"
    - "/buy"
console:
  enabled: true
telegraf:
  enabled: false
autostop:
  autostop:
    - time(1s,10s)
    - http(5xx,10%,5s) net(xx,5,10s)
"#;
    let old = "phantom:\n  address: 203.0.113.1\n  port: '80'\n  rps_schedule: line(1, 10, 10m)\n  \
               header_http: 1.1\n  headers: |\n    [Host: www.target.example.com]\n    \
               [Connection: close]\n  uris: |\n    /uri1\n    /buy\n\
               autostop:\n  autostop: |\n    time(1s,10s)\n    http(5xx,10%,5s)\n    net(xx,5,10s)\n";
    for text in [new, old] {
        let config = read(text).unwrap();
        assert_eq!(config.url, "http://203.0.113.1:80");
        let Model::Open { schedule, max_in_flight, when_full, .. } = &config.model else {
            panic!("an open model: {:?}", config.model)
        };
        assert_eq!((schedule.length(), schedule.planned()), (Nanos::from_secs(600), 3_300));
        assert_eq!((*max_in_flight, *when_full), (1_000, WhenFull::Stretch));
        assert_eq!(config.habits.version, HttpVersion::Http11);
        assert_eq!(config.habits.connection, ConnectionHabit::PerRequest);
        assert_eq!(config.timeout, Nanos::from_secs(11));
        assert_eq!(criteria(&config), ["time(1s,10s)", "http(5xx,10%,5s)", "net(xx,5,10s)"]);
        assert_eq!((config.traffic.passes, config.traffic.limit), (Passes::Endless, None));
        let TrafficSource::List(list) = &config.traffic.source else { panic!("a list") };
        let [first, second] = [0, 1].map(|index| {
            String::from_utf8(http1::text(&list[index], config.habits)).expect("a request")
        });
        assert_eq!(list.len(), 2);
        assert!(second.starts_with("GET /buy HTTP/1.1\r\n"), "{second}");
        assert!(first.starts_with("GET /uri1 HTTP/1.1\r\n"), "{first}");
        assert!(first.contains("\r\nHost: www.target.example.com\r\n"), "{first}");
        assert!(config.unsupported.iter().all(|key| key.key == "console"));
    }
}

#[test]
fn a_file_with_limits_is_read() {
    let config = read(
        "phantom: {address: '[::1]:8443', ssl: 1, instances: 50, timeout: 3s, loop: 2, \
         ammo_limit: 1000, ammofile: traffic/uris.txt, ammo_type: uripost, \
         load_profile: {load_type: instances, schedule: 'const(10, 60s)'}, writelog: '0'}",
    )
    .unwrap();
    assert_eq!(config.url, "https://[::1]:8443");
    assert_eq!((config.traffic.passes, config.traffic.limit), (Passes::Times(2), Some(1_000)));
    let TrafficSource::File(file) = config.traffic.source else { panic!("a file") };
    let (path, format) = (PathBuf::from("directory/traffic/uris.txt"), Some(Format::UriPost));
    assert_eq!((file.path, file.format), (path, format));
    assert_eq!(file.headers, [("Host".to_owned(), "[::1]:8443".to_owned())]);
    assert_eq!(config.model, Model::Closed { concurrency: 10, until: Until::Requests(u64::MAX) });
    assert_eq!(config.timeout, Nanos::from_secs(3));
    assert_eq!(config.habits.version, HttpVersion::Http10);
    assert!(config.unsupported.is_empty(), "{:?}", config.unsupported);
    let config = read(
        "phantom: {address: a, ammofile: x, ammo_type: phantom, header_http: '1.1', loop: -1, \
         instances_schedule: 'const(3,5)'}",
    );
    let config = config.unwrap();
    let until = Until::For(Nanos::from_secs(5));
    assert_eq!(
        (config.url.as_str(), config.model),
        ("http://a", Model::Closed { concurrency: 3, until })
    );
    let TrafficSource::File(file) = config.traffic.source else { panic!("a file") };
    assert_eq!(file.format, None);
    assert_eq!(config.habits.connection, ConnectionHabit::KeepAlive);
}

#[test]
fn what_has_no_meaning_is_said_in_words() {
    let config = read(
        "version: 1.9.4\nphantom:\n  address: localhost:1\n  uris: [/]\n  \
         rps_schedule: const(1,1)\n  threads: 4\n  writelog: all\n  phantom_http_line: 1K\n  \
         use_caching: false\n  multi: []\n  gatling_ip: ''\n  client_certificate: a.pem\n  \
         tank_type: none\n  autocases: 2\noverload: {enabled: true, token_file: t}\n\
         uploader: {enabled: false}\npandora: {}\nmine: {a: b}\n\
         autostop:\n  autostop:\n  - limit(1m), metric_lower(127.0.0.1,CPU_idle,50,20)\n  \
         - http(5xx,10%,5s,buy) quantile(95,1s,10s)\n  report_file: a.txt\n",
    );
    let config = config.unwrap();
    assert_eq!(criteria(&config), ["limit(1m)", "quantile(95,1s,10s)"]);
    let lines: Vec<String> = config.unsupported.iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(lines.join("\n"));
}

#[cfg_attr(feature = "codes-for-text", ignore = "reads sentences")]
#[test]
fn every_mistake_is_shown() {
    let with = |line: &str| {
        let key = line.split(':').next().unwrap_or_default();
        let plan = ["address: a:80", "uris: [/]", "rps_schedule: const(1,1)"];
        let plan = plan.into_iter().filter(|other| other.split(':').next() != Some(key));
        let lines: Vec<String> = plan.chain([line]).map(|line| format!("  {line}\n")).collect();
        format!("phantom:\n{}", lines.concat())
    };
    let texts = [
        "console: {enabled: true}\n".to_owned(),
        "phantom:\n  - address\n".to_owned(),
        with("address:"),
        with("address: http://a/"),
        with("address: 'a:99999'"),
        with("port: x"),
        with("uris: []"),
        with("uris:\n  - /a\n  - b c\n  - /d"),
        with("headers: ['[Bad name: a]']"),
        with("ammofile: x"),
        with("rps_schedule: line(1,2)"),
        with("rps_schedule: ''"),
        with("load_profile: {load_type: stpd_file, schedule: x.stpd}"),
        with("instances: 0"),
        with("loop: some"),
        with("ssl: maybe"),
        with("headers: [no header]"),
        with("header_http: 2"),
        with("timeout: -1"),
        with("adress: a"),
        "phantom: {address: a, ammofile: 'https://h/x', rps_schedule: 'const(1,1)'}".to_owned(),
        "phantom: {address: a, ammofile: x, ammo_type: line, rps_schedule: 'const(1,1)'}"
            .to_owned(),
        "phantom: {address: a, uris: [/], instances_schedule: 'line(1,10,1m)'}".to_owned(),
        with("timeout: 1s")
            + "autostop:\n  autostop:\n  - time(1s,10s)\n  - limit(1m) htp(5xx,1,2s)\n",
        with("timeout: 1s") + "autostop: {autostop: 'time(1s)'}\n",
        with("enabled: False"),
        "phantom:\n".to_owned(),
    ];
    let shown = texts.iter().map(|text| match read(text) {
        Err(error) => error.render(RenderStyle::Plain),
        Ok(config) => panic!("no mistake in:\n{text}{config:?}"),
    });
    insta::assert_snapshot!(shown.collect::<Vec<_>>().join("\n"));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_file_is_a_load_or_an_error(
        key in prop_oneof![Just("address"), Just("uris"), Just("headers"), Just("loop"),
            Just("instances_schedule"), Just("load_profile"), Just("port"), Just("ammofile")],
        value in "[-:{}, \\[\\]a-z0-9()'\"/\\n]{0,30}",
    ) {
        let plan = ["address: a:80", "uris: [/]", "rps_schedule: const(1,1)"];
        let plan = plan.into_iter().filter(|other| other.split(':').next() != Some(key));
        let lines: Vec<String> = plan.map(|line| format!("  {line}\n")).collect();
        if let Ok(config) = read(&format!("phantom:\n{}  {key}: {value}\n", lines.concat())) {
            prop_assert!(config.url.starts_with("http"));
        }
    }
}
