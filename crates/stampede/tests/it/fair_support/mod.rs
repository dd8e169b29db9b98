//! Starts a runtime with `stampede up`, sends it requests and inspects it from outside.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use serde_json::Value;
use stampede_model::app_kind::AppKind;
use stampede_plan::model::AppChoice;
use stampede_stack::{Catalogue, SearchPaths};

use super::common::{Sandbox, finish, stdout};

/// Shows php.ini, environment and pid, and has a page that would be worth compressing.
const APP: &str = "<?php
switch ($_SERVER['QUERY_STRING']) {
    case 'ini':
        $ini = ini_get_all(null, false);
        $shown = ['ini' => $ini, 'env' => getenv(), 'scanned' => php_ini_scanned_files(),
            'loaded' => php_ini_loaded_file(), 'extensions' => get_loaded_extensions(),
            'mounts' => file_get_contents('/proc/self/mountinfo')];
        header('Content-Type: application/json');
        echo json_encode($shown);
        break;
    case 'session':
        session_start();
        $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1;
        echo $_SESSION['n'];
        break;
    case 'pid':
        usleep(2000); // so that two requests at once meet two workers
        echo getmypid();
        break;
    case 'short':
        echo getmypid();
        break;
    default:
        header('Content-Type: text/plain');
        echo str_repeat('the same words again and again. ', 200);
}
";

/// Writes the app, below `app/` of the place.
pub fn write_app(sandbox: &Sandbox) {
    // An app without a description of its own gets what servers usually have.
    sandbox.write("app/app.yaml", "title: it shows itself\nkind: script\ndocroot: public\n");
    sandbox.write("app/public/index.php", APP);
    sandbox.write("app/public/.htaccess", "Require all denied\n");
}

/// The names of all runtimes whose programs are installed.
pub fn installed() -> Vec<String> {
    let sandbox = Sandbox::new();
    let output = finish(sandbox.stampede(&["runtimes", "--json"]), Duration::from_secs(60));
    let listed: Value = serde_json::from_str(&stdout(&output)).expect("JSON");
    let catalogue = Catalogue::load(SearchPaths::default());
    let mut found = Vec::new();
    for one in listed.as_array().expect("a list") {
        let name = one["name"].as_str().expect("a name").to_owned();
        let runtime = catalogue.runtime(&name).expect("a runtime");
        match one["state"]["found"].is_object() {
            true if runtime.manifest.app_kinds.contains(&AppKind::Script) => found.push(name),
            true => println!("SKIPPED: it has no place for a script that says what it is: {name}"),
            false => println!("SKIPPED: not installed here: {name}"),
        }
    }
    found
}

/// A process of a stack.
#[derive(Debug)]
pub struct Process {
    /// `web` or `php`.
    pub role: String,
    /// The command line.
    pub command: String,
    /// The pid as seen from outside the stack's namespace.
    pub pid: u64,
}

/// The processes of one role.
pub fn of_role<'a>(processes: &'a [Process], role: &str) -> Vec<&'a Process> {
    processes.iter().filter(|process| process.role == role).collect()
}

/// A runtime that runs.
pub struct StartedRuntime {
    child: Child,
    address: String,
    /// The port that it listens on.
    pub port: u16,
    /// The working directory.
    pub directory: PathBuf,
    /// The number of CPUs of the stack.
    pub cpus: usize,
    /// What ends all processes: `pid-namespace` where namespaces are allowed.
    pub process_group: String,
    /// The settings in force.
    pub settings: BTreeMap<String, Value>,
    /// The texts of rendered files, by name.
    pub files: BTreeMap<String, String>,
    /// The processes as they were started.
    pub processes: Vec<Process>,
}

/// One complete answer.
pub struct Answer {
    /// The version of HTTP, such as `HTTP/1.1`.
    pub version: String,
    /// The status code.
    pub status: u16,
    headers: Vec<(String, String)>,
    /// The body, with chunks joined.
    pub body: String,
}

impl Answer {
    /// Returns a header by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

impl StartedRuntime {
    /// Starts the runtime `name` with the app of `sandbox`; panics if it does not start.
    pub fn start(sandbox: &Sandbox, name: &str, workers: usize) -> StartedRuntime {
        let workers = workers.to_string();
        let args = ["up", name, "--app", "./app", "--workers", &workers, "--json"];
        let mut child = sandbox.stampede(&args).spawn().expect("the binary starts");
        let mut text = String::new();
        for line in BufReader::new(child.stdout.take().expect("stdout")).lines() {
            let line = line.expect("text");
            text.push_str(&line);
            if line == "}" {
                break;
            }
        }
        let description: Value = serde_json::from_str(&text).unwrap_or_else(|_| {
            let mut why = String::new();
            let _ = child.stderr.take().expect("stderr").read_to_string(&mut why);
            panic!("{name} does not start: {text}{why}")
        });
        let of = |key: &str| description["runtime"][key].clone();
        let address =
            description["url"].as_str().expect("a URL").trim_start_matches("http://").to_owned();
        let process = |one: &Value| Process {
            role: one["role"].as_str().expect("a role").to_owned(),
            command: one["command"].as_str().expect("a command").to_owned(),
            pid: one["pid"].as_u64().expect("a pid"),
        };
        let all = std::thread::available_parallelism().map_or(1, usize::from);
        StartedRuntime {
            child,
            port: address.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port"),
            address,
            directory: PathBuf::from(description["directory"].as_str().expect("a directory")),
            cpus: (all / 2).max(1),
            process_group: description["isolation"]["process_group"].to_string(),
            settings: serde_json::from_value(of("settings")).expect("settings"),
            files: serde_json::from_value(of("files")).expect("files"),
            processes: description["processes"]
                .as_array()
                .expect("a list")
                .iter()
                .map(process)
                .collect(),
        }
    }

