//! Tests `stampede history` and `stampede serve`: the runs of a directory, with the running one
//! live.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use stampede_model::counts::{Counts, Second};
use stampede_model::event::{Event, EventListener};
use stampede_model::time::Nanos;
use stampede_results::store::{RunDirectory, write_summary};
use stampede_results::summary::{RunData, summarize};

use crate::report_fixture as fixture;
use crate::report_fixture::{MS, Requests, add, case, spread};
use crate::words::code_or;

fn run(id: &str, started_at: &str) -> RunData {
    let mut run = fixture::run(
        vec![
            case("nginx-fpm", "day", "open", "const(5,10s)"),
            case("php-builtin", "day", "open", "const(5,10s)"),
        ],
        1,
    );
    run.record.id = id.to_owned();
    run.record.started_at = started_at.to_owned();
    for index in 0..2 {
        let answered_ns = spread(2_000, MS + 500_000 * index as u64);
        add(&mut run, index, Requests { answered_ns, ..Requests::default() });
    }
    run
}

fn begin(results: &Path, run: &RunData) -> RunDirectory {
    RunDirectory::create(Some(&results.join(&run.record.id)), &run.record)
        .expect("a run's directory")
}

fn end_trial(directory: &RunDirectory, run: &RunData, index: usize) {
    let trial = &run.trials[index];
    let ended = directory.trial(&trial.record, "x").expect("a directory");
    ended.finish(&trial.record, trial.times.as_ref()).expect("written");
}

fn whole(results: &Path, run: &RunData) -> PathBuf {
    let directory = begin(results, run);
    (0..run.trials.len()).for_each(|index| end_trial(&directory, run, index));
    let path = directory.close();
    write_summary(&path, &stampede_results::report::json(&summarize(run))).expect("written");
    path
}

/// Results with a complete run, one cut off, one in progress, one damaged, and a directory that is
/// no run.
fn results() -> (tempfile::TempDir, RunDirectory, RunData) {
    let results = tempfile::tempdir().expect("a directory");
    whole(results.path(), &run("whole", "2026-11-19T10:00:00+00:00"));
    let cut_off = run("cut-off", "2026-11-20T10:00:00+00:00");
    let directory = begin(results.path(), &cut_off);
    end_trial(&directory, &cut_off, 0);
    drop(directory);
    let damaged = results.path().join("damaged");
    std::fs::create_dir(&damaged).expect("a directory");
    std::fs::write(damaged.join("run.json"), "{").expect("written");
    std::fs::create_dir(results.path().join("no-run")).expect("a directory");
    let under_way = run("under way & <b>", "2026-11-21T10:00:00+00:00");
    let directory = begin(results.path(), &under_way);
    end_trial(&directory, &under_way, 0);
    (results, directory, under_way)
}

