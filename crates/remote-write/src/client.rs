//! One request of remote write, and what its answer means.
//!
//! Source: the remote write specification 1.0: answers with 5xx are tried again, those with 429 may
//! be, any other is not.

use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use rustls_native_certs::load_native_certs;
use serde::Serialize;
use stampede_mask::mask_foreign;
use ureq::Agent;
use ureq::http::Response;
use ureq::tls::{Certificate, RootCerts, TlsConfig, TlsProvider};

use crate::target::Target;

/// Why samples were not taken.
#[derive(Clone, Debug, thiserror::Error, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SendError {
    /// The server answered, and not with success.
    #[error("the server answered {status}{}", said(.answer))]
    Answered {
        /// The status.
        status: u16,
        /// The first line of the answer, masked; empty: there is none.
        answer: String,
        /// How long the server wants to be left alone.
        #[serde(skip)]
        retry_after: Option<Duration>,
    },
    /// There was no answer in time.
    #[error("the server did not answer within {} s", after.as_secs_f64())]
    TimedOut {
        /// The limit.
        after: Duration,
    },
    /// No connection, or one that broke.
    #[error("the server cannot be reached")]
    Unreachable {
        /// The client's error.
        #[source]
        #[serde(skip)]
        source: Arc<ureq::Error>,
    },
}

fn said(answer: &str) -> String {
    if answer.is_empty() { String::new() } else { format!(": {answer}") }
}

impl SendError {
    /// Whether the same samples may be taken later.
    pub fn is_passing(&self) -> bool {
        match self {
            SendError::Answered { status, .. } => *status == 429 || *status >= 500,
            SendError::TimedOut { .. } | SendError::Unreachable { .. } => true,
        }
    }

    /// Returns what to do next.
    pub fn hint(&self) -> &'static str {
        match self {
            SendError::Answered { status: 401 | 403, .. } => {
                "set STAMPEDE_REMOTE_WRITE_USER and STAMPEDE_REMOTE_WRITE_PASSWORD, or \
                 STAMPEDE_REMOTE_WRITE_TOKEN"
            }
            SendError::Answered { status: 404 | 405, .. } => {
                "start Prometheus with `--web.enable-remote-write-receiver`; its path is \
                 `/api/v1/write`"
            }
            SendError::Answered { status: 300..400, .. } => {
                "use the address in the server's `Location` header: stampede follows no redirects"
            }
            SendError::Answered { status: 400, .. } => {
                "look at the server's log: it names the samples that it refused"
            }
            SendError::Answered { .. } => "look at the server's log",
            SendError::TimedOut { .. } | SendError::Unreachable { .. } => {
                "check that the server is running and that the address is right"
            }
        }
    }
}

/// The certificates that a server's certificate may come from.
#[derive(Clone, Debug, Default)]
pub enum Roots {
    /// Those of this system, or of the file in `SSL_CERT_FILE`.
    #[default]
    System,
    /// These, in DER.
    Given(Vec<Vec<u8>>),
}

/// What sends requests to one address.
#[derive(Debug)]
pub struct Client {
    agent: Agent,
    target: Target,
}

impl Client {
    /// A client for this address.
    pub fn new(target: Target, roots: &Roots) -> Client {
        let is_tls = target.url().scheme() == "https";
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .user_agent(concat!("stampede/", env!("CARGO_PKG_VERSION")));
        if is_tls {
            config = config.tls_config(tls(roots));
        }
        // A proxy of the environment could not reach this machine.
        if is_this_machine(&target) {
            config = config.proxy(None);
        }
        Client { agent: config.build().new_agent(), target }
    }

    /// Sends a `WriteRequest` that is compressed already, and waits for the answer for at most
    /// `timeout`.
    ///
    /// # Errors
    /// The samples were not taken.
    pub fn send(&self, compressed: &[u8], timeout: Duration) -> Result<(), SendError> {
        let mut request = self
            .agent
            .post(self.target.url().as_str())
            .header("Content-Type", "application/x-protobuf")
            .header("Content-Encoding", "snappy")
            .header("X-Prometheus-Remote-Write-Version", "0.1.0");
        if let Some(authorization) = self.target.authorization() {
            request = request.header("Authorization", authorization);
        }
        let answer = request.config().timeout_global(Some(timeout)).build().send(compressed);
        match answer {
            Ok(answer) if answer.status().is_success() => Ok(()),
            Ok(answer) => Err(answered(answer)),
            Err(ureq::Error::Timeout(_)) => Err(SendError::TimedOut { after: timeout }),
            Err(error) => Err(SendError::Unreachable { source: Arc::new(error) }),
        }
    }
}

fn answered(mut answer: Response<ureq::Body>) -> SendError {
    let retry_after = answer.headers().get("Retry-After").and_then(|value| value.to_str().ok());
    // A date, the other form, is not worth a parser: the usual pause is tried then.
    let retry_after = retry_after.and_then(|text| text.trim().parse().ok());
    let mut bytes = Vec::new();
    // A body that breaks off is shown as far as it came.
    let _ = answer.body_mut().as_reader().take(ANSWER_BYTES).read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes);
    let line = text.lines().next().unwrap_or_default().trim();
    SendError::Answered {
        status: answer.status().as_u16(),
        answer: mask_foreign(&line.replace(|c: char| c.is_control(), " ")),
        retry_after: retry_after.map(|seconds: u64| Duration::from_secs(seconds)),
    }
}

fn tls(roots: &Roots) -> TlsConfig {
    let certificates: Vec<Certificate<'static>> = match roots {
        Roots::System => {
            let all = load_native_certs().certs;
            all.iter().map(|one| Certificate::from_der(one).to_owned()).collect()
        }
        Roots::Given(all) => all.iter().map(|one| Certificate::from_der(one).to_owned()).collect(),
    };
    TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .root_certs(RootCerts::new_with_certs(&certificates))
        .build()
}

fn is_this_machine(target: &Target) -> bool {
    match target.url().host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// As much of an answer as a message shows.
const ANSWER_BYTES: u64 = 300;
