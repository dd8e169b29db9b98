//! The server of the open model and of the truth: the null server in a separate process on its own
//! CPU. It stamps every request.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use stampede_known_server::{
    Address, Freeze, Listen, NullServer, NullServerOptions, Protocol, RequestTimestamps,
};

use crate::error::BenchError;
use crate::{SERVER_CPU, itself};

/// A running server. It ends when its standard input closes.
pub struct Stamped {
    process: Child,
    output: BufReader<std::process::ChildStdout>,
    /// The target, for example `http://127.0.0.1:8080/` or `unix:/run/null.sock`.
    pub target: String,
}

/// How the server answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Serves {
    pub wire: Wire,
    pub body_bytes: usize,
    /// Time from reading a request to its answer, without any CPU time.
    pub delay_ms: u64,
    pub freezing: Freezing,
}

/// What the server speaks, and on which sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    Http,
    Tls,
    FastCgi,
    /// HTTP on a Unix socket.
    Unix,
}

/// Whether the server freezes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freezing {
    Never,
    /// For 500 ms every 2 s.
    Every2s,
}

impl Serves {
    /// `ok` at once, over TCP.
    pub const AT_ONCE: Serves =
        Serves { wire: Wire::Http, body_bytes: 2, delay_ms: 0, freezing: Freezing::Never };
}

impl Wire {
    const ALL: [(&'static str, Wire); 4] =
        [("http", Wire::Http), ("https", Wire::Tls), ("fcgi", Wire::FastCgi), ("unix", Wire::Unix)];

    /// Its scheme in a target.
    fn scheme(self) -> &'static str {
        let named = Wire::ALL.into_iter().find(|(_, wire)| *wire == self);
        named.expect("all are listed").0
    }

    /// The wire of a target, and its address.
    pub fn of_target(target: &str) -> Option<(Wire, &str)> {
        let (scheme, address) = target.split_once(':')?;
        let (_, wire) = Wire::ALL.into_iter().find(|(name, _)| *name == scheme)?;
        Some((wire, address.trim_matches(if wire == Wire::Unix { ' ' } else { '/' })))
    }
}

impl Stamped {
    pub fn start(serves: Serves) -> Result<Stamped, BenchError> {
        let freezing = if serves.freezing == Freezing::Every2s { "freezes" } else { "runs" };
        let (body, delay) = (serves.body_bytes.to_string(), serves.delay_ms.to_string());
        let mut process = Command::new(itself())
            .args(["serve", serves.wire.scheme(), &body, &delay, freezing])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|source| BenchError::NoProcess { child: "the null server", source })?;
        let output = process.stdout.take().expect("its output is piped");
        let mut output = BufReader::new(output);
        let mut target = String::new();
        output.read_line(&mut target)?;
        Ok(Stamped { process, output, target: target.trim().to_owned() })
    }

    /// Ends the server and returns the stamps of all requests, in the order of their answers.
    pub fn finish(mut self) -> Result<Vec<RequestTimestamps>, BenchError> {
        drop(self.process.stdin.take());
        let mut bytes = Vec::new();
        self.output.read_to_end(&mut bytes)?;
        let _ = self.process.wait();
        Ok(numbers::<5>(&bytes).map(stamp).collect())
    }
}

impl Drop for Stamped {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

fn stamp([number, connection, arrived, before, after]: [u64; 5]) -> RequestTimestamps {
    let (arrived_ns, before_send_ns, after_send_ns) = (arrived, before, after);
    RequestTimestamps { number, connection, arrived_ns, before_send_ns, after_send_ns }
}

/// Groups of `N` numbers, as [`write_numbers`] writes them.
pub fn numbers<const N: usize>(bytes: &[u8]) -> impl Iterator<Item = [u64; N]> + '_ {
    bytes.chunks_exact(8 * N).map(|group| {
        let number = |at: usize| group[8 * at..8 * (at + 1)].try_into().expect("eight bytes");
        std::array::from_fn(|at| u64::from_le_bytes(number(at)))
    })
}

