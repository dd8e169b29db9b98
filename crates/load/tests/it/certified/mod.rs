//! The configuration of a test's TLS server.

use std::sync::Arc;

use rustls::SupportedProtocolVersion;
use rustls::pki_types::PrivateKeyDer;
use rustls::server::ServerConfig;

/// A configuration for this version only, with its own certificate for `localhost`.
pub fn config(version: &'static SupportedProtocolVersion) -> Arc<ServerConfig> {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_string()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider);
    let config = config.with_protocol_versions(&[version]).unwrap().with_no_client_auth();
    Arc::new(config.with_single_cert(vec![made.cert.der().clone()], key).unwrap())
}
