//! Tests of reading Yandex Tank's `load.yaml`: what is read, what is skipped, and every mistake.

use std::path::PathBuf;

use proptest::prelude::*;
use stampede_load::protocol::http1;
use stampede_model::load::{ConnectionHabit, HttpVersion, Model, Until, WhenFull};
use stampede_model::time::Nanos;
use stampede_traffic::{Format, Passes, Source as TrafficSource};

use super::error::{PlanError, RenderStyle, Source};
use super::tank::{Given, TankConfig, parse};

fn read(text: &str) -> Result<TankConfig, PlanError> {
    read_with(text, &Given::default())
}

fn read_with(text: &str, given: &Given) -> Result<TankConfig, PlanError> {
    let (name, base) = ("load.yaml".to_owned(), PathBuf::from("directory"));
    parse(Source { name, text: text.to_owned(), base }, given)
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

#[test]
fn a_load_ini_is_the_same_load_as_its_load_yaml() {
    let ini = read(
        "; the old notation\n[tank]\nplugin_web = x\n\n[phantom]\naddress = 203.0.113.1 ; the target\n\
         port: 8080\nRPS_schedule = line(1, 10, 1m)\n    const(10, 1h30m)\nheader_http=1.1\n\
         headers = [Host: a.test]\n#  [Cookie: off]\n  [Accept: */*] [Connection: close]\nuris = /a\n  /b;c\n\n  /d\n\
         ammofile =\nwritelog = all\n[autostop] autostop = time(1s,10s)\n  http(5xx,10%,5s)\n\
         [phantom]\ninstances = 5\ninstances = 7\n",
    )
    .unwrap();
    let yaml = read(
        "phantom:\n  address: 203.0.113.1:8080\n  rps_schedule: ['line(1, 10, 1m)', 'const(10, 1h30m)']\n  \
         header_http: '1.1'\n  headers: ['[Host: a.test]', '[Accept: */*]', '[Connection: close]']\n  \
         uris: [/a, '/b;c', /d]\n  instances: 7\n",
    )
    .unwrap();
    assert_eq!(criteria(&ini), ["time(1s,10s)", "http(5xx,10%,5s)"]);
    assert_eq!(ini.url, yaml.url);
    assert_eq!(ini.model, yaml.model);
    assert_eq!((ini.traffic.source, ini.habits), (yaml.traffic.source, yaml.habits));
    let unsupported: Vec<_> = ini.unsupported.iter().map(|one| (&*one.key, one.line)).collect();
    assert_eq!(unsupported, [("tank", 2), ("phantom.writelog", 19)]);
}

#[test]
fn several_headers_on_a_line_are_several_headers() {
    let config = read(
        "phantom: {address: a, rps_schedule: 'const(1,1)', uris: [/], header_http: '1.1', \
         headers: '[Host: shop.test] [Connection: close]'}",
    )
    .unwrap();
    assert_eq!(config.habits.connection, ConnectionHabit::PerRequest);
    let TrafficSource::List(list) = &config.traffic.source else { panic!("a list") };
    let text = String::from_utf8(http1::text(&list[0], config.habits)).expect("a request");
    assert!(text.contains("\r\nHost: shop.test\r\nConnection: close\r\n"), "{text}");
}

/// Python's templates write `uris: []` where a file is named.
#[test]
fn an_empty_list_of_paths_is_no_list() {
    for uris in ["[]", "", "''"] {
        let config = read(&format!(
            "phantom:\n  address: a\n  rps_schedule: const(1,1)\n  uris: {uris}\n  ammofile: x\n"
        ));
        let TrafficSource::File(file) = config.unwrap().traffic.source else { panic!("a file") };
        assert_eq!(file.path, PathBuf::from("directory/x"));
    }
}

#[test]
fn what_is_given_on_the_command_line_stands_for_the_files_own() {
    let url = Some("http://127.0.0.1:8080/".to_owned());
    let traffic = Some(PathBuf::from("ammo.txt"));
    let given = Given { url, traffic };
    for file in [
        "phantom: {rps_schedule: 'const(1,1)'}",
        "phantom: {address: '${HOST}', port: $PORT, ammofile: '{{ ammo }}', rps_schedule: 'const(1,1)'}",
        "[phantom]\naddress = %(host)s\nrps_schedule = const(1,1)\n",
        "pools: [{gun: {type: http, target: '${T}'}, ammo: {type: uri, file: '${F}'}, rps: {type: const, ops: 1, duration: 1s}}]",
    ] {
        let config = read_with(file, &given)
            .unwrap_or_else(|error| panic!("{file}: {}", error.render(RenderStyle::Plain)));
        assert_eq!(config.url, "http://127.0.0.1:8080/");
        let TrafficSource::File(file) = config.traffic.source else { panic!("a file") };
        assert_eq!(file.path, PathBuf::from("ammo.txt"));
        assert_eq!(file.headers, [("Host".to_owned(), "127.0.0.1:8080".to_owned())]);
    }
}

#[test]
fn an_address_may_have_brackets() {
    for (address, url) in [
        ("[shop.test]:443", "http://shop.test:443"),
        ("[shop.test]", "http://shop.test"),
        ("[::1]:80", "http://[::1]:80"),
        ("[::1]", "http://[::1]"),
    ] {
        let file = format!("[phantom]\naddress={address}\nuris=/\nrps_schedule=const(1,1)\n");
        assert_eq!(read(&file).unwrap().url, url);
    }
}

#[test]
fn a_placeholder_is_named() {
    use super::error::Mistake;
    for (file, found) in [
        ("phantom: {address: '${HOST}:80', uris: [/], rps_schedule: 'const(1,1)'}", "${HOST}"),
        ("phantom:\n  address: {{ host }}\n  uris: [/]\n", "{{ host }}"),
        ("[phantom]\naddress=$HOST\nuris=/\nrps_schedule=const(1,1)\n", "$HOST"),
        ("[phantom]\naddress=a\nport=%(port)s\nuris=/\nrps_schedule=const(1,1)\n", "%(port)s"),
        ("[phantom]\naddress=a\nuris=/\nrps_schedule=${rpsSchedule}\n", "${rpsSchedule}"),
        ("[phantom]\naddress=a\nammofile=<ammo>\nrps_schedule=const(1,1)\n", "<ammo>"),
    ] {
        let error = read(file).expect_err(file);
        let PlanError::Wrong(wrong) = &error else { panic!("{error:?}") };
        assert!(
            matches!(&wrong.mistake, Mistake::Placeholder(text) if text == found),
            "{file}: {wrong:?}"
        );
        assert_eq!(wrong.place.text(), found, "{file}");
    }
}

#[test]
fn a_pool_of_pandora_is_read() {
    let pool = "pools:\n  - id: one\n    gun: {type: http, target: 'shop.test:8080', ssl: true, shared-client: {}}\n    \
                ammo: {type: uri, uris: [/a, /b], headers: ['[Host: shop.test] [X: 1]'], limit: 10}\n    \
                rps:\n      - {type: line, from: 1, to: 10, duration: 1m30s}\n      - {type: const, ops: 10, duration: 10}\n    \
                startup: [{type: once, times: 5}, {type: const, ops: 2, duration: 5s}]\n  \
                - id: two\n    gun: {type: grpc}\n";
    let alone = read(pool).unwrap();
    let indented: String = pool.lines().map(|line| format!("    {line}\n")).collect();
    let inside = read(&format!(
        "phantom: {{enabled: false}}\npandora:\n  enabled: true\n  expvar: true\n  config_content:\n{indented}\
         autostop: {{autostop: ['limit(1m)']}}\n"
    ))
    .unwrap();
    for config in [&alone, &inside] {
        assert_eq!(config.url, "https://shop.test:8080");
        let Model::Open { schedule, max_in_flight, when_full, .. } = &config.model else {
            panic!("{:?}", config.model)
        };
        assert_eq!(schedule.to_string(), "line(1,10,90s) const(10,10s)");
        assert_eq!((*max_in_flight, *when_full), (15, WhenFull::Queue));
        assert_eq!(config.habits.version, HttpVersion::Http11);
        assert_eq!(config.habits.connection, ConnectionHabit::KeepAlive);
        assert_eq!((config.traffic.limit, config.traffic.passes), (Some(10), Passes::Endless));
        let TrafficSource::List(list) = &config.traffic.source else { panic!("a list") };
        assert_eq!(list.len(), 2);
    }
    let keys = |config: &TankConfig| -> Vec<String> {
        config.unsupported.iter().map(|one| one.key.clone()).collect()
    };
    assert_eq!(keys(&alone), ["pools.gun.shared-client", "pools.startup", "pool two"]);
    assert_eq!(criteria(&inside), ["limit(1m)"]);
    assert_eq!(keys(&inside)[0], "pandora.expvar");
}

#[test]
fn requests_of_pandora_may_stand_in_its_configuration() {
    let pool = |source: &str| {
        read(&format!(
            "pools: [{{gun: {{type: http, target: 'a.test:80'}}, ammo: {{type: uri, {source}}}, \
             rps: {{type: const, ops: 1, duration: 1s}}}}]"
        ))
    };
    let inline = pool("source: {type: inline, data: \"[X-A: b]\\n/a one\\n/b\\n\"}").unwrap();
    let TrafficSource::List(requests) = &inline.traffic.source else { panic!("a list") };
    let texts: Vec<_> = requests.iter().map(|one| one.plain().unwrap()).collect();
    assert_eq!([&texts[0].path, &texts[1].path], ["/a", "/b"]);
    assert!(texts.iter().all(|one| one.headers == [("X-A".to_owned(), "b".to_owned())]));
    assert_eq!(&*inline.traffic.tags.name(requests[0].tag), "one");
    let of_file = pool("source: {type: file, path: ammo.uri}").unwrap();
    let TrafficSource::File(file) = &of_file.traffic.source else { panic!("a file") };
    assert!(file.path.ends_with("ammo.uri") && file.format == Some(Format::Uri), "{file:?}");
    for wrong in [
        "source: {type: inline}",
        "source: {data: /}",
        "source: {type: http}",
        "source: {type: inline, data: \"a b\\n\"}",
    ] {
        assert!(pool(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn rates_of_pandora_that_are_no_schedule_are_users() {
    let model = |rps: &str, ammo: &str| {
        read(&format!(
            "pools: [{{gun: {{type: http, target: 'a:1'}}, ammo: {{type: uri, uris: [/]{ammo}}}, \
             startup: {{type: once, times: 8}}, {rps}}}]"
        ))
        .unwrap()
        .model
    };
    let closed = |until| Model::Closed { concurrency: 8, until };
    assert_eq!(model("rps: {type: once, times: 99}", ""), closed(Until::Requests(99)));
    let minute = Until::For(Nanos::from_secs(60));
    assert_eq!(model("rps: [{type: unlimited, duration: 1m}]", ""), closed(minute));
    assert_eq!(model("id: a", ", passes: 1"), closed(Until::Requests(u64::MAX)));
}

#[cfg_attr(feature = "codes-for-text", ignore = "reads sentences")]
#[test]
fn mistakes_of_ini_and_pandora_are_shown() {
    let pool = |part: &str| format!("pools:\n- {part}\n");
    let texts = [
        "[phantom]\naddress\n".to_owned(),
        "[phantom]\naddress=a\nuris=/\nrps_schedule=const(1,1)\n  line(1,2)\n".to_owned(),
        "[phantom]\naddress=a\nuris=/\nadress=b\n".to_owned(),
        "[phantom]\naddress=a\nrps_schedule=const(1,1)\n".to_owned(),
        "[phantom]\naddress=a\nstpd_file=x\nuris=/\n".to_owned(),
        "[phantom]\naddress=http://${HOST}/\nuris=/\nrps_schedule=const(1,1)\n".to_owned(),
        "pools: []\n".to_owned(),
        pool("{ammo: {type: uri}}"),
        pool("{gun: {type: grpc}, ammo: {type: uri, uris: [/]}}"),
        pool("{gun: {type: http}, ammo: {type: uri, uris: [/]}}"),
        pool("{gun: {type: http, target: a}, ammo: {type: dummy, file: x}}"),
        pool("{gun: {type: http, target: a}, ammo: {type: uri, uris: [/]}}"),
        pool("{gun: {type: http, target: a}, ammo: {type: uri, uris: [/]}, rps: {type: sin}}"),
        pool(
            "{gun: {type: http, target: a}, ammo: {type: uri, uris: [/]}, rps: {type: line, from: 1, duration: 1s}}",
        ),
        "phantom: {enabled: false}\npandora: {enabled: true, config_file: none.yaml}\n".to_owned(),
        "phantom: {enabled: false}\npandora: {enabled: true}\n".to_owned(),
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
    fn any_ini_is_a_load_or_an_error(
        parts in proptest::collection::vec(
            prop_oneof![
                Just("[phantom]"), Just("[autostop]"), Just("\n"), Just("\n  "), Just("address"),
                Just("="), Just(":"), Just(" ; "), Just("#"), Just("a:80"), Just("uris"), Just("/"),
                Just("rps_schedule"), Just("const(1,1)"), Just("headers"), Just("[A: b]"),
                Just("\u{feff}"), Just("\u{e9}"), Just("${"), Just("}"), Just("["), Just("]"),
            ],
            0..30,
        ),
    ) {
        for begin in ["", "[phantom]\naddress=a\nuris=/\nrps_schedule=const(1,1)\n"] {
            match read(&(begin.to_owned() + &parts.concat())) {
                Ok(config) => prop_assert!(config.url.starts_with("http")),
                Err(error) => prop_assert!(!error.render(RenderStyle::Plain).is_empty()),
            }
        }
    }

    #[test]
    fn any_pool_is_a_load_or_an_error(
        key in prop_oneof![Just("gun"), Just("ammo"), Just("rps"), Just("startup"), Just("id")],
        value in "[-:{}, \\[\\]a-z0-9'\"/]{0,30}",
    ) {
        let parts = [
            ("gun", "{type: http, target: a}"), ("ammo", "{type: uri, uris: [/]}"),
            ("rps", "{type: const, ops: 1, duration: 1s}"),
        ];
        let parts = parts.into_iter().filter(|(known, _)| *known != key).chain([(key, &*value)]);
        let lines: Vec<String> = parts.map(|(key, value)| format!("    {key}: {value}\n")).collect();
        if let Ok(config) = read(&format!("pools:\n  -\n{}", lines.concat())) {
            prop_assert!(config.url.starts_with("http"));
        }
    }
}