    /// The runtime's log files.
    pub fn logs(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(self.directory.join("logs")).expect("logs");
        entries.flatten().map(|entry| entry.path()).collect()
    }

    /// Opens a new connection.
    pub fn connect(&self) -> Connection {
        let stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout");
        Connection { stream: BufReader::new(stream) }
    }

    /// Requests a page of PHP's sessions twice, the second time with the cookie from the first
    /// answer.
    pub fn session(&self) -> [String; 2] {
        let first = self.get("/?session", &[]);
        let cookie = first.header("set-cookie").expect("a cookie").split(';').next().expect("it");
        let second = self.get("/?session", &[("Cookie", cookie)]);
        [first.body, second.body]
    }

    /// Sends one request on a connection of its own.
    pub fn get(&self, path: &str, headers: &[(&str, &str)]) -> Answer {
        self.connect().ask(path, headers).expect("an answer")
    }

    /// The same, with the body parsed as JSON.
    pub fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.get(path, &[]).body).expect("JSON")
    }

    /// The pids of the workers that answer some rounds of `workers` concurrent requests. There are
    /// no more at a time, because mod_fcgid sleeps a second when all are busy.
    pub fn pids(&self, path: &str, workers: usize) -> BTreeSet<String> {
        let mut pids = BTreeSet::new();
        for _ in 0..20 {
            std::thread::scope(|scope| {
                let all: Vec<_> =
                    (0..workers).map(|_| scope.spawn(|| self.get(path, &[]).body)).collect();
                pids.extend(all.into_iter().map(|one| one.join().expect("an answer")));
            });
        }
        pids
    }

    /// Sends Ctrl-C and waits for the end.
    pub fn end(mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("the signal");
        assert_eq!(self.child.wait().expect("its end").code(), Some(0));
    }
}

/// So that a failed test leaves nothing running either.
impl Drop for StartedRuntime {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let pid = rustix::process::Pid::from_child(&self.child);
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::INT);
            let _ = self.child.wait();
        }
    }
}

/// A connection that stays open as long as the server keeps it.
pub struct Connection {
    stream: BufReader<TcpStream>,
}

impl Connection {
    /// Sends a request. `None`: the server closed the connection before it answered.
    pub fn get(&mut self, path: &str) -> Option<Answer> {
        self.ask(path, &[])
    }

    fn ask(&mut self, path: &str, headers: &[(&str, &str)]) -> Option<Answer> {
        let mut text = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n");
        headers.iter().for_each(|(name, value)| text.push_str(&format!("{name}: {value}\r\n")));
        text.push_str("\r\n");
        self.stream.get_mut().write_all(text.as_bytes()).ok()?;
        let first = self.line()?;
        let mut parts = first.splitn(3, ' ');
        let version = parts.next()?.to_owned();
        let status = parts.next()?.parse().ok()?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let mut answer = Answer { version, status, headers, body: String::new() };
        answer.body = self.body(&answer)?;
        Some(answer)
    }

    fn body(&mut self, answer: &Answer) -> Option<String> {
        let mut body = Vec::new();
        if answer.header("transfer-encoding") == Some("chunked") {
            loop {
                let size = usize::from_str_radix(self.line()?.trim(), 16).ok()?;
                let mut chunk = vec![0; size + 2];
                self.stream.read_exact(&mut chunk).ok()?;
                if size == 0 {
                    break;
                }
                body.extend_from_slice(&chunk[..size]);
            }
        } else if let Some(length) = answer.header("content-length") {
            body.resize(length.parse().ok()?, 0);
            self.stream.read_exact(&mut body).ok()?;
        } else {
            self.stream.read_to_end(&mut body).ok()?;
        }
        String::from_utf8(body).ok()
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.stream.read_line(&mut line).ok()?;
        (read > 0).then(|| line.trim_end().to_owned())
    }
}

/// The backlog of the socket that listens on `port`, as `ss` shows it (Send-Q); `None` without
/// `ss`.
pub fn backlog(port: u16) -> Option<u64> {
    let filter = format!("sport = :{port}");
    let output = Command::new("ss").args(["-ltnH", &filter]).output().ok()?;
    let text = stdout(&output);
    text.split_whitespace().nth(2)?.parse().ok()
}

/// The listening Unix sockets below `directory`, with their backlogs.
pub fn socket_backlogs(directory: &Path) -> Vec<(String, u64)> {
    let Ok(output) = Command::new("ss").args(["-lxnH"]).output() else { return Vec::new() };
    let text = stdout(&output);
    let words = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let below = |path: &&str| Path::new(path).starts_with(directory);
    let found = words.filter_map(|words| {
        let path = words.get(4).filter(|path| below(path))?;
        Some(((*path).to_owned(), words.get(3)?.parse().ok()?))
    });
    found.collect()
}

/// The extensions that are compiled into PHP.
pub fn builtin_extensions() -> BTreeSet<String> {
    let output = Command::new("php").args(["-n", "-m"]).output().expect("php");
    let names = stdout(&output);
    names.lines().filter(|line| !line.starts_with('[')).map(str::to_lowercase).collect()
}

/// The extensions that the app of `directory` gets although it does not name them.
pub fn usual_extensions(directory: &Path) -> Vec<String> {
    let catalogue = Catalogue::load(SearchPaths::default());
    let app = catalogue.app(&AppChoice::directory(directory.to_path_buf())).expect("an app");
    app.manifest.extensions_if_there
}

/// The kernel's upper limit for every backlog.
pub fn somaxconn() -> u64 {
    let text = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap_or_default();
    text.trim().parse().unwrap_or(4096)
}
