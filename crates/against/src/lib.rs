//! Takes another version of the plan's apps out of their git repositories, and adds it to the plan.
//! Both versions are measured in the same rounds. The repository and its directory are only read.

mod containers;
mod error;
mod git;
mod prepare;
mod working_tree;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

pub use error::AgainstError;
use stampede_keeper::spec::BindMount;
use stampede_keeper::{Keeper, KeeperError, KeeperOptions};
use stampede_linux::fresh;
use stampede_mask::mask_secrets;
use stampede_model::fact::Notice;
use stampede_model::fact::app::Versions;
use stampede_model::record::AgainstRecord;
use stampede_model::words;
use stampede_plan::model::{Against, AppChoice, AppPlace, Plan};
pub use working_tree::working_tree;

use git::Repository;
use prepare::{Place, Unprepared};
use stampede_stack::{
    Catalogue, RuntimeError, SettingsPaths, User, bind_mount, copy_some, is_left_out,
    rewrite_settings_paths, unprivileged,
};

/// What the user asked for.
#[derive(Clone, Copy, Debug)]
pub struct AgainstRequest<'a> {
    /// The revision: `--against`.
    pub rev: &'a str,
    /// `--against-prepare`: the command to run in each copy; `None`: nothing is run.
    pub prepare: Option<&'a str>,
    /// Whether that version is measured twice in each round: `--aa`.
    pub is_twice: bool,
    /// Whether this is a dry run: no command runs, and packages are taken as they are.
    pub is_dry: bool,
    /// The options of the keeper that removes the copies.
    pub keeper: &'a KeeperOptions,
}

/// The copies of the other version. They are removed when this value is dropped, and however
/// stampede ends.
#[derive(Debug)]
pub struct VersionCopies {
    /// Removes the directory of the copies at the end.
    _keeper: Keeper,
}

/// Copies the other version of every app of the plan, and adds it to the plan beside the working
/// tree's.
///
/// # Errors
/// An app without a repository, a revision that does not exist or has no app, packages that are not
/// installed; see [`AgainstError`].
pub fn add(
    plan: &mut Plan,
    catalogue: &Catalogue,
    request: AgainstRequest<'_>,
) -> Result<VersionCopies, AgainstError> {
    if let Some(external) = plan.stack.runtimes.iter().find(|choice| choice.is_external()) {
        return Err(AgainstError::External { runtime: external.name.clone() });
    }
    // The repositories are asked first: if one has an error, there is no copy yet to remove.
    let projects = containers::repositories(plan, request.rev)?;
    let apps = &mut plan.stack.apps.choices;
    let found = apps.iter().map(|app| match app.place {
        // The projects bring it.
        AppPlace::Provided if !projects.is_empty() => Ok(None),
        _ => VersionedApp::find(app, request.rev).map(Some),
    });
    let found = found.collect::<Result<Vec<Option<VersionedApp>>, AgainstError>>()?;
    let place = catalogue.places.working_directories(false);
    let make = |id: &str| {
        let directory = place.join(format!("stampede-{id}"));
        Keeper::guard(id, &directory, request.keeper).map(|keeper| (keeper, directory))
    };
    let name = || format!("against-{}", fresh::token());
    let (keeper, directory) = fresh::under_a_free_name(name, make, KeeperError::is_taken)
        .map_err(|error| AgainstError::Keeper(Box::new(error)))?;
    let (mut of, mut record, mut notices) = (BTreeMap::new(), None, Vec::new());
    let mut checkouts = Vec::new();
    let made = containers::check_out(&projects, &directory, request, &keeper)?;
    for (project, (checkout, notice, mut brought)) in projects.iter().zip(made) {
        checkouts.push(checkout);
        notices.push(notice);
        let record = record.get_or_insert_with(|| project.record(request));
        record.brought.append(&mut brought);
    }
    for (index, found) in found.iter().enumerate() {
        let choice = match found {
            None => apps[index].clone(),
            Some(found) => {
                // The directory is private, since the copied files may be secret.
                let own = directory.join(index.to_string());
                private_directory(&own)?;
                let user = unprivileged();
                let copy = Copy { found, own: &own, request, keeper: &keeper, user };
                let (choice, mut brought) = copy.make(catalogue)?;
                notices.push(Notice::Against(found.versions(request.rev, &brought)?));
                let record = record.get_or_insert_with(|| found.record(request));
                record.brought.append(&mut brought);
                choice
            }
        };
        of.insert(apps.len(), index);
        apps.push(AppChoice { checkouts: checkouts.clone(), ..choice });
    }
    let mut again = BTreeSet::new();
    if request.is_twice {
        // A start copies the app anyway, so both measurements have a copy of their own.
        for (copy, original) in of.clone() {
            again.insert(apps.len());
            of.insert(apps.len(), original);
            apps.push(apps[copy].clone());
        }
    }
    plan.notices.extend(notices);
    plan.against = record.map(|record| Against { record, of, again });
    Ok(VersionCopies { _keeper: keeper })
}

