//! Starts the containers of a project within the keeper's groups, and waits until it answers.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::SocketAddrV4;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use stampede_compose::container::Container;
use stampede_compose::entrance::Entrance;
use stampede_compose::groups::check_groups;
use stampede_compose::news::{self, News};
use stampede_compose::owner;
use stampede_compose::php_ini::{self, PhpFiles};
use stampede_compose::private::write_private;
use stampede_compose::removal::Leftovers;
use stampede_compose::up::Up;
use stampede_keeper::spec::{ContainersSpec, ProcessSetSpec};
use stampede_linux::cpu_list;
use stampede_plan::model::VolumeState;

use super::ResolvedProject;
use super::build::Builds;
use super::edit::{Edit, Limits};
use super::engine::{Grouping, WayIn};
use super::error::ComposeError;
use super::proof::{Proofs, StackProof};
use super::running;
use super::stack::{ComposeStack, StackParts};
use super::volumes;
use super::way_in::{KnownWays, published, unreached};
use crate::error::RuntimeError;
use crate::locate::SearchPaths;
use crate::placement::Placement;
use crate::process::Supervise;
use crate::process::stack::StackHandle;
use crate::process::working_directory::working_directory;
use crate::provider::Stack;
use crate::spec::{StackSpec, StartPurpose};

/// The names of a stack.
pub(super) struct Names {
    /// The stack's id, which its labels have.
    pub id: String,
    /// The name of its compose project.
    pub project: String,
}

/// What all starts of a run share.
pub(super) struct SharedParts<'a> {
    pub places: &'a SearchPaths,
    pub supervise: &'a Supervise,
    pub builds: &'a mut Builds,
    pub proofs: &'a Proofs,
    pub ways: &'a KnownWays,
}

/// Starts the project of `spec`. If its container is not reached from here, it is started with a published
/// port.
///
/// # Errors
/// The tool or the engine fails, a container ends, or nothing answers.
pub(super) fn start(
    spec: &StackSpec,
    mut shared: SharedParts<'_>,
) -> Result<Box<dyn Stack>, RuntimeError> {
    let row = spec.runtime.name.as_str();
    let Some(mut resolved) = spec.project.clone() else {
        return Err(RuntimeError::External { name: row.to_owned() });
    };
    let known = shared.ways.to(row);
    resolved.engine.way_in = known.unwrap_or(resolved.engine.way_in);
    let first = start_asked(spec, &resolved, &mut shared);
    let first = first.inspect(|_| shared.ways.set(row, resolved.engine.way_in));
    // One that was reached before is in another way now: its trials would not be alike.
    let Err(error) = first else { return first };
    let Some((service, address)) = unreached(&error).filter(|_| known.is_none()) else {
        return Err(error);
    };
    news::tell(&News::Unreached { service, address });
    resolved.engine.way_in = WayIn::PublishedPort;
    match start_asked(spec, &resolved, &mut shared) {
        // It is not reached there either.
        Err(other) if unreached(&other).is_some() => Err(error),
        other => {
            shared.ways.set(row, WayIn::PublishedPort);
            other
        }
    }
}

/// Starts the project. If it does not start with what asks its PHP, it is started without.
fn start_asked<'a>(
    spec: &StackSpec,
    resolved: &ResolvedProject,
    shared: &mut SharedParts<'a>,
) -> Result<Box<dyn Stack>, RuntimeError> {
    let SharedParts::<'a> { places, supervise, proofs, .. } = *shared;
    let builds = &mut *shared.builds;
    let proof = proofs.of(resolved, spec.purpose == StartPurpose::Asked);
    match start_once(spec, resolved, (places, supervise), builds, proof.clone()) {
        Err(error) if proof.may_have_caused(&error) => {
            let without = proofs.of(resolved, false);
            let started = start_once(spec, resolved, (places, supervise), builds, without)?;
            proof.give_up();
            Ok(started)
        }
        other => other,
    }
}

fn start_once(
    spec: &StackSpec,
    resolved: &ResolvedProject,
    (places, supervise): (&SearchPaths, &Supervise),
    builds: &mut Builds,
    mut proof: StackProof,
) -> Result<Box<dyn Stack>, RuntimeError> {
    let runtime = spec.runtime.name.clone();
    let failed = |problem: ComposeError| match stampede_linux::interrupt::is_requested() {
        true => RuntimeError::Interrupted { runtime: runtime.clone() },
        false => RuntimeError::Containers { runtime: runtime.clone(), problem: Box::new(problem) },
    };
    let of_keeper = |source| RuntimeError::Keeper { runtime: runtime.clone(), source };
    let (id, directory, keep) =
        working_directory(places, &spec.app, supervise)?.map_err(of_keeper)?;
    let names = Names { project: owner::project_of(&id), id };
    let mut resolved =
        ResolvedProject { engine: resolved.engine.for_stack(&names.id), ..resolved.clone() };
    let mut images = builds.of(&resolved, &directory).map_err(failed)?.clone();
    let published = published(resolved.engine.way_in, &spec.placement)?;
    let of_services = volumes::images_of(&resolved, &images, &resolved.services());
    let leftovers = Leftovers {
        client: resolved.engine.client,
        project: &names.project,
        stack: &names.id,
        writes_data: resolved.source.volumes == VolumeState::Shared,
        copies: Some(&directory),
        images: &of_services,
    };
    let processes = process_set(&resolved, &leftovers, &directory, &spec.placement);
    let handle = keep.start(&processes).map_err(of_keeper)?;
    owner::own(&resolved.engine, &names.id);
    let code = builds.code(&resolved, (&runtime, &names.id), &directory).map_err(failed)?;
    images.extend(code.images.clone());
    code.remove_mounts(&mut resolved.project);
    let copies = volumes::copy_paths(&resolved, &names.id, &directory, &images).map_err(failed)?;
    let lacks_group = |name: &String| handle.container_group(name).is_none();
    if let Grouping::OneBudget(_) = resolved.engine.grouping
        && resolved.services().iter().any(lacks_group)
    {
        resolved.engine.grouping = Grouping::PerService;
    }
    let begun = Instant::now();
    let starting = Starting {
        resolved: &resolved,
        names: &names,
        directory: &directory,
        handle: handle.as_ref(),
    };
    let entrance = starting.up(&spec.placement, &images, &copies, published, &mut proof);
    let (containers, entrance) = entrance.map_err(failed)?;
    let (code, groups) = (code.services, starting.groups());
    let parts = StackParts { names, directory, handle, containers, entrance, proof, code, groups };
    let stack = ComposeStack::new(spec, resolved.clone(), parts);
    Ok(Box::new(stack.ready(begun)?))
}

