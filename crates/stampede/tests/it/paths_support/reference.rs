//! `runtimes/common/paths.yaml` and the differences of each runtime, as types.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::reasons::runtimes;

/// The reference.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reference {
    script: String,
    scripts: Vec<String>,
    files: BTreeMap<String, String>,
    /// What is asked, and what is right.
    pub requests: Vec<Request>,
}

/// A request and its right outcome.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// Method and target, as they are sent.
    pub ask: String,
    /// The header `Host`.
    pub host: Option<String>,
    /// Further headers.
    #[serde(default)]
    pub headers: Vec<String>,
    /// The length of a header `X-Long`, in bytes.
    pub long_header: Option<usize>,
    /// A header for which the value of an earlier answer is sent.
    pub same: Option<String>,
    /// The body of the request.
    pub body: Option<String>,
    /// The script that runs.
    pub runs: Option<String>,
    path_info: Option<String>,
    #[serde(default)]
    server: BTreeMap<String, Option<String>>,
    file: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    status: Option<u16>,
    location: Option<String>,
    answer_bytes: Option<usize>,
}

/// What a runtime does in another way.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Differences {
    differs: Vec<Difference>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Difference {
    because: String,
    /// Their outcomes replace those of the reference.
    #[serde(default)]
    requests: Vec<Request>,
    /// Variables of every script. `{SCRIPT_NAME}` stands for that variable, `{PORT}` for the port at
    /// which the server listens.
    #[serde(default)]
    variables: BTreeMap<String, Option<String>>,
    /// Variables of every script in which the reference does not set them.
    #[serde(default)]
    unset: BTreeMap<String, String>,
    /// Variables of the front controller, where the path is that of no script, file or directory.
    #[serde(default)]
    fallback: BTreeMap<String, String>,
}

/// What is compared: a name, and its value. `None`: it is not there.
pub type Facts = BTreeMap<String, Option<String>>;

/// The catalogue's directory of runtimes.
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runtimes")
}

impl Reference {
    /// Reads the reference.
    pub fn read() -> Reference {
        let text = std::fs::read_to_string(directory().join("common/paths.yaml"));
        serde_saphyr::from_str(&text.expect("the reference")).expect("YAML")
    }

    /// The files of the app: path and text.
    pub fn app(&self) -> impl Iterator<Item = (&str, &str)> {
        let scripts = self.scripts.iter().map(|path| (&**path, &*self.script));
        scripts.chain(self.files.iter().map(|(path, text)| (&**path, &**text)))
    }
}

impl Differences {
    /// The differences of a runtime; without a file it has none.
    pub fn of(name: &str) -> Differences {
        match std::fs::read_to_string(directory().join(name).join("paths.yaml")) {
            Ok(text) => serde_saphyr::from_str(&text).expect("YAML"),
            Err(_) => Differences::default(),
        }
    }

    /// The runtimes with differences.
    pub fn all() -> Vec<(String, Differences)> {
        let all = runtimes().map(|name| (name.clone(), Differences::of(&name)));
        all.filter(|(_, differences)| !differences.differs.is_empty()).collect()
    }

    /// Why it differs, a reason for each difference.
    pub fn reasons(&self) -> impl Iterator<Item = &str> {
        self.differs.iter().map(|one| &*one.because)
    }

    /// The requests with another outcome.
    pub fn asked(&self) -> impl Iterator<Item = &str> {
        self.differs.iter().flat_map(|one| one.requests.iter().map(|request| &*request.ask))
    }

    /// The request of the reference with the outcome that this runtime gives it.
    pub fn applied_to(&self, request: &Request) -> Request {
        let mut own = self.differs.iter().flat_map(|one| &one.requests);
        let Some(other) = own.find(|other| other.ask == request.ask) else {
            return request.clone();
        };
        Request {
            host: request.host.clone(),
            headers: request.headers.clone(),
            long_header: request.long_header,
            same: request.same.clone(),
            body: request.body.clone(),
            ..other.clone()
        }
    }

