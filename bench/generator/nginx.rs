//! The server of the closed model: nginx with one process on its own CPU, which answers all
//! requests with the same few bytes.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::SERVER_CPU;
use crate::error::BenchError;

/// The protocol that it speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    Http,
    /// TLS 1.3.
    Https,
}

/// A running nginx; its process ends on drop.
pub struct Nginx {
    process: Child,
    pub url: String,
    _directory: tempfile::TempDir,
}

impl Nginx {
    pub fn start(scheme: Scheme) -> Result<Nginx, BenchError> {
        let directory = tempfile::tempdir()?;
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let address = free?;
        let path = directory.path().join("nginx.conf");
        std::fs::write(&path, config(scheme, address))?;
        let url = match scheme {
            Scheme::Http => format!("http://{address}/"),
            Scheme::Https => {
                certify(directory.path())?;
                format!("https://{address}/")
            }
        };
        let process = Command::new("taskset")
            .args(["--cpu-list", &SERVER_CPU.to_string(), "nginx", "-e", "stderr"])
            .arg("-p")
            .arg(directory.path())
            .arg("-c")
            .arg(&path)
            .stderr(Stdio::null())
            .spawn()
            .map_err(|source| BenchError::NotStarted { program: "nginx or taskset", source })?;
        let nginx = Nginx { process, url, _directory: directory };
        let end = Instant::now() + READY;
        while TcpStream::connect(address).is_err() {
            if Instant::now() > end {
                return Err(BenchError::NotListening { address });
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(nginx)
    }

    /// The CPU time in s that it has used since its start.
    pub fn cpu_s(&self) -> Result<f64, BenchError> {
        let path = PathBuf::from(format!("/proc/{}/schedstat", self.process.id()));
        let said = match std::fs::read_to_string(&path) {
            Ok(said) => said,
            Err(source) => return Err(BenchError::File { path, source }),
        };
        let ns = said.split(' ').next().and_then(|ns| ns.parse::<f64>().ok());
        ns.map(|ns| ns / 1e9).ok_or(BenchError::NoNumber { path })
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Makes a self-signed certificate, which no peer checks, and its key.
fn certify(directory: &Path) -> Result<(), BenchError> {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"])
        .args(["-nodes", "-days", "2", "-subj", "/CN=localhost"])
        .args(["-keyout", "key.pem", "-out", "certificate.pem"])
        .current_dir(directory)
        .stdin(Stdio::null())
        .output()
        .map_err(|source| BenchError::NotStarted { program: "openssl", source })?;
    if made.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&made.stderr).trim().to_owned();
    Err(BenchError::Refused { program: "openssl", status: made.status, said })
}

/// The configuration: no log, no limit on the requests of a connection, room for 10 000 connections
/// at a time. With TLS the server chooses the cipher, so that it is the same for every peer.
fn config(scheme: Scheme, address: SocketAddr) -> String {
    let (ssl, tls) = match scheme {
        Scheme::Http => ("", ""),
        Scheme::Https => (
            " ssl",
            "ssl_certificate certificate.pem; ssl_certificate_key key.pem;
  ssl_protocols TLSv1.3; ssl_prefer_server_ciphers on;",
        ),
    };
    format!(
        "daemon off; master_process off; worker_processes 1; pid nginx.pid;
error_log stderr crit; worker_rlimit_nofile 16000;
events {{ worker_connections 12000; multi_accept on; }}
http {{
  access_log off; keepalive_requests 1000000000; keepalive_timeout 1h;
  client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u;
  scgi_temp_path s; {tls}
  server {{ listen {address}{ssl} backlog=4096; location / {{ return 200 \"hello\\n\"; }} }}
}}
"
    )
}

const READY: Duration = Duration::from_secs(10);
