//! The server of the closed model: nginx with one process, on a CPU of its own, that answers
//! everything with the same few bytes.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::SERVER_CPU;

/// A running nginx. Ends, by its process, when dropped.
pub struct Nginx {
    process: Child,
    pub address: SocketAddr,
    _folder: tempfile::TempDir,
}

impl Nginx {
    pub fn start() -> Result<Nginx, String> {
        let folder = tempfile::tempdir().map_err(|why| why.to_string())?;
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        let address = free.map_err(|why| why.to_string())?;
        let path = folder.path().join("nginx.conf");
        std::fs::write(&path, config(address)).map_err(|why| why.to_string())?;
        let process = Command::new("taskset")
            .args(["--cpu-list", &SERVER_CPU.to_string(), "nginx", "-e", "stderr"])
            .arg("-p")
            .arg(folder.path())
            .arg("-c")
            .arg(&path)
            .stderr(Stdio::null())
            .spawn()
            .map_err(|why| format!("nginx or taskset: {why}"))?;
        let nginx = Nginx { process, address, _folder: folder };
        let end = Instant::now() + READY;
        while TcpStream::connect(address).is_err() {
            if Instant::now() > end {
                return Err(format!("nginx does not listen on {address}"));
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(nginx)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// No log, no limit on the requests of a connection, room for 10 000 connections at once.
fn config(address: SocketAddr) -> String {
    format!(
        "daemon off; master_process off; worker_processes 1; pid nginx.pid;
error_log stderr crit; worker_rlimit_nofile 16000;
events {{ worker_connections 12000; multi_accept on; }}
http {{
  access_log off; keepalive_requests 1000000000; keepalive_timeout 1h;
  client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u;
  scgi_temp_path s;
  server {{ listen {address} backlog=4096; location / {{ return 200 \"hello\\n\"; }} }}
}}
"
    )
}

const READY: Duration = Duration::from_secs(10);
