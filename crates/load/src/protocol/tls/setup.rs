//! Configures TLS: the server's name, the certificates that are accepted, and sessions.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, UnbufferedClientConnection};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use serde::{Deserialize, Serialize};

/// How the connections of a load speak TLS, as data. A [`Connector`] opens them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Setup {
    host: String,
    certificates: Certificates,
    sessions: Sessions,
}

/// A setup as it was read, before it is known to be valid.
#[derive(Deserialize)]
struct Unchecked {
    host: String,
    certificates: Certificates,
    sessions: Sessions,
}

impl TryFrom<Unchecked> for Setup {
    type Error = SetupError;

    fn try_from(read: Unchecked) -> Result<Setup, SetupError> {
        Setup::new(&read.host, read.certificates, read.sessions)
    }
}

/// Which certificates of a server are accepted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Certificates {
    /// Any certificate, unverified, as wrk, ab and h2load do. A server that is loaded on loopback
    /// has a self-signed one, or one for a name other than `127.0.0.1`.
    #[default]
    Any,
    /// Those that lead to one of these roots and name the host.
    Roots(#[serde(with = "super::roots")] Arc<RootCertStore>),
}

/// Two lists of roots are equal if they have the same roots in the same order.
impl PartialEq for Certificates {
    fn eq(&self, other: &Certificates) -> bool {
        match (self, other) {
            (Certificates::Any, Certificates::Any) => true,
            (Certificates::Roots(own), Certificates::Roots(other)) => own.roots == other.roots,
            (Certificates::Any, Certificates::Roots(_))
            | (Certificates::Roots(_), Certificates::Any) => false,
        }
    }
}

/// Why the certificates that this machine trusts are not known.
#[derive(Debug, thiserror::Error)]
pub enum CertificatesError {
    /// None could be read.
    #[error(transparent)]
    Unreadable(#[from] rustls_native_certs::Error),
    /// There are none.
    #[error("this machine has no root certificates")]
    NoneThere,
}

impl Certificates {
    /// The certificates that this machine trusts; `SSL_CERT_FILE` and `SSL_CERT_DIR` name others.
    ///
    /// # Errors
    /// None was found, or none could be read.
    pub fn system_roots() -> Result<Certificates, CertificatesError> {
        let mut found = rustls_native_certs::load_native_certs();
        let mut roots = RootCertStore::empty();
        let (taken, _) = roots.add_parsable_certificates(found.certs);
        match (taken, found.errors.pop()) {
            (0, Some(error)) => Err(error.into()),
            (0, None) => Err(CertificatesError::NoneThere),
            _ => Ok(Certificates::Roots(Arc::new(roots))),
        }
    }
}

/// What a new connection takes over from earlier ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Sessions {
    /// Nothing: each connection does a whole handshake, as for a new visitor, so all requests that
    /// open one cost the same. ab, hey and k6 do the same.
    #[default]
    New,
    /// A session, where the server sent tickets, as with a browser that comes back. Each load
    /// thread keeps its own sessions.
    Resumed,
}

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The name is neither a DNS name nor an address.
    #[error("`{0}` is not a name that a certificate can have")]
    Name(String),
    /// The library refuses.
    #[error("TLS cannot be set up")]
    Library(#[source] Error),
}

impl Setup {
    /// A setup for TLS 1.3 or 1.2 with `host`. A DNS name is sent to the server (SNI), an address
    /// is not (RFC 6066 section 3). Offers `http/1.1`.
    ///
    /// # Errors
    /// See [`SetupError`].
    pub fn new(
        host: &str,
        certificates: Certificates,
        sessions: Sessions,
    ) -> Result<Setup, SetupError> {
        let setup = Setup { host: host.to_owned(), certificates, sessions };
        Connector::of(&setup)?.try_connection().map_err(SetupError::Library)?;
        Ok(setup)
    }

    /// The name or address that the server is asked for.
    pub fn host(&self) -> &str {
        &self.host
    }
}

/// Opens the connections of one load thread. It shares neither sessions nor a reference counter
/// with the connectors of other threads. Cheap to clone; clones share their sessions.
#[derive(Clone, Debug)]
pub struct Connector {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl Connector {
    /// A connector for this setup.
    pub fn new(setup: &Setup) -> Connector {
        Connector::of(setup).expect("a setup made one when it was made")
    }

    fn of(setup: &Setup) -> Result<Connector, SetupError> {
        let name = ServerName::try_from(setup.host.clone());
        let name = name.map_err(|_| SetupError::Name(setup.host.clone()))?;
        let provider = Arc::new(ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(SetupError::Library)?;
        let mut config = match &setup.certificates {
            Certificates::Roots(roots) => {
                config.with_root_certificates(Arc::clone(roots)).with_no_client_auth()
            }
            Certificates::Any => config
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(AcceptAnyCertificate(provider)))
                .with_no_client_auth(),
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        config.resumption = match setup.sessions {
            Sessions::New => Resumption::disabled(),
            Sessions::Resumed => Resumption::in_memory_sessions(SESSIONS_MAX),
        };
        Ok(Connector { config: Arc::new(config), name })
    }

    fn try_connection(&self) -> Result<UnbufferedClientConnection, Error> {
        UnbufferedClientConnection::new(self.config.clone(), self.name.clone())
    }

    /// A connection that has not begun.
    pub(super) fn connection(&self) -> UnbufferedClientConnection {
        self.try_connection().expect("what made one when it was set up makes another")
    }
}

/// Accepts any certificate. It does not verify the signature that proves the possession of the key
/// either. X.509 v1 certificates, which `openssl x509 -req` makes, would fail there, and the keys
/// of the connection are proven without it.
#[derive(Debug)]
struct AcceptAnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// Sessions kept. TLS 1.3 tickets are used once (RFC 8446 appendix C.4). rustls keeps eight per
/// server, and each connection brings new ones, so only a burst of new connections finds none.
const SESSIONS_MAX: usize = 8;
