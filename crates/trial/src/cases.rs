//! Builds the cases of a plan and the order of their trials, and checks what must hold before any
//! trial starts.

use std::ffi::OsStr;

use stampede_model::fact::{Fact, Notice, Reason, RequestFile, Server, Unfit};
use stampede_model::load::{Model, Until};
use stampede_model::schedule::Segments;
use stampede_model::time::Nanos;
use stampede_model::words;
use stampede_plan::model::{
    AppChoice, AppPlace, KeepAlive, LoadChoice, Plan, RequestSpec, RuntimeChoice, Starts,
};
use stampede_plan::parts::{SearchPlan, StackPlan};

use stampede_stack::{HeldBy, RuntimeTraits};

/// One runtime × app × load, as indices into the plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Index in `StackPlan::runtimes`.
    pub runtime: usize,
    /// Index in the plan's apps.
    pub app: usize,
    /// Index in `Plan::loads`.
    pub load: usize,
    /// Index of the number of CPUs in the plan's budget; 0 where there is only one.
    pub cpus: usize,
    /// Why the case is not measured at all; `None`: it is measured.
    pub refused: Option<Fact<Reason>>,
}

impl Case {
    /// Whether both cases need the same stack, so that they differ in their load alone.
    pub fn has_the_stack_of(&self, other: &Case) -> bool {
        (self.runtime, self.app, self.cpus) == (other.runtime, other.app, other.cpus)
    }
}

/// Every case of the plan, ordered by app, then load, then runtime, as a reader compares them.
pub fn cases(plan: &Plan) -> Vec<Case> {
    let mut cases = Vec::new();
    for app in 0..plan.stack.apps.choices.len() {
        for (load, choice) in plan.loads.iter().enumerate() {
            let wanted = plan.stack.runtimes.iter().enumerate().filter(|(_, runtime)| {
                let name = &runtime.name;
                (choice.only.is_empty() || choice.only.contains(name))
                    && !choice.except.contains(name)
            });
            for (runtime, _) in wanted {
                let case = |cpus| Case { runtime, app, load, cpus, refused: None };
                cases.extend((0..cpu_counts(&plan.stack, runtime)).map(case));
            }
        }
    }
    cases
}

/// The number of CPU counts that a runtime is measured with. An external runtime has its own CPUs:
/// one case.
fn cpu_counts(stack: &StackPlan, runtime: usize) -> usize {
    if stack.runtimes[runtime].is_external() { 1 } else { stack.budget.cpu_counts().len() }
}

/// Settles `keep_alive: auto` for each load, the same for all its runtimes, and refuses cases that
/// kept connections would not suit. Returns notices for the reader.
pub fn settle_keep_alive(
    plan: &mut Plan,
    cases: &mut [Case],
    traits: &[RuntimeTraits],
) -> Vec<Notice> {
    let mut notices = Vec::new();
    let runtimes = &plan.stack.runtimes;
    for (index, load) in plan.loads.iter_mut().enumerate() {
        let (name, connections) = (load.name.as_str(), connections(load));
        let of_load = OpenConnections { load: index, name, connections, runtimes, traits };
        notices.extend(of_load.settle(&mut load.client.keep_alive, cases));
    }
    notices
}

/// As [`settle_keep_alive`], for the one load of a search.
pub fn settle_keep_alive_of_search(
    plan: &mut SearchPlan,
    cases: &mut [Case],
    traits: &[RuntimeTraits],
) -> Option<Notice> {
    let (load, runtimes) = (&mut plan.load, &plan.stack.runtimes);
    let (name, connections) = (load.name.as_str(), load.max_in_flight);
    let of_load = OpenConnections { load: 0, name, connections, runtimes, traits };
    of_load.settle(&mut load.client.keep_alive, cases)
}

/// The connections that a load may have open at once, and the runtimes that have to hold them.
struct OpenConnections<'a> {
    /// The load's number, as in [`Case::load`].
    load: usize,
    name: &'a str,
    connections: u32,
    runtimes: &'a [RuntimeChoice],
    traits: &'a [RuntimeTraits],
}

impl OpenConnections<'_> {
    fn settle(&self, keep_alive: &mut KeepAlive, cases: &mut [Case]) -> Option<Notice> {
        let unfits: Vec<(usize, Unfit)> = (0..cases.len())
            .filter(|&case| cases[case].load == self.load && cases[case].refused.is_none())
            .filter_map(|case| {
                let traits = &self.traits[cases[case].runtime];
                Some((case, keep_alive_problem(traits, self.connections)?))
            })
            .collect();
        let kept = *keep_alive;
        *keep_alive = match kept {
            KeepAlive::Auto if unfits.is_empty() => KeepAlive::On,
            KeepAlive::Auto => KeepAlive::Off,
            given => given,
        };
        let &(first, unfit) = unfits.first()?;
        match kept {
            KeepAlive::Auto => {
                let runtime = self.runtimes[cases[first].runtime].name.clone();
                return Some(Notice::KeepAliveOff { load: self.name.to_owned(), runtime, unfit });
            }
            KeepAlive::On => unfits.iter().for_each(|&(case, unfit)| {
                cases[case].refused = Some(Server::KeepAliveUnfit { unfit }.into());
            }),
            KeepAlive::Off => {}
        }
        None
    }
}

