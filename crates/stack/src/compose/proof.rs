//! Asks the PHP of a project what it is, on a start that is not measured, and decides for each
//! measured start whether that holds for it too.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use stampede_compose::container::Container;
use stampede_linux::fresh;
use stampede_model::fact::Observation;
use stampede_model::fact::containers::ServiceCode;
use stampede_model::fact::php_proof::{ProvenBy, Unproven};
use stampede_model::record::ObservedState;
use stampede_proof::{
    INI_DIRECTORY, PhpAnswer, ProofDirectory, RunningProgram, StartState, ini_files,
};

use super::ResolvedProject;
use crate::answer::sha256;
use crate::error::RuntimeError;
use stampede_compose::error::ComposeError;
use stampede_compose::php_ini::PhpFiles;

/// What is known of the PHP of projects, by project.
#[derive(Clone, Debug, Default)]
pub(super) struct Proofs(Arc<Mutex<BTreeMap<String, Proof>>>);

type Proof = Result<Arc<ProvenPhp>, Unproven>;

/// A PHP that said what it is.
#[derive(Debug)]
struct ProvenPhp {
    by: ProvenBy,
    answer: PhpAnswer,
    /// The start on which it said so.
    state: StartState,
}

impl Proofs {
    fn get(&self, key: &str) -> Option<Proof> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    fn set(&self, key: &str, proof: Proof) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key.to_owned(), proof);
    }

    /// The part that a start of this project has. `can_ask`: whether PHP may be asked on it.
    pub fn of(&self, project: &ResolvedProject, can_ask: bool) -> StackProof {
        let document = Value::Object(project.project.document.clone());
        let directory = project.project.directory.display();
        let ResolvedProject { source, env, php_ini, .. } = project;
        let what = format!("{directory}\n{document}{source:?}{env:?}{php_ini:?}");
        let key = sha256(what);
        let asks = can_ask && self.get(&key).is_none();
        let asked = asks.then(|| Asked { token: fresh::token(), directories: BTreeMap::new() });
        StackProof { proofs: self.clone(), key, asked }
    }
}

/// The part of a proof that one start has.
#[derive(Clone, Debug)]
pub(super) struct StackProof {
    proofs: Proofs,
    key: String,
    asked: Option<Asked>,
}

/// A start on which PHP is asked.
#[derive(Clone, Debug)]
struct Asked {
    token: String,
    /// By service.
    directories: BTreeMap<String, ProofDirectory>,
}

/// What a start shows.
pub(super) struct SeenStart<'a> {
    /// The containers within the budget.
    pub containers: Vec<&'a Container>,
    /// The service that requests go to.
    pub target: &'a str,
    /// Programs that run at two moments.
    pub programs: [Vec<RunningProgram>; 2],
    /// Services that were not healthy in time.
    pub never_healthy: &'a [String],
    /// Where services have code from that is not mounted as the project says.
    pub code: &'a [ServiceCode],
    /// Asks for the page with this token; `None`: there is no answer.
    pub ask: &'a dyn Fn(&str) -> Option<String>,
}

impl StackProof {
    /// Whether PHP is asked on this start.
    pub fn asks(&self) -> bool {
        self.asked.is_some()
    }

    /// Adds what the services get for it to `files`, below `directory`; nothing on a start on which PHP is not
    /// asked.
    ///
    /// # Errors
    /// Nothing can be written there.
    pub fn prepare(
        &mut self,
        files: &mut BTreeMap<String, PhpFiles>,
        directory: &Path,
    ) -> io::Result<()> {
        let Some(Asked { token, directories }) = &mut self.asked else { return Ok(()) };
        let directory = directory.join("proof");
        fs::create_dir(&directory)?;
        for (number, (name, files)) in files.iter_mut().enumerate() {
            let written = ProofDirectory::write(&directory.join(number.to_string()), name, token)?;
            files.add(written.mounts(), INI_DIRECTORY);
            directories.insert(name.clone(), written);
        }
        Ok(())
    }

    /// Whether a start may have failed because PHP was to be asked on it.
    pub fn may_have_caused(&self, error: &RuntimeError) -> bool {
        let RuntimeError::Containers { problem, .. } = error else { return false };
        let may_be_the_cause = matches!(
            **problem,
            ComposeError::Ended { .. }
                | ComposeError::NoAnswer { .. }
                | ComposeError::Tool { .. }
                | ComposeError::WrongPage { .. }
        );
        self.asks() && may_be_the_cause
    }

