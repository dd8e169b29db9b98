//! Remote write over TLS.

use std::io::{BufReader, Write as _};
use std::net::TcpListener;
use std::sync::Arc;

use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use stampede_model::causes::chain;
use stampede_remote_write::{Roots, Sent};

use crate::scripted;
use crate::trial::{begin, second, settings, writer};

/// Sends a second to a server of TLS, with its certificate or without.
fn sent(trusts: bool) -> Sent {
    let key = rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let certificate = key.cert.der().clone();
    let secret = PrivateKeyDer::try_from(key.signing_key.serialize_der()).expect("a key");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], secret)
        .expect("a configuration");
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let session = ServerConnection::new(Arc::clone(&config)).expect("a session");
            let mut stream = StreamOwned::new(session, connection.expect("a connection"));
            while scripted::read(&mut BufReader::new(&mut stream)).is_some() {
                let answer = b"HTTP/1.1 204 No Content\r\n\r\n";
                stream.write_all(answer).expect("the answer is sent");
            }
        }
    });
    let mut settings = settings(&format!("https://localhost:{port}/api/v1/write"));
    settings.pace.flush = std::time::Duration::from_secs(2);
    settings.pace.timeout = std::time::Duration::from_secs(2);
    settings.roots = if trusts { Roots::Given(vec![certificate.to_vec()]) } else { Roots::System };
    let mut writer = writer(settings);
    begin(&mut writer);
    writer.second(&second(0, 10));
    writer.finish()
}

#[test]
fn a_trusted_certificate_is_needed() {
    let trusted = sent(true);
    assert!(trusted.is_whole() && trusted.samples > 20, "{trusted:?}");
    let other = sent(false);
    assert_eq!(other.samples, 0);
    let error = chain(other.last_error.as_ref().expect("an error"));
    assert!(error.contains("certificate"), "{error}");
}