fn stampede(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stampede"));
    command.args(arguments).output().expect("the binary starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn history_lists_every_run_the_newest_first() {
    let (results, _held, _) = results();
    let directory = results.path().display().to_string();
    let listed = stampede(&["history", "--in", &directory]);
    assert!(listed.status.success(), "{}", text(&listed.stderr));
    assert_words!(text(&listed.stdout).replace(&directory, "RESULTS"));
    let json = stampede(&["history", "--in", &directory, "--json", "-n", "3"]);
    let json: Value = serde_json::from_slice(&json.stdout).expect("JSON");
    let states: Vec<(&str, &str)> = json
        .as_array()
        .expect("a list")
        .iter()
        .map(|run| (run["name"].as_str().unwrap_or("?"), run["state"].as_str().unwrap_or("?")))
        .collect();
    let expected = [("under way & <b>", "under_way"), ("cut-off", "cut_off"), ("whole", "ended")];
    assert_eq!(states, expected);
}

#[test]
fn history_of_nothing_says_what_to_do() {
    let empty = tempfile::tempdir().expect("a directory");
    let directory = empty.path().display().to_string();
    let listed = stampede(&["history", "--in", &directory]);
    assert!(listed.status.success() && listed.stdout.is_empty());
    assert_eq!(
        text(&listed.stderr),
        format!("`{directory}` holds no run; `stampede compare` makes one\n")
    );
    let listed = stampede(&["history", "--in", &format!("{directory}/no")]);
    assert_eq!(listed.status.code(), Some(2));
    assert_words!(text(&listed.stderr).replace(&directory, "DIRECTORY"));
}

/// A server that ends with the test, by the signal that Ctrl-C sends.
pub struct ServeProcess {
    child: Child,
    /// The address with scheme and token.
    address: String,
    /// What each request has beside its host: lines of its head.
    headers: String,
}

impl ServeProcess {
    /// Serves a directory of results.
    pub fn of(results: &Path) -> ServeProcess {
        let mut child = Command::new(env!("CARGO_BIN_EXE_stampede"))
            .args(["serve", "--no-open", "--in", &results.display().to_string()])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        let mut address = String::new();
        let stdout = child.stdout.as_mut().expect("a pipe");
        BufReader::new(stdout).read_line(&mut address).expect("an address");
        ServeProcess { child, address: address.trim_end().to_owned(), headers: String::new() }
    }

    /// Serves a directory of results, and visits it as a browser does: the address with the token leads
    /// to the one without it, and the cookie is kept.
    pub fn visited(results: &Path) -> ServeProcess {
        let mut served = ServeProcess::of(results);
        served.headers = "Accept: text/html,*/*;q=0.8\r\n".to_owned();
        let (status, answer) = served.get(&format!("/?token={}", served.token()));
        assert_eq!(status, 303, "{answer}");
        let header = |name: &str| {
            let line = answer.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_else(|| panic!("{name} {answer}")).to_owned()
        };
        assert_eq!(header("location: "), "/");
        let cookie = header("set-cookie: ");
        let (cookie, rules) = cookie.split_once("; ").expect("rules");
        assert_eq!(rules, "Path=/; HttpOnly; SameSite=Lax");
        served.headers = format!("Cookie: other=1; {cookie}\r\n");
        served
    }

    /// Host and port.
    pub fn place(&self) -> &str {
        let (place, _) = self.address["http://".len()..].split_once('/').expect("a path");
        place
    }

    /// The token that each request needs.
    pub fn token(&self) -> &str {
        self.address.split_once("token=").expect("a token").1
    }

    /// Sends a request, whose answer is then read.
    pub fn connect(&self, method: &str, path: &str, host: &str) -> BufReader<TcpStream> {
        let mut stream = TcpStream::connect(self.place()).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        let head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n{}", self.headers);
        write!(stream, "{head}Connection: close\r\n\r\n").expect("sent");
        BufReader::new(stream)
    }

    /// Returns the status and everything after it.
    fn ask(&self, method: &str, path: &str, host: &str) -> (u16, String) {
        let mut answer = String::new();
        self.connect(method, path, host).read_to_string(&mut answer).expect("an answer");
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        (status.expect("a status"), answer)
    }

    /// Returns the status of a page, and its whole answer.
    pub fn get(&self, path: &str) -> (u16, String) {
        self.ask("GET", path, self.place())
    }

    /// Ends it as Ctrl-C does.
    pub fn end(mut self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &id]).status().expect("kill").success());
        assert!(self.child.wait().expect("it ends").success(), "Ctrl-C is an ordinary end");
    }
}

/// The data in a page.
pub fn data_of(page: &str) -> Value {
    let (_, data) = page.split_once("id=\"data\">").expect("its data");
    serde_json::from_str(data.split_once("</script>").expect("its end").0).expect("JSON")
}

#[test]
fn the_list_and_its_runs_are_served_to_who_has_the_token() {
    let (results, _held, _) = results();
    let served = ServeProcess::visited(results.path());
    let (status, list) = served.get("/");
    assert_eq!(status, 200, "{list}");
    assert!(!list.contains(served.token()), "it stays in no link and no page");
    for header in
        ["cache-control: no-store", "x-frame-options: DENY", "referrer-policy: no-referrer"]
    {
        assert!(list.contains(header), "{header}");
    }
    assert!(list.contains("default-src 'none'; connect-src 'self';"));
    let data = data_of(&list);
    let entries = data["history"].as_array().expect("a list");
    assert_eq!(entries.len(), 4);
    for entry in &entries[..3] {
        let (status, page) = served.get(entry["page"].as_str().expect("an address"));
        assert_eq!(status, 200, "{page}");
        let run = data_of(&page);
        assert_eq!(run["runs"][0]["state"], entry["state"]);
        assert_eq!(run["served"]["events"].is_string(), entry["state"] == "under_way");
    }
    let (status, page_text) = served.get(entries[3]["page"].as_str().expect("an address"));
    assert_eq!(status, 500);
    assert!(page_text.contains(code_or("damaged", "run.json` is damaged")), "{page_text}");
    let over = data["served"]["over"].as_str().expect("an address");
    let (status, page) = served.get(&format!("{over}run=whole&run=cut-off"));
    assert_eq!((status, data_of(&page)["runs"].as_array().map(Vec::len)), (200, Some(2)));
    assert_eq!(served.get(over).0, 404, "over nothing");
    served.end();
}

