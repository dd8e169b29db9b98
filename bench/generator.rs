//! The generator against the null server, each on a CPU of its own: how late shots start,
//! how busy the load thread is, how much memory a load takes. See README.md beside this.

use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Command, ExitCode, Stdio};

use stampede_known_server::{Listen, NullServer};
use stampede_load::ammo::Request;
use stampede_load::client::Client;
use stampede_load::report::Second;
use stampede_load::schedule::Segments;
use stampede_load::spec::{Address, Arrivals, Model, Until, WhenFull};
use stampede_load::time::Nanos;
use stampede_load::{Fired, Listener, Load, Stop, fire};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["serve"] => serve(),
        ["rate"] => rate("stampede", 5_000),
        ["rate", client, per_second] => rate(client, per_second.parse().expect("a whole number")),
        ["memory"] => memory(),
        _ => {
            eprintln!("usage: generator rate [CLIENT PER_SECOND] | memory");
            return ExitCode::from(2);
        }
    }
    ExitCode::SUCCESS
}

/// The null server in a process of its own, so that its memory and CPU are not the
/// generator's. Ends with its standard input.
fn serve() {
    let server = NullServer::start_on(&Listen::Tcp, Some(SERVER_CPU)).expect("a null server");
    println!("{}", server.address());
    let _ = std::io::stdin().read(&mut [0]);
}

struct Server(Child, SocketAddr);

impl Server {
    fn start() -> Server {
        let program = std::env::current_exe().expect("the path of this program");
        let mut child = Command::new(program)
            .arg("serve")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a process for the null server");
        let mut line = String::new();
        let output = child.stdout.take().expect("it is piped");
        BufReader::new(output).read_line(&mut line).expect("the null server's address");
        let address = line.trim().parse().expect("an address");
        Server(child, address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

struct Quiet;

impl Listener for Quiet {
    fn second(&mut self, _: &Second) {}
}

fn fired(server: &Server, client: Client, model: Model) -> Fired {
    let get = Request::build("GET", "/", &[], b"", client.habits, None).expect("a request");
    let load = Load {
        habits: client.habits,
        cpus: vec![LOAD_CPU],
        ..Load::new(Address::Tcp(server.1), model, [get])
    };
    fire(&load, &Stop::default(), &mut Quiet).expect("a load")
}

fn rate(client: &str, per_second: u32) {
    let client = Client::named(client).expect("stampede, tank, ab or k6");
    let server = Server::start();
    let schedule = Segments::parse(&format!("const({per_second},10s)")).expect("a schedule");
    let (max_in_flight, when_full) = (client.max_in_flight, WhenFull::Queue);
    let model = Model::Open { schedule, arrivals: Arrivals::Uniform, max_in_flight, when_full };
    let fired = fired(&server, client, model);
    println!("{} shots/s for 10 s, client {}", per_second, client.name);
    show(&fired);
}

fn memory() {
    let server = Server::start();
    let client = Client::named("stampede").expect("our own");
    let until = Until::For(Nanos::from_secs(5));
    let fired = fired(&server, client, Model::Closed { users: 1_000, until });
    println!("1000 users for 5 s, client {}", client.name);
    show(&fired);
    println!("  answers per second   {:>10.0}", fired.ok_inside as f64 / 5.0);
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("VmHWM");
    println!("  resident at most     {:>13}", peak.trim());
}

fn show(fired: &Fired) {
    let counts = &fired.counts;
    println!("  planned, ok          {:>10}{:>10}", counts.planned, counts.ok);
    println!("  failed, dropped      {:>10}{:>10}", counts.failed_total(), counts.dropped);
    for (name, times) in
        [("lateness", &fired.times.lateness), ("service time", &fired.times.service_time)]
    {
        let at = |share: f64| {
            times.at_rank((share * times.len() as f64).ceil().max(1.0) as u64) as f64 / 1e6
        };
        println!(
            "  {name:<12} p50 {:.3} p99 {:.3} p99.9 {:.3} max {:.3} ms",
            at(0.5),
            at(0.99),
            at(0.999),
            times.max() as f64 / 1e6
        );
    }
    println!("  connections opened   {:>10}", fired.connections.opened);
    println!("  load thread busy     {:>9.1}%", fired.busy_share_max * 100.0);
}

/// The null server's CPU.
const SERVER_CPU: usize = 0;
/// The load thread's.
const LOAD_CPU: usize = 1;
