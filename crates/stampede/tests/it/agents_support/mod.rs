//! Several hosts on one machine: network namespaces with an `sshd` each, and a relay that delays.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use serde_json::Value;
use stampede_known_server::{Answer, Behaviour, KnownServer, Listen};
use tempfile::TempDir;

/// A network of a hub, where server and coordinator run, and hosts with an `sshd` each.
pub struct Hosts {
    directory: TempDir,
    names: Vec<String>,
    sshds: Vec<Child>,
}

/// How a link is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shaped {
    /// Not at all: `tc` is missing, or may not.
    No,
    /// In its bandwidth.
    Bandwidth,
    /// In its bandwidth, and everything comes later.
    BandwidthAndDelay,
}

/// More than a packet, less than an answer.
const BUCKET: usize = 5_000;

/// Address of the hub.
pub const HUB: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);

/// Address of host `number`, from 1.
pub fn address(number: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, 0, 10 + number as u8)
}

/// Whether what these tests need is missing here. Says what.
pub fn cannot_make_hosts() -> bool {
    let programs = ["/usr/sbin/sshd", "/usr/bin/ssh", "/usr/bin/ssh-keygen", "/usr/sbin/ip"];
    if let Some(missing) = programs.iter().find(|path| !Path::new(path).exists()) {
        eprintln!("skipped: there is no {missing}");
        return true;
    }
    if !rustix::process::geteuid().is_root() || !run("ip", &["netns", "list"]) {
        eprintln!("skipped: network namespaces need root");
        return true;
    }
    false
}