/// Appends a group of numbers.
pub fn write_numbers(bytes: &mut Vec<u8>, group: &[u64]) {
    group.iter().for_each(|number| bytes.extend_from_slice(&number.to_le_bytes()));
}

/// Runs the server in this process: `WIRE BODY_BYTES DELAY_MS freezes|runs`. As root, it goes
/// before other programs on its CPU and locks its memory. It is no real-time process: the kernel
/// stops one that takes 95 % of a CPU for 50 ms a second, which would be in every figure.
pub fn serve(arguments: &[&str]) {
    let [scheme, body_bytes, delay_ms, freezing] = arguments else {
        panic!("WIRE BODY_BYTES DELAY_MS freezes|runs")
    };
    // SAFETY: takes no memory of ours.
    let _ = unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) };
    // SAFETY: takes no memory of ours.
    let _ = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, FIRST) };
    let directory = tempfile::tempdir().expect("a directory for a socket");
    let listen = match *scheme {
        "unix" => Listen::Unix(directory.path().join("null.sock")),
        _ => Listen::Tcp,
    };
    let (at, lasts) = (Duration::from_secs(2), Duration::from_millis(500));
    let freeze = Freeze { at, lasts, every: Some(Duration::from_secs(2)) };
    let options = NullServerOptions {
        cpu: Some(SERVER_CPU),
        protocol: match *scheme {
            "https" => Protocol::Tls(tls()),
            "fcgi" => Protocol::FastCgi,
            _ => Protocol::Http1,
        },
        body_bytes: body_bytes.parse().expect("a number of bytes"),
        delay: Duration::from_millis(delay_ms.parse().expect("a number of ms")),
        stamps: STAMPS,
        freeze: (*freezing == "freezes").then_some(freeze),
    };
    let server = NullServer::start_with(&listen, options).expect("a null server");
    match server.address() {
        Address::Tcp(address) => println!("{scheme}://{address}/"),
        Address::Unix(path) => println!("{scheme}:{}", path.display()),
    }
    let _ = std::io::stdin().read(&mut [0]);
    let mut bytes = Vec::new();
    for stamp in server.finish() {
        let times = [stamp.arrived_ns, stamp.before_send_ns, stamp.after_send_ns];
        write_numbers(&mut bytes, &[stamp.number, stamp.connection]);
        write_numbers(&mut bytes, &times);
    }
    let _ = std::io::stdout().write_all(&bytes);
}

/// TLS with a self-signed certificate, which our generator does not check.
fn tls() -> Arc<ServerConfig> {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]);
    let made = made.expect("a certificate");
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider);
    let config = config.with_safe_default_protocol_versions().expect("TLS 1.2 and 1.3");
    let config = config.with_no_client_auth();
    Arc::new(config.with_single_cert(vec![made.cert.der().clone()], key).expect("its own key"))
}

/// The nice value with the highest priority.
const FIRST: i32 = -20;
/// Room for 50 000/s for a minute.
const STAMPS: usize = 3_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_names_its_wire_and_address() {
        for (target, wire, address) in [
            ("http://127.0.0.1:80/", Wire::Http, "127.0.0.1:80"),
            ("https://127.0.0.1:80/", Wire::Tls, "127.0.0.1:80"),
            ("fcgi://127.0.0.1:80/", Wire::FastCgi, "127.0.0.1:80"),
            ("unix:/tmp/null.sock", Wire::Unix, "/tmp/null.sock"),
        ] {
            assert_eq!(Wire::of_target(target), Some((wire, address)));
            assert!(target.starts_with(wire.scheme()));
        }
        assert_eq!(Wire::of_target("gopher://x"), None);
    }

    #[test]
    fn numbers_are_read_as_they_were_written() {
        let mut bytes = Vec::new();
        write_numbers(&mut bytes, &[1, 2]);
        write_numbers(&mut bytes, &[u64::MAX, 4]);
        assert_eq!(numbers::<2>(&bytes).collect::<Vec<_>>(), [[1, 2], [u64::MAX, 4]]);
    }
}