/// An app whose other version exists in its repository.
struct VersionedApp {
    choice: AppChoice,
    directory: PathBuf,
    repository: Repository,
    commit: String,
    head: String,
    changed: usize,
}

impl VersionedApp {
    fn find(choice: &AppChoice, rev: &str) -> Result<VersionedApp, AgainstError> {
        let directory = match &choice.place {
            AppPlace::Named(app) => return Err(AgainstError::NotADirectory { app: app.clone() }),
            AppPlace::Directory(directory) => directory.clone(),
            AppPlace::Provided => return Err(AgainstError::AppUnknown {}),
        };
        let repository = Repository::find(&directory)?;
        let commit = repository.commit(rev)?;
        if !repository.has_directory(&commit) {
            let directory = repository.prefix.clone();
            return Err(AgainstError::NotThere { rev: rev.to_owned(), directory });
        }
        let (head, changed) = (repository.head(), repository.changed()?);
        Ok(VersionedApp { choice: choice.clone(), directory, repository, commit, head, changed })
    }

    fn record(&self, request: AgainstRequest<'_>) -> AgainstRecord {
        AgainstRecord {
            label: format!("@{}", words::cut(request.rev, LONGEST_LABEL)),
            rev: request.rev.to_owned(),
            commit: self.commit.clone(),
            head: self.head.clone(),
            changed: u32::try_from(self.changed).unwrap_or(u32::MAX),
            brought: Vec::new(),
            prepare: mask_secrets(request.prepare.unwrap_or_default()),
            twice: request.is_twice,
        }
    }

    /// The two versions, and which files of the copy are not from the commit.
    fn versions(&self, rev: &str, brought: &[String]) -> Result<Versions, AgainstError> {
        Ok(Versions {
            rev: rev.to_owned(),
            commit: self.commit.clone(),
            head: self.head.clone(),
            changes: u32::try_from(self.changed).unwrap_or(u32::MAX),
            brought: brought.to_vec(),
            submodules: self.repository.submodules(&self.commit)?,
        })
    }
}

/// The longest revision behind a runtime's name, in characters.
const LONGEST_LABEL: usize = 24;

/// The copy of one app while it is being made.
struct Copy<'a> {
    found: &'a VersionedApp,
    /// The directory for the copy.
    own: &'a Path,
    request: AgainstRequest<'a>,
    keeper: &'a Keeper,
    /// The user who prepares it; `None`: the one who runs stampede.
    user: Option<User>,
}