    /// From now on PHP is not asked any more: the project starts only without that.
    pub fn give_up(&self) {
        self.proofs.set(&self.key, Err(Unproven::NotServed {}));
    }

    /// Adds what is known of PHP to what was observed. A start on which PHP can be asked for the
    /// first time asks it.
    pub fn complete(&self, seen: &SeenStart<'_>, mut observed: ObservedState) -> ObservedState {
        let not_healthy = |service: &String| Observation::NeverHealthy { service: service.clone() };
        observed.notices.extend(seen.never_healthy.iter().map(|one| not_healthy(one).into()));
        let code =
            seen.code.iter().map(|code| Observation::CodeInImages { service: code.clone() }.into());
        observed.notices.extend(code);
        let proof = match (self.proofs.get(&self.key), &self.asked) {
            (Some(known), _) => known,
            (None, Some(asked)) => {
                let found = seen.proven(asked);
                self.proofs.set(&self.key, found.clone());
                found
            }
            (None, None) => return observed,
        };
        let holds = proof.and_then(|proven| {
            let differences = proven.state.differences(&seen.state(&proven.answer));
            match differences.is_empty() {
                true => Ok(proven),
                false => Err(Unproven::OtherStart { differences }),
            }
        });
        let found = match holds {
            Ok(proven) => {
                proven.answer.add_to(&mut observed);
                Observation::PhpProven { service: proven.answer.service.clone(), by: proven.by }
            }
            Err(why) => Observation::PhpUnproven { why },
        };
        observed.notices.push(found.into());
        observed
    }
}

impl SeenStart<'_> {
    fn proven(&self, asked: &Asked) -> Proof {
        let answered = (self.ask)(&asked.token).and_then(|body| PhpAnswer::parse(&body));
        let (by, answer) = match answered {
            Some(answer) => (ProvenBy::Request, answer),
            None => (ProvenBy::Start, self.serving(&asked.directories)?),
        };
        let state = self.state(&answer);
        Ok(Arc::new(ProvenPhp { by, answer, state }))
    }

    /// The PHP that serves, among the processes that said what they are when they began. One that
    /// web servers use comes before programs of the command line, and the service that requests go
    /// to before others.
    fn serving(
        &self,
        directories: &BTreeMap<String, ProofDirectory>,
    ) -> Result<PhpAnswer, Unproven> {
        let [_, now] = &self.programs;
        let runs = |answer: &PhpAnswer| {
            now.iter().any(|one| one.service == answer.service && one.inner_pid == answer.pid)
        };
        let said = directories.values().flat_map(ProofDirectory::started).filter(runs);
        let mut all: Vec<PhpAnswer> = said.collect();
        if all.iter().any(|answer| !answer.is_of_command_line()) {
            all.retain(|answer| !answer.is_of_command_line());
        }
        if all.iter().any(|answer| answer.service == self.target) {
            all.retain(|answer| answer.service == self.target);
        }
        let services: BTreeSet<String> = all.iter().map(|one| one.service.clone()).collect();
        match services.len() {
            0 => Err(Unproven::Silent {}),
            1 => Ok(all.swap_remove(0)),
            _ => Err(Unproven::Several { services: services.into_iter().collect() }),
        }
    }

    /// What has to be the same, for the PHP that gave `answer`. Programs of other services come and go: a
    /// database may still be making its files when PHP serves already.
    fn state(&self, answer: &PhpAnswer) -> StartState {
        let [before, after] = self.programs.each_ref().map(|all| {
            let of_service = all.iter().filter(|one| one.service == answer.service);
            of_service.cloned().collect::<Vec<_>>()
        });
        let images = self.containers.iter();
        let root = self
            .containers
            .iter()
            .find_map(|one| one.root().filter(|_| one.service == answer.service));
        StartState {
            images: images.map(|one| (one.service.clone(), one.image_id.clone())).collect(),
            ini_files: root
                .map(|root| ini_files(&root, &answer.ini_directories))
                .unwrap_or_default(),
            programs: RunningProgram::lasting(&before, &after),
        }
    }
}
