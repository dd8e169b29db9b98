//! Root certificates as data: what a verification needs of each, in base64.

use std::sync::Arc;

use rustls::RootCertStore;
use rustls::pki_types::TrustAnchor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Bytes in DER.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct Der(#[serde(with = "stampede_traffic::base64_bytes")] Vec<u8>);

/// One root.
#[derive(Serialize, Deserialize)]
struct Root {
    subject: Der,
    public_key_info: Der,
    name_constraints: Option<Der>,
}

pub(super) fn serialize<S: Serializer>(
    roots: &Arc<RootCertStore>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(roots.roots.iter().map(|anchor| Root {
        subject: Der(anchor.subject.to_vec()),
        public_key_info: Der(anchor.subject_public_key_info.to_vec()),
        name_constraints: anchor.name_constraints.as_ref().map(|der| Der(der.to_vec())),
    }))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Arc<RootCertStore>, D::Error> {
    let roots = Vec::<Root>::deserialize(deserializer)?;
    let anchors = roots.into_iter().map(|root| TrustAnchor {
        subject: root.subject.0.into(),
        subject_public_key_info: root.public_key_info.0.into(),
        name_constraints: root.name_constraints.map(|der| der.0.into()),
    });
    Ok(Arc::new(RootCertStore { roots: anchors.collect() }))
}