fn run(program: &str, args: &[&str]) -> bool {
    let mut command = Command::new(program);
    let status = command.args(args).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

fn ip(args: &str) {
    let args: Vec<&str> = args.split_whitespace().collect();
    assert!(run("ip", &args), "ip {args:?}");
}

impl Hosts {
    /// Makes a hub and so many hosts. Their names are `load1`, `load2` …
    pub fn new(count: usize) -> Hosts {
        let directory = tempfile::tempdir().expect("a directory");
        static NETWORKS: AtomicU32 = AtomicU32::new(0);
        let network = NETWORKS.fetch_add(1, Ordering::Relaxed);
        let id = format!("sd{}x{network}", std::process::id() % 100_000);
        let hub = format!("{id}h");
        let mut hosts = Hosts { directory, names: vec![hub.clone()], sshds: Vec::new() };
        ip(&format!("netns add {hub}"));
        ip(&format!("-n {hub} link set lo up"));
        ip(&format!("-n {hub} link add name br0 type bridge"));
        ip(&format!("-n {hub} addr add {HUB}/24 dev br0"));
        ip(&format!("-n {hub} link set br0 up"));
        let keys = hosts.directory.path().to_owned();
        for key in ["host", "client"] {
            let path = keys.join(key);
            let path = path.to_str().expect("UTF-8");
            assert!(run("ssh-keygen", &["-q", "-t", "ed25519", "-N", "", "-f", path]));
        }
        for number in 1..=count {
            hosts.add(&id, number);
        }
        hosts.write_config(&[]);
        hosts
    }

    fn add(&mut self, id: &str, number: usize) {
        let (hub, name) = (self.names[0].clone(), format!("{id}n{number}"));
        ip(&format!("netns add {name}"));
        self.names.push(name.clone());
        ip(&format!("-n {hub} link add v{number} type veth peer name eth0 netns {name}"));
        ip(&format!("-n {hub} link set v{number} master br0 up"));
        ip(&format!("-n {name} link set lo up"));
        ip(&format!("-n {name} addr add {}/24 dev eth0", address(number)));
        ip(&format!("-n {name} link set eth0 up"));
        let directory = self.directory.path();
        let config = directory.join(format!("sshd{number}"));
        let text = format!(
            "ListenAddress {}\nHostKey {}\nAuthorizedKeysFile {}\nPidFile none\nUsePAM no\n\
             StrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\n\
             ClientAliveInterval 5\nClientAliveCountMax 2\nSetEnv XDG_CACHE_HOME={}\n",
            address(number),
            directory.join("host").display(),
            directory.join("client.pub").display(),
            self.cache(number).display(),
        );
        std::fs::write(&config, text).expect("a file");
        std::fs::create_dir_all("/run/sshd").expect("sshd's directory");
        let args = ["netns", "exec", &name, "/usr/sbin/sshd", "-D", "-e", "-f"];
        let mut sshd = Command::new("ip");
        sshd.args(args).arg(&config).stdin(Stdio::null());
        let log = std::fs::File::create(directory.join(format!("log{number}"))).expect("a file");
        self.sshds.push(sshd.stderr(log).spawn().expect("sshd"));
    }

    /// Where host `number` keeps copied programs.
    pub fn cache(&self, number: usize) -> PathBuf {
        self.directory.path().join(format!("cache{number}"))
    }

    /// Writes ssh's configuration. A host with a port is reached through a relay on this port of the
    /// hub's loopback.
    pub fn write_config(&self, relays: &[(usize, u16)]) {
        let directory = self.directory.path();
        let mut text = format!(
            "IdentityFile {}\nUserKnownHostsFile /dev/null\nStrictHostKeyChecking no\nLogLevel ERROR\nUser root\n",
            directory.join("client").display()
        );
        for number in 1..self.names.len() {
            let relay = relays.iter().find(|(host, _)| *host == number);
            let (host, port) = match relay {
                Some((_, port)) => (Ipv4Addr::LOCALHOST, *port),
                None => (address(number), 22),
            };
            text += &format!("Host load{number}\n  HostName {host}\n  Port {port}\n");
        }
        std::fs::write(directory.join("config"), text).expect("a file");
        let ssh =
            format!("#!/bin/sh\nexec /usr/bin/ssh -F {}/config \"$@\"\n", directory.display());
        write_program(&directory.join("bin/ssh"), &ssh);
    }

    /// The value of `PATH` with which `ssh` knows the hosts.
    pub fn path(&self) -> String {
        path_with(&self.directory.path().join("bin"))
    }

    /// Runs `work` in the network of the hub, or of another host. Waits for the servers there first.
    pub fn inside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let namespace = PathBuf::from("/run/netns").join(&self.names[0]);
        let enter = || {
            let file = std::fs::File::open(namespace).expect("the namespace");
            move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
                .expect("the namespace");
            for number in 1..self.names.len() {
                wait_for(SocketAddr::from((address(number), 22)));
            }
            work()
        };
        // The thread leaves our network and ends there.
        std::thread::scope(|scope| scope.spawn(enter).join())
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Limits what comes to host `number` to 8 Mbit/s, and delays it by 3 to 7 ms where the kernel has
    /// `netem`.
    pub fn shape(&self, number: usize) -> Shaped {
        let tc = |qdisc: &str| {
            let line = format!("-n {} qdisc add dev v{number} {qdisc}", self.names[0]);
            run("/usr/sbin/tc", &line.split_whitespace().collect::<Vec<&str>>())
        };
        let bucket = format!("tbf rate 8mbit burst {BUCKET} limit 300000");
        let is_delayed = tc("root handle 1: netem delay 5ms 2ms");
        let place = if is_delayed { "parent 1: handle 2:" } else { "root handle 1:" };
        match (tc(&format!("{place} {bucket}")), is_delayed) {
            (true, true) => Shaped::BandwidthAndDelay,
            (true, false) => {
                println!("SKIPPED: netem, which this kernel has not; the bandwidth is limited");
                Shaped::Bandwidth
            }
            (false, _) => Shaped::No,
        }
    }

    /// Bytes that pass a limited link at once.
    pub fn bucket(&self) -> usize {
        BUCKET
    }

    /// Cuts host `number` off, without closing a connection.
    pub fn cut(&self, number: usize) {
        ip(&format!("-n {} link set v{number} down", self.names[0]));
    }

    /// Ends [`Hosts::cut`].
    pub fn join(&self, number: usize) {
        ip(&format!("-n {} link set v{number} up", self.names[0]));
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for sshd in &mut self.sshds {
            let _ = sshd.kill();
            let _ = sshd.wait();
        }
        for name in &self.names {
            run("ip", &["netns", "del", name]);
        }
    }
}

/// An address of this machine that is not loopback.
pub fn local_address() -> Option<Ipv4Addr> {
    let output = Command::new("hostname").arg("-I").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split_whitespace().find_map(|address| address.parse().ok())
}

/// A server that is no agent's loopback. `None`: this machine has no other address, as was printed.
pub fn server_for_agents() -> Option<KnownServer> {
    let Some(own) = local_address() else {
        eprintln!("skipped: this machine has no address but loopback");
        return None;
    };
    let behaviour = Behaviour::answering(Answer::ok());
    Some(KnownServer::start_on(&Listen::TcpOn(own), behaviour).expect("a server"))
}

/// A port that is free now.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    listener.local_addr().expect("its address").port()
}

/// A field of all agents of a summary, added up.
pub fn sum(summary: &Value, field: &str) -> u64 {
    let agents = summary["agents"].as_array().expect("agents");
    agents.iter().map(|agent| agent[field].as_u64().expect("a number")).sum()
}

