//! What `stampede doctor` says of the container engine: which one answers, how its containers get a
//! budget, and how requests reach them.

use serde::Serialize;
use stampede_compose::ComposeError;
use stampede_compose::engine::{Engine, Grouping, WayIn};
use stampede_keeper::spec::GroupMaker;

use super::in_engine;

/// The engine of this machine, in words.
#[derive(Serialize)]
pub(super) struct EngineView {
    /// Name and version. `None`: none can be measured.
    engine: Option<String>,
    /// The compose tool. `None`: there is none.
    compose: Option<String>,
    /// How containers get their limits.
    budget: Option<&'static str>,
    /// How requests reach a container.
    way_in: Option<&'static str>,
    /// What is missing, and how to get it.
    problems: Vec<Problem>,
}

/// What keeps containers from being measured.
#[derive(Serialize)]
struct Problem {
    what: String,
    fix: Option<String>,
}

impl Problem {
    fn of(error: &ComposeError) -> Problem {
        Problem { what: error.to_string(), fix: error.hint() }
    }
}

impl EngineView {
    /// Asks the engine.
    pub fn look() -> EngineView {
        match Engine::find() {
            Err(ComposeError::EngineHidden { system }) if in_engine::has_image() => {
                EngineView::in_machine(&system)
            }
            found => EngineView::of(found, Engine::with_compose),
        }
    }

    /// An engine in a virtual machine, where stampede runs too.
    fn in_machine(system: &str) -> EngineView {
        EngineView {
            engine: Some(format!("in a virtual machine ({system})")),
            compose: Some(format!("that of `{}`", in_engine::IMAGE)),
            budget: Some("as `doctor` says there: stampede runs in the engine's machine"),
            way_in: Some(
                "to the container's own address, from a container of `stampede:all` beside it",
            ),
            problems: Vec::new(),
        }
    }

    fn of(
        found: Result<Engine, ComposeError>,
        with_compose: impl FnOnce(Engine) -> Result<Engine, ComposeError>,
    ) -> EngineView {
        let engine = match found {
            Ok(engine) => engine,
            Err(error) => {
                let problems = vec![Problem::of(&error)];
                return EngineView {
                    engine: None,
                    compose: None,
                    budget: None,
                    way_in: None,
                    problems,
                };
            }
        };
        let (name, budget, way_in) =
            (engine.version.clone(), budget(engine.grouping), way_in(engine.way_in));
        let compose = with_compose(engine);
        let problems = compose.as_ref().err().map(Problem::of).into_iter().collect();
        EngineView {
            engine: Some(name),
            compose: compose.ok().map(|engine| engine.compose_version),
            budget: Some(budget),
            way_in: Some(way_in),
            problems,
        }
    }

    /// Names with what is to be said of each.
    pub fn rows(&self) -> Vec<(&'static str, &str)> {
        let rows = [
            ("engine", self.engine.as_deref()),
            ("compose", self.compose.as_deref()),
            ("budget", self.budget),
            ("requests go", self.way_in),
        ];
        let known = rows.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let problems = self.problems.iter().flat_map(|problem| {
            let fix = problem.fix.as_deref().map(|fix| ("fix", fix));
            [("not here", problem.what.as_str())].into_iter().chain(fix)
        });
        known.chain(problems).collect()
    }
}

fn budget(grouping: Grouping) -> &'static str {
    match grouping {
        Grouping::OneBudget(GroupMaker::Keeper) => {
            "one for all containers of a stack, by a group of stampede's own"
        }
        Grouping::OneBudget(GroupMaker::Systemd) => {
            "one for all containers of a stack, by a slice of systemd"
        }
        Grouping::PerService => "each container has limits of its own",
        Grouping::CpusAlone => "CPUs alone: this engine limits no memory (no root, no cgroups)",
    }
}

fn way_in(way: WayIn) -> &'static str {
    match way {
        WayIn::ContainerAddress => "to the container's own address",
        WayIn::PublishedPort => "to a port on 127.0.0.1, through a proxy of the engine",
    }
}

#[cfg(test)]
mod tests {
    use stampede_compose::client::Client;
    use stampede_compose::engine::EngineKind;

    use super::*;

    fn engine(grouping: Grouping, way_in: WayIn) -> Engine {
        Engine {
            client: Client::Docker,
            kind: EngineKind::Docker,
            version: "Docker 28.2.2".to_owned(),
            architecture: "amd64".to_owned(),
            grouping,
            way_in,
            compose: Vec::new(),
            compose_version: String::new(),
            stack: None,
        }
    }

    #[test]
    fn an_engine_is_shown_with_what_applies() {
        let compose = |engine: Engine| {
            Ok(Engine { compose_version: "Docker Compose version v2.26".to_owned(), ..engine })
        };
        let of = |grouping, way_in| EngineView::of(Ok(engine(grouping, way_in)), compose);
        let seen = of(Grouping::OneBudget(GroupMaker::Systemd), WayIn::ContainerAddress);
        let names: Vec<&str> = seen.rows().iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["engine", "compose", "budget", "requests go"]);
        assert!(seen.rows()[2].1.contains("slice"), "{:?}", seen.rows());
        let seen = of(Grouping::PerService, WayIn::PublishedPort);
        assert!(seen.rows()[2].1.contains("of its own"), "{:?}", seen.rows());
        assert!(seen.rows()[3].1.contains("proxy"), "{:?}", seen.rows());
    }

    #[test]
    fn what_is_missing_is_shown_with_what_to_do() {
        let none = EngineView::of(Err(ComposeError::NoEngine {}), Ok);
        let names: Vec<&str> = none.rows().iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["not here", "fix"]);
        for (client, packages) in [("podman", "podman-compose"), ("docker", "docker.io")] {
            let missing = EngineView::of(Err(ComposeError::EngineMissing { client }), Ok);
            let [(_, what), (fix, how)] = missing.rows()[..] else { panic!("two rows") };
            assert!(what.contains(client) && what.contains("STAMPEDE_ENGINE"), "{what}");
            assert!(fix == "fix" && how.contains(packages) && how.contains("unset"), "{how}");
        }
        let unknown = ComposeError::NoSuchEngine { given: "containerd".to_owned() };
        assert_eq!(EngineView::of(Err(unknown), Ok).rows().len(), 2);
        let here = engine(Grouping::PerService, WayIn::ContainerAddress);
        let no_tool = EngineView::of(Ok(here), |_| Err(ComposeError::NoTool { client: "docker" }));
        let names: Vec<&str> = no_tool.rows().iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["engine", "budget", "requests go", "not here", "fix"]);
    }
}
