//! Describes a load completely, in one value: target, traffic, model, connection habits and checks.
//!
//! The value is data: it can be written, sent to another process and read there. What belongs to a
//! running load is given beside it: the flag that stops it, and the listener.

use serde::{Deserialize, Serialize};
use stampede_model::load::{Address, Addresses, ConnectionHabit, Habits, HttpVersion, Model};
use stampede_model::part::Part;
use stampede_model::time::Nanos;

pub use crate::check::{Check, Rule};
use crate::protocol::tls;
use stampede_traffic::LoadTraffic;

/// One load: where, what, when and with which connection habits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Addresses that the connections go to, in turn.
    pub target: Addresses,
    /// Protocol on the connections.
    pub wire: Wire,
    /// What is sent first, on the same connections, and not counted: a warm-up. When its last
    /// request has ended, the load begins. `None`: there is none.
    pub warm_up: Option<Model>,
    /// Open or closed model.
    pub model: Model,
    /// Which part of the load is sent: of its schedule, its users and its requests.
    pub part: Part,
    /// How connections are used.
    pub habits: Habits,
    /// Longest service time, from *started* to done, connecting included. Beyond it a request fails
    /// as `net: timeout`.
    #[serde(rename = "timeout_ns")]
    pub timeout: Nanos,
    /// Requests to send: a list that is repeated from its start, or a file.
    pub traffic: LoadTraffic,
    /// What a correct answer looks like.
    pub check: Check,
    /// Engine that moves the bytes.
    pub engine: EngineChoice,
    /// What says when an answer arrived.
    pub timestamps: Timestamps,
    /// CPUs that the load threads are pinned to, one thread per CPU. Empty: `threads` threads,
    /// which the kernel places.
    pub cpus: Vec<usize>,
    /// Who else runs on the CPUs of the load threads.
    pub cpu_sharing: CpuSharing,
    /// Load threads where `cpus` is empty, 1 or more.
    pub threads: u32,
    /// Whether the listener gets a record of every request.
    pub records: bool,
}

impl Load {
    /// A load with the habits of an ordinary client: HTTP/1.1 on kept connections and a timeout of
    /// 11 s. Every status from 200 to 299 is correct. One thread runs, and the kernel places it.
    pub fn new(
        target: impl Into<Addresses>,
        model: Model,
        traffic: impl Into<LoadTraffic>,
    ) -> Load {
        let (version, connection) = (HttpVersion::Http11, ConnectionHabit::KeepAlive);
        Load {
            target: target.into(),
            wire: Wire::Http1,
            warm_up: None,
            model,
            part: Part::WHOLE,
            habits: Habits { version, connection },
            timeout: TIMEOUT,
            traffic: traffic.into(),
            check: Check::default(),
            engine: EngineChoice::default(),
            timestamps: Timestamps::Kernel,
            cpus: Vec::new(),
            cpu_sharing: CpuSharing::WithServer,
            threads: 1,
            records: false,
        }
    }
}

/// Who else runs on the CPUs of the load threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CpuSharing {
    /// Nothing that matters: a thread may spin for as long as that helps.
    Exclusive,
    /// Possibly the server, which may lack the CPU time that a thread spends spinning.
    WithServer,
}

/// Who takes the timestamp of received bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Timestamps {
    /// The kernel, when it received them, so it does not matter when we look. Where the kernel has
    /// no timestamps (Unix sockets), the same as `Userspace`.
    Kernel,
    /// We take it when we read the bytes. For comparison with `Kernel` only.
    Userspace,
}

impl Timestamps {
    /// Who takes them on connections to these addresses, which are all of one kind.
    pub(crate) fn on(self, addresses: &Addresses) -> Timestamps {
        match addresses.first() {
            Address::Tcp(_) => self,
            Address::Unix(_) => Timestamps::Userspace,
        }
    }
}

/// Protocol on a connection.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wire {
    /// HTTP/1.0 or 1.1, as [`Habits::version`] says.
    Http1,
    /// FastCGI, with requests that name a script: [`crate::protocol::fastcgi::request`].
    FastCgi,
    /// HTTP inside TLS.
    Tls(tls::Setup),
}

/// Which engine moves the bytes. [`crate::LoadResult`] names the engine that was used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineChoice {
    /// epoll: works everywhere, so that every machine and every load is measured with the same
    /// instrument.
    #[default]
    Epoll,
    /// io_uring: Linux 6.1 and later, unless it is forbidden.
    IoUring,
}

/// Default timeout, the same as Yandex Tank's.
const TIMEOUT: Nanos = Nanos::from_secs(11);
