//! Judges the processes of the machine that are neither part of the stack nor of stampede.
//!
//! On a machine with idle CPUs they do little harm. Where no CPU is idle, what they use is taken from
//! the stack or the generator, and nobody can say from which. Databases and caches are apart: an app
//! uses them, so their time is a part of what a page costs.

use stampede_model::fact::{Machine, ProcessCpus};
use stampede_model::record::Validity;
use stampede_model::sample::{OtherProcess, ResourceSample};

use super::{Evidence, Judgement};

/// What the other processes did: a reason if they disturbed the load, a note if the app may have used
/// them.
pub fn about(evidence: &Evidence<'_>) -> Vec<Judgement> {
    if !evidence.all_watched {
        return Vec::new();
    }
    let allowed = evidence.resources.iter().find_map(|sample| sample.host.allowed);
    let Some(cpus_allowed) = allowed.map(|allowed| allowed.cpus.max(1)) else { return Vec::new() };
    let watched_ns: u64 = evidence.resources.iter().map(|sample| sample.interval_ns).sum();
    let as_cpus = |ns: u64| ns as f64 / watched_ns.max(1) as f64;
    let named =
        |one: &OtherProcess| ProcessCpus { name: one.name.clone(), cpus: as_cpus(one.cpu_ns) };
    let last = evidence.resources.last();
    let others = last.map_or(&[][..], |last| &last.others);
    let engine = last.and_then(|last| last.engine.as_deref()).unwrap_or_default();
    // The engine of the stack's own containers works for it.
    let (own, strange) =
        if evidence.has_containers { (engine, &[][..]) } else { (&[][..], engine) };
    let of_engine: u64 = own.iter().map(|one| one.cpu_ns).sum();
    let mut others: Vec<&OtherProcess> = others.iter().chain(strange).collect();
    others.sort_by_key(|one| std::cmp::Reverse(one.cpu_ns));
    let (services, rest): (Vec<&OtherProcess>, Vec<&OtherProcess>) =
        others.into_iter().partition(|one| SERVICES.contains(&one.name.as_str()));
    let of_services: u64 = services.iter().map(|one| one.cpu_ns).sum();
    let full = evidence.resources.iter().filter(|sample| is_full(sample));
    let taken: u64 = full.map(ResourceSample::others_cpu_ns).sum();
    let weighs = |ns: u64| as_cpus(ns) > SHARE * f64::from(cpus_allowed);
    let mut about: Vec<Judgement> = Vec::new();
    let taken = taken.saturating_sub(of_services + of_engine);
    if weighs(taken) {
        let largest = rest.iter().take(NAMED).map(|one| named(one));
        let largest = largest.filter(|one| one.cpus >= CPUS_MIN).collect();
        let cpus = as_cpus(taken);
        let reason = Machine::OtherProcesses { cpus, cpus_allowed, largest };
        about.push((Validity::Suspect, reason.into()));
    }
    if weighs(of_services) {
        let services = services.iter().map(|one| named(one)).collect();
        about.push((Validity::Valid, Machine::ServicesOutside { services, cpus_allowed }.into()));
    }
    about
}

/// Whether the allowed CPUs had no time left in an interval.
fn is_full(sample: &ResourceSample) -> bool {
    sample.host.allowed.is_some_and(|allowed| {
        let whole = sample.interval_ns as f64 * f64::from(allowed.cpus);
        (allowed.busy_ns + allowed.steal_ns) as f64 > whole * FULL
    })
}

/// The share of the allowed CPUs' time from which other processes are a reason. It is the bound for
/// the effect of schedule lag, too.
const SHARE: f64 = 0.05;
/// The share of its time from which a machine has no idle CPU. Clock ticks of 10 ms are too coarse to
/// ask for all of it.
const FULL: f64 = 0.95;
/// The fewest CPUs that are worth a name: the second decimal is the last that is printed.
const CPUS_MIN: f64 = 0.01;
/// The processes that a reason names.
const NAMED: usize = 3;
/// Names of databases and caches, as the kernel cuts them: at most 15 bytes.
const SERVICES: &[&str] = &[
    "clickhouse-serv",
    "keydb-server",
    "mariadbd",
    "meilisearch",
    "memcached",
    "mongod",
    "mysqld",
    "postgres",
    "redis-server",
    "typesense-serve",
    "valkey-server",
];

#[cfg(test)]
mod tests {
    use stampede_model::sample::{AllowedCpus, RoleSample};