/// Why kept connections do not suit a runtime; `None`: they do.
fn keep_alive_problem(traits: &RuntimeTraits, connections: u32) -> Option<Unfit> {
    let starves = traits.held_by == HeldBy::Connection && connections > traits.workers;
    match traits {
        RuntimeTraits { workers, .. } if starves => {
            Some(Unfit::Starves { workers: *workers, connections })
        }
        RuntimeTraits { closes: true, .. } => Some(Unfit::Closes {}),
        _ => None,
    }
}

/// The notice that the plan's lengths were scaled; `None`: the plan's own lengths hold.
pub fn scaling_notice(plan: &Plan) -> Option<Notice> {
    let scale = plan.time_scale;
    (scale != 1.0).then_some(Notice::TimeScale { scale })
}

/// The notice that loads share a start; `None`: each has one of its own.
pub fn start_shared_notice(plan: &Plan) -> Option<Notice> {
    let loads: Vec<String> = plan.loads.iter().map(|load| load.name.clone()).collect();
    let is_shared = plan.starts == Starts::PerRound && loads.len() > 1;
    is_shared.then_some(Notice::StartShared { loads })
}

/// The number of connections that a load may have open at once.
pub fn connections(load: &LoadChoice) -> u32 {
    match &load.model {
        Model::Open { max_in_flight, .. } => *max_in_flight,
        Model::Closed { concurrency, .. } => *concurrency,
    }
}

/// The length of a load; `None`: only its number of requests is known.
pub fn length(model: &Model) -> Option<Nanos> {
    match model {
        Model::Open { schedule, .. } => Some(schedule.length()),
        Model::Closed { until: Until::For(length), .. } => Some(*length),
        Model::Closed { until: Until::Requests(_), .. } => None,
    }
}

/// How long a load takes; of one that ends after a number of requests, a guess: each answer takes
/// [`ANSWER_GUESS`] of one of two CPUs.
pub fn length_or_guess(model: &Model) -> Nanos {
    match model {
        Model::Closed { concurrency, until: Until::Requests(requests) } => {
            let at_once = u64::from((*concurrency).clamp(1, 2));
            Nanos(requests.saturating_mul(ANSWER_GUESS.0) / at_once)
        }
        other => length(other).unwrap_or(Nanos(0)),
    }
}

/// What a page of a framework takes.
pub const ANSWER_GUESS: Nanos = Nanos::from_millis(5);

/// The schedule of a load; `None`: the load's model is closed.
pub fn schedule(model: &Model) -> Option<Segments> {
    match model {
        Model::Open { schedule, .. } => Some(schedule.clone()),
        Model::Closed { .. } => None,
    }
}

/// What a load sends, in words. For a rate that is not known yet: its share of the baseline's peak.
pub fn load_words(load: &LoadChoice) -> String {
    match load.rate_share {
        Some(share) => {
            let length = length(&load.model).unwrap_or(Nanos(0)).as_secs_f64();
            format!("{:.0} % of the baseline's peak, for {length} s", share * 100.0)
        }
        None => load_text(&load.model),
    }
}

/// A load in words: its schedule, or how many requests are in flight at a time.
pub fn load_text(model: &Model) -> String {
    match model {
        Model::Open { schedule, .. } if schedule.segments().len() > SEGMENTS_SHOWN => format!(
            "{} at up to {} per second, for {} s",
            count_with_noun(schedule.planned(), "request"),
            schedule.max_rate(),
            schedule.length().as_secs_f64()
        ),
        Model::Open { schedule, .. } => schedule.to_string(),
        Model::Closed { concurrency, until } => {
            let at_a_time =
                format!("{} at a time, no pause", words::count(u64::from(*concurrency)));
            match until {
                Until::For(length) => format!("{at_a_time}, for {} s", length.as_secs_f64()),
                Until::Requests(u64::MAX) => format!("{at_a_time}, to the end of the request file"),
                Until::Requests(requests) => {
                    format!("{at_a_time}, {}", count_with_noun(*requests, "request"))
                }
            }
        }
    }
}

/// Most segments of a schedule in a text. One that was recorded may have thousands.
const SEGMENTS_SHOWN: usize = 100;

