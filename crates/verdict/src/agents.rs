//! Judges a load that several agents sent together.

use stampede_model::agents::{AGENT_HERE, AgentRecord, Median};
use stampede_model::fact::{Fact, Generator, Reason};
use stampede_model::record::Validity;
use stampede_monitor::machine;

use crate::Judgement;

/// What is wrong with the agents of a load, the worst first.
///
/// - An agent that was lost, or whose requests do not add up, makes the trial invalid: only a part of
///   the load was sent.
/// - Suspect is an agent whose machine disturbed it, by the bounds for this machine; a start that is not known to within 1 ms and 5 % of the median service time, and
///   medians that differ by more than 5 % although their intervals do not overlap.
pub fn about_agents(agents: &[AgentRecord]) -> Vec<Judgement> {
    let lost = agents.iter().filter_map(|one| {
        let (agent, loss) = (one.name.clone(), one.loss.clone()?);
        Some(Generator::AgentLost { agent, loss })
    });
    let miscounted = agents.iter().filter(|one| one.miscounted).map(|one| {
        let (agent, planned) = (one.name.clone(), one.planned);
        Generator::AgentMiscounted { agent, planned, expected: one.expected }
    });
    let invalid = lost.chain(miscounted).map(|reason| (Validity::Invalid, Fact::from(reason)));
    let late = agents.iter().filter_map(late_start);
    let disturbed = agents.iter().filter_map(disturbed);
    let suspect = disturbed
        .chain(late)
        .chain(different(agents))
        .map(|reason| (Validity::Suspect, reason.into()));
    invalid.chain(suspect).collect::<Vec<(Validity, Fact<Reason>)>>()
}

/// What disturbed an agent on another machine. What disturbs this one is said of it already.
fn disturbed(agent: &AgentRecord) -> Option<Generator> {
    let seen = agent.machine.as_ref().filter(|_| !agent.name.starts_with(AGENT_HERE))?;
    let steal_share = Some(seen.steal_share).filter(|share| *share > machine::STEAL_MAX);
    let source = Some(&seen.clock_source).filter(|source| !source.is_empty());
    let slow_clock = source.filter(|source| !machine::reads_without_a_system_call(source));
    let slow_clock = slow_clock.cloned();
    let throttled_ns = Some(seen.throttled_ns).filter(|ns| *ns > 0);
    let is_disturbed = steal_share.is_some() || throttled_ns.is_some() || slow_clock.is_some();
    let agent = agent.name.clone();
    is_disturbed.then_some(Generator::AgentMachine { agent, steal_share, throttled_ns, slow_clock })
}

fn late_start(agent: &AgentRecord) -> Option<Generator> {
    let error_ns = agent.start?.error;
    let median = agent.service_time_p50.map_or(0, |median| median.median);
    let most = START_ERROR_MAX_NS.max((median as f64 * START_SHARE) as u64);
    (error_ns > most).then(|| Generator::AgentStart { agent: agent.name.clone(), error_ns })
}

/// The two agents whose medians lie farthest apart, if that is not by chance.
fn different(agents: &[AgentRecord]) -> Option<Generator> {
    let compared = || agents.iter().filter(|agent| agent.comparable);
    let medians = || compared().filter_map(|agent| Some((agent, agent.service_time_p50?)));
    let (slowest, slow) = medians().max_by_key(|(_, median)| median.median)?;
    let (fastest, fast) = medians().min_by_key(|(_, median)| median.median)?;
    are_different(slow, fast).then(|| Generator::AgentsDiffer {
        slowest: slowest.name.clone(),
        slowest_median_ns: slow.median,
        fastest: fastest.name.clone(),
        fastest_median_ns: fast.median,
    })
}

fn are_different(slow: Median, fast: Median) -> bool {
    let differ = slow.median as f64 > fast.median as f64 * (1.0 + MEDIAN_SHARE);
    differ && slow.low > fast.high
}