    use super::*;
    use crate::ModelKind;

    /// A second of a machine with two CPUs: what the stack, stampede and the whole machine used, ms.
    fn second(stack: u64, own: u64, busy: u64, others: &[(&str, u64)]) -> ResourceSample {
        let ms = |ms: u64| ms * 1_000_000;
        let role = RoleSample { cpu_ns: ms(stack), ..RoleSample::default() };
        let mut sample = ResourceSample {
            interval_ns: ms(1_000),
            roles: [("php".to_owned(), role)].into(),
            ..ResourceSample::default()
        };
        sample.own.cpu_ns = ms(own);
        let (busy_ns, interrupt_ns) = (ms(busy), ms(20));
        let allowed = AllowedCpus { cpus: 2, busy_ns, interrupt_ns, steal_ns: 0 };
        sample.host.allowed = Some(allowed);
        let other = |(name, used): &(&str, u64)| OtherProcess {
            name: (*name).to_owned(),
            cpu_ns: ms(*used),
        };
        sample.others = others.iter().map(other).collect();
        sample
    }

    fn texts(samples: &[ResourceSample], all_watched: bool) -> Vec<(Validity, String)> {
        let load = crate::tests::load();
        let evidence = Evidence {
            resources: samples,
            all_watched,
            ..crate::tests::evidence(&load, ModelKind::Closed)
        };
        about(&evidence).into_iter().map(|(judged, reason)| (judged, reason.sentence())).collect()
    }

    #[test]
    fn processes_that_take_the_stacks_time_are_named() {
        let starved = [
            second(100, 80, 2_000, &[]),
            second(100, 80, 2_000, &[("cc1plus", 3_000), ("make", 40), ("cron", 4), ("sh", 2)]),
        ];
        let expected = "other processes used 1.80 of 2 CPUs while none was idle (over the whole load cc1plus 1.50, make 0.02); end them, or measure when the machine is quiet";
        assert_eq!(texts(&starved, true), [(Validity::Suspect, expected.to_owned())]);
        assert_eq!(texts(&starved, false), [], "the stack may be among them");
        let ended = texts(&[second(100, 80, 2_000, &[])], true);
        assert!(ended[0].1.starts_with("other processes used 1.80 of 2 CPUs while none was idle;"));
    }

    #[test]
    fn they_are_no_reason_where_a_cpu_is_idle_or_where_they_are_few() {
        assert_eq!(texts(&[second(100, 80, 1_000, &[("cc1plus", 800)])], true), []);
        assert_eq!(texts(&[second(1_100, 800, 2_000, &[("cron", 80)])], true), []);
        let mut samples = vec![second(900, 80, 1_000, &[]); 19];
        samples.push(second(100, 80, 2_000, &[("cc1plus", 1_800)]));
        assert_eq!(texts(&samples, true), [], "one second of twenty");
        assert_eq!(texts(&[], true), []);
    }

    #[test]
    fn the_engine_of_the_stacks_own_containers_does_not_disturb_it() {
        let mut sample = second(900, 80, 2_000, &[("cron", 10)]);
        let cpu_ns = 950_000_000;
        sample.engine = Some(vec![OtherProcess { name: "dockerd".to_owned(), cpu_ns }]);
        let load = crate::tests::load();
        let judged = |has_containers| {
            let resources = std::slice::from_ref(&sample);
            let evidence = crate::tests::evidence(&load, ModelKind::Closed);
            let evidence = Evidence { resources, all_watched: true, has_containers, ..evidence };
            about(&evidence).iter().map(|(_, reason)| reason.sentence()).collect::<Vec<_>>()
        };
        assert_eq!(judged(true), [""; 0]);
        assert!(judged(false)[0].contains("dockerd 0.95"), "{:?}", judged(false));
    }

    #[test]
    fn a_database_is_a_note_and_what_else_there_was_a_reason() {
        let used = [second(900, 80, 2_000, &[("mariadbd", 950), ("cron", 10)])];
        let note = "outside of the stack ran mariadbd 0.95 of 2 CPUs, which CPU per request does not include";
        assert_eq!(texts(&used, true), [(Validity::Valid, note.to_owned())]);
        let both = [second(700, 80, 2_000, &[("postgres", 500), ("chrome", 700)])];
        let judged: Vec<Validity> = texts(&both, true).into_iter().map(|one| one.0).collect();
        assert_eq!(judged, [Validity::Suspect, Validity::Valid]);
    }
}