    /// Changes what a script has to see to what it sees here.
    fn adjust(&self, facts: &mut Facts, request: &Request, port: &str) {
        let name = facts.get("SCRIPT_NAME").cloned().flatten().unwrap_or_default();
        let filled = |text: &String| text.replace("{SCRIPT_NAME}", &name).replace("{PORT}", port);
        for one in &self.differs {
            for (variable, value) in &one.variables {
                facts.insert(variable.clone(), value.as_ref().map(filled));
            }
            for (variable, value) in &one.unset {
                if facts.get(variable).is_some_and(Option::is_none) {
                    facts.insert(variable.clone(), Some(value.clone()));
                }
            }
            let fallback = one.fallback.iter().filter(|_| request.is_fallback());
            facts.extend(fallback.map(|(variable, value)| (variable.clone(), Some(value.clone()))));
        }
    }
}

impl Request {
    /// Method and target.
    pub fn parts(&self) -> (&str, &str) {
        self.ask.split_once(' ').expect("method and target")
    }

    /// The `Host` that is sent.
    pub fn host(&self) -> &str {
        self.host.as_deref().unwrap_or("localhost")
    }

    /// Whether the front controller runs because nothing else has the path.
    fn is_fallback(&self) -> bool {
        let path = self.parts().1.split('?').next().unwrap_or_default();
        let is_front = self.runs.as_deref() == Some("/index.php");
        is_front && path != "/" && !path.starts_with("/index.php")
    }

    /// What is right, where the server listens at this port.
    pub fn wanted(&self, reference: &Reference, differences: &Differences, port: &str) -> Facts {
        let status = self.status.unwrap_or(200);
        let mut facts = Facts::from([("status".into(), Some(status.to_string()))]);
        let mut want = |name: &str, value: Option<&str>| {
            facts.insert(name.into(), value.map(str::to_owned));
        };
        if let Some(location) = &self.location {
            want("location", Some(location));
        }
        if let Some(kind) = &self.kind {
            want("type", Some(kind));
        }
        let has_body = self.parts().0 != "HEAD";
        if let Some(file) = &self.file {
            let text = &reference.files[file];
            want("answer", Some(if has_body { text } else { "" }));
        }
        if let Some(bytes) = self.answer_bytes {
            want("long headers of the answer", Some(&bytes.to_string()));
        }
        if let Some(script) = &self.runs {
            want("type", Some("text/html"));
            if has_body {
                let mut variables = self.variables(script);
                differences.adjust(&mut variables, self, port);
                facts.extend(variables);
            } else {
                want("answer", Some(""));
            }
        }
        facts
    }

    /// What a script has to see.
    fn variables(&self, script: &str) -> Facts {
        let (method, target) = self.parts();
        let info = self.path_info.as_deref();
        let (name, port) = self.host().split_once(':').unwrap_or((self.host(), "80"));
        let query = target.split_once('?').map_or("", |(_, query)| query);
        let own = format!("{script}{}", info.unwrap_or_default());
        let within = script.rsplit_once('/').map_or("", |(directory, _)| directory);
        let wanted = [
            ("script", Some(script)),
            ("working directory", Some(within)),
            ("body", Some(self.body.as_deref().unwrap_or_default())),
            ("SCRIPT_FILENAME", Some(script)),
            ("SCRIPT_NAME", Some(script)),
            ("PATH_INFO", info),
            ("PHP_SELF", Some(&*own)),
            ("REQUEST_METHOD", Some(method)),
            ("REQUEST_URI", Some(target)),
            ("QUERY_STRING", Some(query)),
            ("HTTP_HOST", Some(self.host())),
            ("SERVER_NAME", Some(name)),
            ("SERVER_PORT", Some(port)),
            ("REQUEST_SCHEME", Some("http")),
            ("HTTPS", None),
            ("SERVER_PROTOCOL", Some("HTTP/1.1")),
            ("GATEWAY_INTERFACE", Some("CGI/1.1")),
            ("REMOTE_ADDR", Some("127.0.0.1")),
        ];
        let wanted = wanted.map(|(name, value)| (name.to_owned(), value.map(str::to_owned)));
        let mut facts = Facts::from(wanted);
        facts.extend(self.server.clone());
        facts
    }
}
