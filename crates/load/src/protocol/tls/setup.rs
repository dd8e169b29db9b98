//! How TLS is spoken: with whom, which certificates are taken, which sessions.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, UnbufferedClientConnection};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// What every connection of a load has in common. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Setup {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    sessions: Sessions,
}

/// Which certificates of a server are taken.
#[derive(Clone, Debug, Default)]
pub enum Certificates {
    /// Any, unlooked at, and unproven: what wrk, ab and h2load do, for what is loaded on
    /// loopback has signed its own, or a name that is not `127.0.0.1`.
    #[default]
    Any,
    /// Those that lead to one of these roots and bear the host's name.
    Of(Arc<RootCertStore>),
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
    /// Those that this machine trusts; `SSL_CERT_FILE` and `SSL_CERT_DIR` name others.
    ///
    /// # Errors
    /// None was found, or none could be read.
    pub fn of_this_machine() -> Result<Certificates, CertificatesError> {
        let mut found = rustls_native_certs::load_native_certs();
        let mut roots = RootCertStore::empty();
        let (taken, _) = roots.add_parsable_certificates(found.certs);
        match (taken, found.errors.pop()) {
            (0, Some(error)) => Err(error.into()),
            (0, None) => Err(CertificatesError::NoneThere),
            _ => Ok(Certificates::Of(Arc::new(roots))),
        }
    }
}

/// What a new connection takes over from earlier ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sessions {
    /// Nothing: each pays for a whole handshake, as each new visitor does, and all requests cost
    /// the same. What ab, hey and k6 do.
    #[default]
    New,
    /// Its session where the server gave tickets, as a browser that comes back. Sessions are
    /// kept for each load thread.
    Resumed,
}

/// Why TLS cannot be spoken so.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SetupError {
    /// Neither a DNS name nor an address.
    #[error("`{0}` is not a name that a certificate can have")]
    Name(String),
    /// The library refuses.
    #[error("TLS cannot be set up")]
    Library(#[source] Error),
}

impl Setup {
    /// To speak TLS 1.3 or 1.2 with `host`, a DNS name, which is told to the server (SNI), or
    /// an address, which is not (RFC 6066 section 3). Offers `http/1.1`.
    ///
    /// # Errors
    /// See [`SetupError`].
    pub fn new(
        host: &str,
        certificates: Certificates,
        sessions: Sessions,
    ) -> Result<Setup, SetupError> {
        let name = ServerName::try_from(host.to_string());
        let name = name.map_err(|_| SetupError::Name(host.to_string()))?;
        let provider = Arc::new(ring::default_provider());
        let config = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(SetupError::Library)?;
        let mut config = match certificates {
            Certificates::Of(roots) => config.with_root_certificates(roots).with_no_client_auth(),
            Certificates::Any => config
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Unlooked(provider)))
                .with_no_client_auth(),
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let setup = Setup { config: Arc::new(config), name, sessions }.for_a_thread();
        let first = UnbufferedClientConnection::new(setup.config.clone(), setup.name.clone());
        first.map(|_| setup).map_err(SetupError::Library)
    }

    /// The same with nothing shared: neither sessions nor a counter of references.
    #[must_use]
    pub(crate) fn for_a_thread(&self) -> Setup {
        let mut config = ClientConfig::clone(&self.config);
        config.resumption = match self.sessions {
            Sessions::New => Resumption::disabled(),
            Sessions::Resumed => Resumption::in_memory_sessions(SESSIONS_MAX),
        };
        Setup { config: Arc::new(config), ..self.clone() }
    }

    /// A connection that is about to begin.
    pub(super) fn connection(&self) -> UnbufferedClientConnection {
        UnbufferedClientConnection::new(self.config.clone(), self.name.clone())
            .expect("what made one when it was set up makes another")
    }
}

/// Takes any certificate. Nor is the signature looked at that proves who holds its key: X.509
/// v1, which `openssl x509 -req` makes, would fail there, and the keys of the connection are
/// proven without it.
#[derive(Debug)]
struct Unlooked(Arc<CryptoProvider>);

impl ServerCertVerifier for Unlooked {
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

/// TLS 1.3 tickets are used once (RFC 8446 appendix C.4). rustls keeps eight of a server, and
/// each connection brings new ones: only a burst of openings finds none.
const SESSIONS_MAX: usize = 8;