/// The stack's groups, and what removes its containers.
fn process_set(
    resolved: &ResolvedProject,
    leftovers: &Leftovers<'_>,
    directory: &Path,
    placement: &Placement,
) -> ProcessSetSpec {
    ProcessSetSpec {
        id: leftovers.stack.to_owned(),
        work: directory.to_owned(),
        in_memory: Vec::new(),
        bind: None,
        cpus: placement.cpus.clone(),
        cpus_by_role: placement.cpus_by_role.clone(),
        cpu_quota: placement.cpu_quota,
        memory_bytes: placement.memory_bytes,
        processes: Vec::new(),
        containers: Some(ContainersSpec {
            roles: resolved.services(),
            groups: resolved.engine.grouping.maker(),
            removal: leftovers.removal(),
        }),
        first: 0,
    }
}

/// A stack whose groups exist.
struct Starting<'a> {
    resolved: &'a ResolvedProject,
    names: &'a Names,
    directory: &'a Path,
    handle: &'a dyn StackHandle,
}

impl Starting<'_> {
    /// Writes the edited project and lets the tool start it.
    fn up(
        &self,
        placement: &Placement,
        images: &BTreeMap<String, String>,
        copies: &BTreeMap<PathBuf, PathBuf>,
        published: Option<SocketAddrV4>,
        proof: &mut StackProof,
    ) -> Result<(Vec<Container>, Entrance), ComposeError> {
        let ResolvedProject { engine, project, target, source, env, .. } = self.resolved;
        let groups = self.groups();
        let replaced = volumes::settle(self.resolved, self.names, images)?;
        let file = self.directory.join("compose.json");
        let unwritten = |error: io::Error| ComposeError::unwritten(&file, &error);
        let php = self.php_files(images, proof).map_err(unwritten)?;
        let edit = Edit {
            stack: &self.names.id,
            log_driver: engine.kind.log_driver(),
            groups: &groups,
            limits: &limits(placement),
            beside: &source.beside,
            cpus_beside: &placement.beside,
            images,
            env,
            volumes: &replaced,
            copies,
            published: published.map(|place| (target, place)),
            php: &php,
        };
        let names = (self.names.project.as_str(), self.names.id.as_str());
        let up = Up::of(engine, edit.apply(project), names, self.directory).to(&target.service);
        write_private(&file, &up.document.to_string()).map_err(unwritten)?;
        fs::DirBuilder::new().mode(0o700).create(self.directory.join("logs")).map_err(unwritten)?;
        up.run(engine, &file, &project.directory)?;
        let containers = Container::all(engine, &self.names.id)?;
        check_groups(&containers, &groups)?;
        running::place(engine.grouping, &containers, &source.beside, placement);
        let entrance = Entrance::find(target, &containers, published)?;
        Ok((containers, entrance))
    }

    /// What the PHP of the services reads beside its own files.
    fn php_files(
        &self,
        images: &BTreeMap<String, String>,
        proof: &mut StackProof,
    ) -> io::Result<BTreeMap<String, PhpFiles>> {
        let ResolvedProject { engine, project, php_ini, env, .. } = self.resolved;
        if php_ini.is_empty() && !proof.asks() {
            return Ok(BTreeMap::new());
        }
        let mut files = PhpFiles::of(engine, project, &self.resolved.services(), images, env);
        php_ini::add_values(&mut files, php_ini, self.directory)?;
        proof.prepare(&mut files, self.directory)?;
        Ok(files)
    }

    /// The group of each service, where the engine uses them.
    fn groups(&self) -> BTreeMap<String, PathBuf> {
        match self.resolved.engine.grouping {
            Grouping::PerService | Grouping::CpusAlone => BTreeMap::new(),
            Grouping::OneBudget(_) => {
                let services = self.resolved.services().into_iter();
                services
                    .filter_map(|name| Some((name.clone(), self.handle.container_group(&name)?)))
                    .collect()
            }
        }
    }
}

/// The limits of each service, where services share no group.
fn limits(placement: &Placement) -> Limits {
    Limits {
        cpus: cpu_list::format(&placement.cpus),
        cpu_quota: placement.cpu_quota.map(|cpus| f64::from(cpus.thousandths()) / 1_000.0),
        memory_bytes: placement.memory_bytes,
    }
}