/// Waits for something that other processes do.
pub fn eventually(what: &str, is_so: impl Fn() -> bool) {
    within(Duration::from_secs(15), what, is_so);
}

/// As [`eventually`], for so long.
pub fn within(limit: Duration, what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < limit, "{what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until a server listens.
pub fn wait_for(address: SocketAddr) {
    let begun = Instant::now();
    while TcpStream::connect_timeout(&address, Duration::from_millis(200)).is_err() {
        assert!(begun.elapsed() < Duration::from_secs(10), "{address} does not answer");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// `PATH` with this directory first.
pub fn path_with(directory: &Path) -> String {
    format!("{}:{}", directory.display(), std::env::var("PATH").unwrap_or_default())
}

/// Writes a program of `sh`.
pub fn write_program(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    stampede_testing::program::write_program(path, text);
}

/// A relay on loopback that holds each piece of data for `base` and up to `jitter` more, in order.
/// The same seed gives the same delays. It ends with its process. Returns its port.
pub fn relay(to: SocketAddr, base: Duration, jitter: Duration, seed: u64) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = listener.local_addr().expect("its address").port();
    std::thread::spawn(move || {
        let mut seed = seed;
        for client in listener.incoming().map_while(Result::ok) {
            let Ok(server) = TcpStream::connect(to) else { continue };
            for (from, into) in [(&client, &server), (&server, &client)] {
                seed += 1;
                let clones = (from.try_clone().expect("a socket"), into.try_clone().expect("one"));
                delay(clones, base, jitter, fastrand::Rng::with_seed(seed));
            }
        }
    });
    port
}

fn delay(
    (mut from, mut into): (TcpStream, TcpStream),
    base: Duration,
    jitter: Duration,
    mut random: fastrand::Rng,
) {
    let (sender, pieces) = mpsc::channel::<(Instant, Vec<u8>)>();
    let _ = into.set_nodelay(true);
    std::thread::spawn(move || {
        let mut buffer = vec![0; 64 << 10];
        while let Ok(read @ 1..) = from.read(&mut buffer) {
            let more = Duration::from_nanos(random.u64(0..=jitter.as_nanos() as u64));
            let _ = sender.send((Instant::now() + base + more, buffer[..read].to_vec()));
        }
    });
    std::thread::spawn(move || {
        for (due, piece) in pieces {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if into.write_all(&piece).is_err() {
                break;
            }
        }
        let _ = into.shutdown(Shutdown::Write);
    });
}

/// A relay on loopback that can stall and break. It ends with its process.
pub struct Way {
    pub port: u16,
    state: Arc<Mutex<WayState>>,
}

#[derive(Default)]
struct WayState {
    stalled: bool,
    cut: bool,
    sockets: Vec<TcpStream>,
}

impl Way {
    /// A way to this port of loopback.
    pub fn to(port: u16) -> Way {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let way =
            Way { port: listener.local_addr().expect("its address").port(), state: Arc::default() };
        let state = Arc::clone(&way.state);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, port)) else { continue };
                let mut known = state.lock().expect("a lock");
                if known.cut {
                    continue;
                }
                for (from, into) in [(&client, &server), (&server, &client)] {
                    let clone = |socket: &TcpStream| socket.try_clone().expect("a socket");
                    known.sockets.push(clone(from));
                    let (from, into, state) = (clone(from), clone(into), Arc::clone(&state));
                    std::thread::spawn(move || pass(from, into, &state));
                }
            }
        });
        way
    }

    /// From now on nothing passes, and nothing is closed.
    pub fn stall(&self) {
        self.state.lock().expect("a lock").stalled = true;
    }

    /// All connections are closed, and no new ones are taken.
    pub fn cut(&self) {
        let mut state = self.state.lock().expect("a lock");
        state.cut = true;
        state.sockets.drain(..).for_each(|socket| drop(socket.shutdown(Shutdown::Both)));
    }

    /// All is well again. What had stalled is closed.
    pub fn open(&self) {
        self.cut();
        let mut state = self.state.lock().expect("a lock");
        (state.stalled, state.cut) = (false, false);
    }
}

fn pass(mut from: TcpStream, mut into: TcpStream, state: &Mutex<WayState>) {
    let _ = into.set_nodelay(true);
    let mut buffer = vec![0; 64 << 10];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        while state.lock().expect("a lock").stalled {
            std::thread::sleep(Duration::from_millis(5));
        }
        if into.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = into.shutdown(Shutdown::Write);
}