/// A count with its noun: `1 request`, `1 200 requests`.
fn count_with_noun(count: u64, thing: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", words::count(count))
}

/// The order of the trials, in randomized complete blocks: each round has every case once, in an
/// order of its own from the stored seed (Abedi and Brecht, ICPE 2017). Refused cases are left out.
/// Loads that share a start stay together, in the plan's order.
pub fn order(cases: &[Case], rounds: u32, seed: u64, starts: Starts) -> Vec<Vec<usize>> {
    let mut random = fastrand::Rng::with_seed(seed);
    let measured = (0..cases.len()).filter(|&case| cases[case].refused.is_none());
    let mut by_start: Vec<Vec<usize>> = Vec::new();
    for case in measured {
        let earlier = by_start.iter_mut().find(|start| {
            starts == Starts::PerRound && cases[start[0]].has_the_stack_of(&cases[case])
        });
        match earlier {
            Some(start) => start.push(case),
            None => by_start.push(vec![case]),
        }
    }
    (0..rounds)
        .map(|_| {
            let mut round = by_start.clone();
            random.shuffle(&mut round);
            round.concat()
        })
        .collect()
}

/// Extends the order to `to` rounds. The existing rounds stay as they are, with their repeated
/// trials.
pub fn extend_order(
    cases: &[Case],
    rounds: &[Vec<usize>],
    to: u32,
    (seed, starts): (u64, Starts),
) -> Vec<Vec<usize>> {
    let more = order(cases, to, seed, starts).into_iter().skip(rounds.len());
    rounds.iter().cloned().chain(more).collect()
}

/// The notice about the sites whose recorded URLs are requested from the plan's apps; `None`: there
/// are none.
pub fn recorded_sites_notice<'a>(
    requests: impl IntoIterator<Item = &'a RequestSpec>,
) -> Option<Notice> {
    let requests = requests.into_iter();
    let mut sites: Vec<&str> = requests.filter_map(|request| request.site.as_deref()).collect();
    sites.sort_unstable();
    sites.dedup();
    let sites: Vec<String> = sites.into_iter().map(str::to_owned).collect();
    (!sites.is_empty()).then_some(Notice::OtherSites { sites })
}

/// What was taken of the request files of the loads.
pub fn request_file_notices<'a>(
    files: impl IntoIterator<Item = &'a Option<RequestFile>>,
) -> impl Iterator<Item = Notice> {
    files.into_iter().flatten().cloned().map(Notice::RequestFile)
}

