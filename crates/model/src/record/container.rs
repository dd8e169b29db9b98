//! The containers of a stack.

use serde::{Deserialize, Serialize};

/// A container of a stack, and its image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContainerRecord {
    /// The service in the compose project.
    pub service: String,
    /// The image as the project names it.
    pub image: String,
    /// The image's id, which is the hash of its configuration.
    pub image_id: String,
    /// The digest under which a registry has the image; empty: it is from none.
    pub digest: String,
    /// The architecture that the image was made for: `amd64`, `arm64` …
    pub architecture: String,
    /// The system in the image: `Debian GNU/Linux 12 (bookworm)`; empty: not known.
    pub base: String,
    /// The C library: `glibc` or `musl`; empty: not known.
    pub libc: String,
    /// Whether the container runs beside the budget.
    #[serde(rename = "beside")]
    pub is_beside: bool,
    /// Whether requests reach it by a proxy of the engine.
    #[serde(rename = "proxied", skip_serializing_if = "std::ops::Not::not")]
    pub is_proxied: bool,
    /// The CPUs that the kernel lets its main process use, as a list (`0-3`); empty: not known.
    pub cpus_allowed: String,
    /// The CPU time that its groups allow, in thousandths of a CPU; `None`: there is no quota.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_quota_thousandths: Option<u32>,
    /// The memory that its groups allow, in bytes; 0: there is no limit.
    pub memory_limit_bytes: u64,
    /// What the engine was told to limit it to. What the groups around it allow comes on top.
    pub own: ContainerLimits,
    /// What programs inside it find of that; `None`: not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inside: Option<ContainerLimits>,
}

/// The limits of a container's own group, without those of the groups around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ContainerLimits {
    /// The CPU time in thousandths of a CPU; `None`: there is no quota.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_quota_thousandths: Option<u32>,
    /// The memory in bytes; 0: there is no limit.
    pub memory_bytes: u64,
}

impl ContainerRecord {
    /// The service's image, as an entry among the versions of a runtime.
    pub fn as_version(&self) -> (String, String) {
        (format!("image of {}", self.service), self.image_in_words())
    }

    /// The image in words: name, digest or id, system, architecture and C library.
    pub fn image_in_words(&self) -> String {
        let id = if self.digest.is_empty() { &self.image_id } else { &self.digest };
        // 12 digits are what the engine itself prints.
        let short = id.get(..SHORT_ID).unwrap_or(id);
        let parts = [self.image.as_str(), short, &self.base, &self.architecture, &self.libc];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(", ")
    }
}

/// The length of `sha256:` and 12 digits.
const SHORT_ID: usize = 19;
