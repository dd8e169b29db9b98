//! The script that answers a FastCGI request.

use serde::{Deserialize, Serialize};

/// The script that answers, as it lies on the server's disk.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "ScriptData", into = "ScriptData")]
pub struct Script {
    filename: String,
    /// Bytes of `filename` before the script's own name, which are the site's root.
    root_bytes: usize,
    params: Vec<(String, String)>,
}

/// A script as data.
#[derive(Serialize, Deserialize)]
struct ScriptData {
    filename: String,
    params: Vec<(String, String)>,
}

impl From<ScriptData> for Script {
    fn from(data: ScriptData) -> Script {
        Script { params: data.params, ..Script::new(data.filename) }
    }
}

impl From<Script> for ScriptData {
    fn from(script: Script) -> ScriptData {
        ScriptData { filename: script.filename, params: script.params }
    }
}

impl Script {
    /// The script at this path; its directory is the root of the site.
    pub fn new(filename: impl Into<String>) -> Script {
        let filename = filename.into();
        let root_bytes = filename.rfind('/').unwrap_or(0);
        Script { filename, root_bytes, params: Vec::new() }
    }

    /// The same script with one more parameter, like nginx's `fastcgi_param`. It overrides a
    /// parameter that is sent by default.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: impl Into<String>) -> Script {
        self.params.push((name.into(), value.into()));
        self
    }

    /// Path of the script on the server's disk: `SCRIPT_FILENAME`.
    pub fn filename(&self) -> &str {
        &self.filename
    }

    /// Path of the script on the site: `SCRIPT_NAME`.
    pub fn name(&self) -> &str {
        &self.filename[self.root_bytes..]
    }

    /// Directory of the script: `DOCUMENT_ROOT`.
    pub fn root(&self) -> &str {
        &self.filename[..self.root_bytes]
    }

    /// Parameters that override those that are sent by default.
    pub fn params(&self) -> &[(String, String)] {
        &self.params
    }
}