/// A start is known well enough within this time.
const START_ERROR_MAX_NS: u64 = 1_000_000;
/// Or within this share of the median service time, if that is more.
const START_SHARE: f64 = 0.05;
/// Medians of agents may differ by this share.
const MEDIAN_SHARE: f64 = 0.05;

#[cfg(test)]
mod tests {
    use stampede_model::agents::{AgentMachine, AgentStart, Loss};

    use super::*;

    fn agent(name: &str, median: u64, reach: u64, error: u64) -> AgentRecord {
        AgentRecord {
            name: name.to_owned(),
            host: String::new(),
            expected: Some(10),
            planned: 10,
            ok: 10,
            failed: 0,
            dropped: 0,
            service_time_p50: Some(Median { median, low: median - reach, high: median + reach }),
            service_time_p95: None,
            service_time_p99: None,
            comparable: true,
            busy_share: 0.1,
            start: Some(AgentStart { offset: 0, error, round_trip: 2 * error, drift_ppm: None }),
            machine: None,
            loss: None,
            miscounted: false,
        }
    }

    fn judged(agents: &[AgentRecord]) -> Vec<(Validity, String)> {
        let sentences = about_agents(agents).into_iter();
        sentences.map(|(validity, fact)| (validity, fact.sentence())).collect()
    }

    #[test]
    fn agents_that_agree_are_fine() {
        assert_eq!(judged(&[]), []);
        let agents = [agent("a", 1_000_000, 0, 900_000), agent("b", 1_050_000, 0, 10)];
        assert_eq!(judged(&agents), []);
        // 6 % apart, by chance.
        assert_eq!(judged(&[agent("a", 1_000, 40, 0), agent("b", 1_060, 40, 0)]), []);
        // 5 % of 100 ms is more than 1 ms.
        assert_eq!(judged(&[agent("a", 100_000_000, 0, 4_900_000)]), []);
        // One sends the cheap entries of a file and the other the dear ones.
        let of_file = |name, median| AgentRecord { comparable: false, ..agent(name, median, 0, 0) };
        assert_eq!(judged(&[of_file("a", 1_000), of_file("b", 9_000)]), []);
    }

    #[test]
    fn a_machine_that_disturbs_its_agent_is_suspect() {
        let with = |name, steal_share, throttled_ns, clock: &str| {
            let machine =
                AgentMachine { steal_share, throttled_ns, clock_source: clock.to_owned() };
            judged(&[AgentRecord { machine: Some(machine), ..agent(name, 1_000, 0, 0) }])
        };
        assert_eq!(with("load1", 0.009, 0, "kvm-clock"), []);
        assert_eq!(with("load1", 0.0, 0, ""), []);
        let suspect = |text: &str| [(Validity::Suspect, text.to_owned())];
        let all = "agent load1 was disturbed: its host took 12.0 % of the CPU time away (steal); a CPU quota held it \
                   back for 41.0 ms; its clock source `hpet` is slow to read";
        assert_eq!(with("load1", 0.12, 41_000_000, "hpet"), suspect(all));
        assert_eq!(with("local 1", 0.12, 41_000_000, "hpet"), []);
    }

    #[test]
    fn a_bad_machine_is_suspect_and_a_lost_one_invalid() {
        let mut agents = vec![agent("a", 1_000_000, 10, 1_100_000), agent("b", 1_060_000, 10, 0)];
        let text = "the start of agent a is known only to ±1.10 ms";
        let differ =
            "agents disagree: the median service time is 1.06 ms from b and 1.00 ms from a";
        let suspect = |text: &str| (Validity::Suspect, text.to_owned());
        assert_eq!(judged(&agents), [suspect(text), suspect(differ)]);
        agents[0].miscounted = true;
        agents[1].loss = Some(Loss::Silent { for_ms: 3_000 });
        let invalid: Vec<_> = judged(&agents).into_iter().take(2).collect();
        let lost = "agent b was lost: it was silent for 3.00 s; the other agents were stopped";
        let miscounted = "the requests of agent a do not add up";
        let expected = [lost, miscounted].map(|text| (Validity::Invalid, text.to_owned()));
        assert_eq!(invalid, expected);
    }
}