/// An app's name in tables.
pub fn app_name(app: &AppChoice) -> String {
    let directory = match &app.place {
        AppPlace::Named(name) => return name.clone(),
        AppPlace::Provided => return "app".to_owned(),
        AppPlace::Directory(directory) => directory,
    };
    // `.` and `..` have no file name: their real path has one.
    let real = || directory.canonicalize().ok();
    let named = directory.file_name().map(OsStr::to_owned);
    let named = named.or_else(|| real()?.file_name().map(OsStr::to_owned));
    named
        .map_or_else(|| directory.display().to_string(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use stampede_plan::{Overrides, from_flags};

    use super::*;

    /// Two runtimes with `workers` each; a connection to the second holds a worker.
    fn case(flags: Overrides, workers: u32) -> (Plan, Vec<Case>, Vec<RuntimeTraits>) {
        let flags =
            Overrides { app: Some("hello".to_owned()), runtimes: Some("a,b".to_owned()), ..flags };
        let plan = from_flags(&flags).expect("a plan");
        let cases = cases(&plan);
        let by = |held_by| RuntimeTraits { held_by, workers, closes: false, custom_build: None };
        (plan, cases, vec![by(HeldBy::Request), by(HeldBy::Connection)])
    }

    fn concurrency(concurrency: &str, keep_alive: &str) -> Overrides {
        Overrides {
            concurrency: Some(concurrency.to_owned()),
            for_: Some("1s".to_owned()),
            keep_alive: Some(keep_alive.to_owned()),
            ..Overrides::default()
        }
    }

    #[test]
    fn an_external_runtime_is_one_case_for_all_cpu_counts() {
        let flags = Overrides {
            app: Some("hello".to_owned()),
            runtimes: Some("a,external:http://127.0.0.1:1".to_owned()),
            cpus: Some("1,2".to_owned()),
            ..concurrency("1", "auto")
        };
        let plan = from_flags(&flags).expect("a plan");
        let cases = cases(&plan);
        let shown: Vec<_> = cases.iter().map(|case| (case.runtime, case.cpus)).collect();
        assert_eq!(shown, [(0, 0), (0, 1), (1, 0)]);
    }

    #[test]
    fn connections_are_kept_where_there_are_enough_workers() {
        let (mut plan, mut cases, traits) = case(concurrency("4", "auto"), 4);
        assert!(settle_keep_alive(&mut plan, &mut cases, &traits).is_empty());
        assert_eq!(plan.loads[0].client.keep_alive, KeepAlive::On);
        assert!(cases.iter().all(|case| case.refused.is_none()));
    }

    #[test]
    fn with_more_connections_than_workers_no_runtime_keeps_connections() {
        let (mut plan, mut cases, traits) = case(concurrency("5", "auto"), 4);
        let notices = settle_keep_alive(&mut plan, &mut cases, &traits);
        assert_eq!(plan.loads[0].client.keep_alive, KeepAlive::Off);
        let Notice::KeepAliveOff { runtime, unfit, .. } = &notices[0] else {
            panic!("{notices:?}")
        };
        assert_eq!(
            (runtime.as_str(), *unfit),
            ("b", Unfit::Starves { workers: 4, connections: 5 })
        );
        assert!(cases.iter().all(|case| case.refused.is_none()));
    }

    #[test]
    fn forced_keep_alive_refuses_only_the_case_whose_connections_would_starve() {
        let (mut plan, mut cases, traits) = case(concurrency("5", "on"), 4);
        assert!(settle_keep_alive(&mut plan, &mut cases, &traits).is_empty());
        let refused: Vec<bool> = cases.iter().map(|case| case.refused.is_some()).collect();
        assert_eq!(refused, [false, true]);
        assert_eq!(order(&cases, 2, 1, Starts::PerLoad), [[0], [0]], "a refused case has no trial");
    }

    #[test]
    fn a_runtime_that_closes_every_connection_has_only_cases_without_keep_alive() {
        let (mut plan, mut cases, mut traits) = case(concurrency("1", "auto"), 4);
        traits[0].closes = true;
        let notices = settle_keep_alive(&mut plan, &mut cases, &traits);
        assert_eq!(plan.loads[0].client.keep_alive, KeepAlive::Off);
        let Notice::KeepAliveOff { runtime, unfit, .. } = &notices[0] else {
            panic!("{notices:?}")
        };
        assert_eq!((runtime.as_str(), *unfit), ("a", Unfit::Closes {}));

        let (mut plan, mut cases, _) = case(concurrency("1", "on"), 4);
        settle_keep_alive(&mut plan, &mut cases, &traits);
        let refused = cases[0].refused.as_ref().map(Fact::sentence);
        let said = "it closes every connection after its answer; use `keep_alive: false` or `front: nginx`";
        assert_eq!(refused.as_deref(), Some(said));
        assert!(cases[1].refused.is_none());
    }

    #[test]
    fn loads_that_share_a_start_follow_one_another_in_the_plans_order() {
        let case = |load, runtime| Case { runtime, app: 0, load, cpus: 0, refused: None };
        // As `cases` makes them: by load, then by runtime.
        let mut cases: Vec<Case> =
            (0..3).flat_map(|load| (0..4).map(move |runtime| case(load, runtime))).collect();
        cases[5].refused = Some(Server::KeepAliveUnfit { unfit: Unfit::Closes {} }.into());
        let rounds = order(&cases, 4, 7, Starts::PerRound);
        for round in &rounds {
            let mut all = round.clone();
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11], "each once, but the refused one");
            let stacks: Vec<&[usize]> =
                round.chunk_by(|a, b| cases[*a].has_the_stack_of(&cases[*b])).collect();
            assert_eq!(stacks.len(), 4, "one start each: {round:?}");
            assert!(stacks.iter().all(|stack| stack.is_sorted_by_key(|&case| cases[case].load)));
        }
        assert!(rounds.iter().any(|round| *round != rounds[0]), "the runtimes are shuffled");
    }

    #[test]
    fn every_round_has_every_case_once_in_an_order_of_its_own() {
        let case = |runtime| Case { runtime, app: 0, load: 0, cpus: 0, refused: None };
        let cases: Vec<Case> = (0..8).map(case).collect();
        let rounds = order(&cases, 3, 7, Starts::PerLoad);
        assert_eq!(rounds, order(&cases, 3, 7, Starts::PerLoad), "the seed decides");
        assert_ne!(rounds[0], rounds[1]);
        let mut repeated = rounds.clone();
        repeated[1].push(4);
        let grown = extend_order(&cases, &repeated, 5, (7, Starts::PerLoad));
        assert_eq!(grown[..3], repeated, "what was measured stays");
        assert_eq!(
            grown[3..],
            order(&cases, 5, 7, Starts::PerLoad)[3..],
            "as if five had been planned"
        );
        for mut round in rounds {
            round.sort_unstable();
            assert_eq!(round, (0..8).collect::<Vec<_>>());
        }
    }
}