impl Copy<'_> {
    /// Makes the copy. Returns it, with the paths that were taken from the working tree.
    fn make(&self, catalogue: &Catalogue) -> Result<(AppChoice, Vec<String>), AgainstError> {
        let prefix = &self.found.repository.prefix;
        let (tree, untracked_paths) = self.tree(|_| true)?;
        let app = tree.join(prefix);
        let settings = self.found.choice.settings.clone();
        let copy_of = Some(self.found.directory.clone());
        let place = AppPlace::Directory(app);
        let choice = AppChoice { place, settings, copy_of, checkouts: Vec::new() };
        catalogue.app(&choice).map_err(|source| match source {
            RuntimeError::NoApp { .. } => {
                let directory = if prefix.as_os_str().is_empty() { "." } else { "" };
                let directory = prefix.join(directory);
                AgainstError::NoApp { rev: self.request.rev.to_owned(), directory }
            }
            other => self.app_error(other),
        })?;
        let shown = |place: &PathBuf| place.display().to_string();
        Ok((choice, untracked_paths.iter().map(shown).collect()))
    }

    /// Makes the copy of the repository's whole tree, prepared as the user asks for. Returns it, with
    /// the paths that were taken from the working tree: those that git does not have, and that `takes`.
    fn tree(&self, takes: impl Fn(&Path) -> bool) -> Result<(PathBuf, Vec<PathBuf>), AgainstError> {
        let Repository { top, prefix, .. } = &self.found.repository;
        // The directory keeps its name, since the app is named after it.
        let tree = self.own.join(top.file_name().unwrap_or("tree".as_ref()));
        private_directory(&tree)?;
        self.found.repository.check_out(&self.found.commit, &self.own.join(".git-index"), &tree)?;
        let app = tree.join(prefix);
        let mut untracked_paths = self.untracked_paths(&app)?;
        untracked_paths.retain(|place| takes(place));
        let bind = self.bind(&app);
        let settings = match bind {
            Some(_) => SettingsPaths::Kept,
            None => SettingsPaths::Rewritten { home: None },
        };
        let brought: Vec<PathBuf> =
            untracked_paths.iter().map(|place| prefix.join(place)).collect();
        copy_some(top, &tree, &brought, settings).map_err(|source| self.app_error(source))?;
        // A setting that names a database file by its full path must lead to the copy's file.
        if bind.is_none() {
            rewrite_settings_paths(&app, top, &tree).map_err(|source| self.app_error(source))?;
        }
        if let Some(command) = self.request.prepare.filter(|_| !self.request.is_dry) {
            let (own, home) = (self.own, &self.found.directory);
            let home = &home.canonicalize().unwrap_or_else(|_| home.clone());
            let user = self.user.as_ref();
            let place = Place { bind, directory: &app, tree: &tree, own, home, user };
            let prepared = place.run(self.keeper, command);
            prepared.map_err(|why| self.unprepared(command, why))?;
        }
        Ok((tree, untracked_paths))
    }

    fn unprepared(&self, command: &str, why: Unprepared) -> AgainstError {
        let (rev, command) = (self.request.rev.to_owned(), command.to_owned());
        match why {
            Unprepared::Command(error) => {
                AgainstError::Unprepared { rev, command, end: error.end, log: error.log }
            }
            Unprepared::LeadsOut(link) => AgainstError::LeadsOut { rev, command, link },
            Unprepared::Unreachable(source) => self.app_error(source),
            Unprepared::Handed(what, source) => {
                AgainstError::Io { what, path: self.own.to_path_buf(), source }
            }
        }
    }

    /// What shows the copy `app` at the working tree's path; `None`: this machine does not allow it.
    fn bind(&self, app: &Path) -> Option<BindMount> {
        let home = self.found.directory.canonicalize().ok().filter(|_| self.keeper.can_bind())?;
        bind_mount(app, &home, self.user.as_ref())
    }

    /// The paths that the app needs and git does not have: all that git ignores (packages,
    /// settings, built files), and settings and packages that are merely untracked. Other new files
    /// belong to the working tree only.
    fn untracked_paths(&self, app: &Path) -> Result<Vec<PathBuf>, AgainstError> {
        let repository = &self.found.repository;
        let is_needed = |place: &PathBuf| {
            let name = place.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(".env") || place.as_path() == Path::new(VENDOR)
        };
        let untracked = repository.untracked()?.into_iter().filter(is_needed);
        let mut untracked_paths: Vec<PathBuf> =
            repository.ignored()?.into_iter().chain(untracked).collect();
        // Files that the other version has in git are its own.
        untracked_paths
            .retain(|place| !is_left_out(place) && fs::symlink_metadata(app.join(place)).is_err());
        untracked_paths.sort();
        untracked_paths.dedup();
        let is_vendor = |place: &PathBuf| place.as_path() == Path::new(VENDOR);
        if untracked_paths.iter().any(is_vendor)
            && let Some(what) = other_packages(&self.found.directory, app)
        {
            if self.request.prepare.is_none() {
                let rev = self.request.rev.to_owned();
                return Err(AgainstError::OtherPackages { rev, what });
            }
            if !self.request.is_dry {
                untracked_paths.retain(|place| !is_vendor(place));
            }
        }
        Ok(untracked_paths)
    }

    fn app_error(&self, source: RuntimeError) -> AgainstError {
        AgainstError::App { rev: self.request.rev.to_owned(), source: Box::new(source) }
    }
}

/// The directory of Composer's packages.
const VENDOR: &str = "vendor";

/// The file that shows that two versions need other packages or have another Composer autoloader;
/// `None`: there is no difference.
fn other_packages(one: &Path, other: &Path) -> Option<&'static str> {
    let lock = |directory: &Path| fs::read(directory.join("composer.lock")).ok();
    // If git ignores the lock file too, it is taken from the working tree, like the installed
    // packages.
    let (a, b) = (lock(one), lock(other));
    if b.is_some() && a != b {
        return Some("composer.lock");
    }
    let said = |directory: &Path| -> Vec<Option<serde_json::Value>> {
        let text = fs::read(directory.join("composer.json")).unwrap_or_default();
        let read: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
        ["require", "autoload"].map(|key| read.get(key).cloned()).to_vec()
    };
    (said(one) != said(other)).then_some("composer.json")
}

fn private_directory(path: &Path) -> Result<(), AgainstError> {
    let io = |source| AgainstError::Io { what: "create", path: path.to_path_buf(), source };
    fs::DirBuilder::new().mode(0o700).create(path).map_err(io)
}