#[test]
fn nobody_else_is_answered_and_nothing_else_is_done() {
    let (results, _held, _) = results();
    std::fs::create_dir(results.path().join("inside")).expect("a directory");
    let mut served = ServeProcess::of(&results.path().join("inside"));
    let token = served.token().to_owned();
    let wrong = "0".repeat(token.len());
    let port = served.place().rsplit_once(':').expect("a port").1;
    served.headers = format!("Cookie: stampede_{port}={wrong}\r\n");
    for path in ["/", "/?token=", &format!("/?token={wrong}"), "/run?name=whole", "/events", "/no"]
    {
        let (status, page_text) = served.get(path);
        assert_eq!(status, 403, "{path}");
        assert!(!page_text.contains("<script"), "{page_text}");
    }
    let home = format!("/?token={token}");
    assert_eq!(served.ask("GET", &home, "evil.example").0, 403);
    for host in ["localhost", "127.0.0.1:9", "[::1]:80"] {
        assert_eq!(served.ask("GET", &home, host).0, 200, "{host}");
    }
    for method in ["POST", "PUT", "DELETE"] {
        assert_eq!(served.ask(method, &home, served.place()).0, 405, "{method}");
    }
    // A script needs no cookie, and a cookie with another token is none.
    let (status, list) = served.get(&home);
    assert!(status == 200 && list.contains(&format!("={token}; Path=/; HttpOnly")), "{list}");
    // A name is not a path: runs beside the directory do not belong to it, and a link leads nowhere.
    std::os::unix::fs::symlink("../whole", results.path().join("inside/link")).expect("a link");
    for name in ["..%2Fwhole", "..", "", "%2Fetc", "whole", "link"] {
        let (status, page_text) = served.get(&format!("/run?name={name}&token={token}"));
        assert_eq!(status, 404, "{name}: {page_text}");
    }
    served.end();
}

/// Reads the next event and its data; skips comments that keep the connection open.
fn event(stream: &mut impl std::io::BufRead) -> (String, Value) {
    let (mut name, mut line) = (String::new(), String::new());
    loop {
        line.clear();
        assert!(stream.read_line(&mut line).expect("in time") > 0, "the stream ended");
        if let Some(event) = line.strip_prefix("event: ") {
            event.trim_end().clone_into(&mut name);
        } else if let Some(data) = line.strip_prefix("data: ") {
            return (name, serde_json::from_str(data).expect("JSON"));
        }
    }
}

#[test]
fn a_run_in_progress_updates_its_page() {
    let (results, directory, run) = results();
    let served = ServeProcess::visited(results.path());
    let (_, list) = served.get("/");
    let list = data_of(&list);
    let mut of_list =
        served.connect("GET", list["served"]["events"].as_str().expect("it"), served.place());
    let (_, page) = served.get(list["history"][0]["page"].as_str().expect("an address"));
    let page = data_of(&page);
    assert_eq!(page["progress"], serde_json::json!({"ended": 1, "planned": 2, "under_way": null}));
    let events = page["served"]["events"].as_str().expect("an address");
    let mut of_run = served.connect("GET", events, served.place());

    let mut second = directory.trial(&run.trials[1].record, "x").expect("a directory");
    let counts = Counts { planned: 5, started: 5, ok: 5, ..Counts::default() };
    let times = stampede_model::counts::TimeSet::empty();
    let row = Second { index: 0, counts, times, in_flight_max: 3, busy: Nanos(9) };
    second.event(&Event::Second(&row));
    let now = loop {
        let (name, now) = event(&mut of_run);
        assert_eq!(name, "now");
        if now["progress"]["under_way"]["seconds"] == 1 {
            break now;
        }
    };
    assert_eq!((&now["series"]["ok"][0], &now["series"]["unfinished"]), (&5.into(), &true.into()));
    second.finish(&run.trials[1].record, run.trials[1].times.as_ref()).expect("written");
    directory.close();
    let mut last = event(&mut of_run);
    while last.0 == "now" {
        last = event(&mut of_run);
    }
    assert_eq!(last.0, "page");
    assert_eq!(last.1["runs"][0]["state"], "ended");
    assert_eq!(last.1["served"]["events"], Value::Null);
    assert_eq!(event(&mut of_run).0, "over");

    let (name, list) = event(&mut of_list);
    assert_eq!((name.as_str(), &list["history"][0]["state"]), ("history", &"ended".into()));
    served.end();
}
