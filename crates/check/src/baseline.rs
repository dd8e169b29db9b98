//! Reads the findings of an earlier check, which count as accepted.

use std::collections::BTreeMap;

use stampede_mask::mask_secrets;

use super::model::{CheckReport, Finding};
use super::signs::{Signs, stable_fingerprint};

/// Findings have signs from this format on.
const SIGNED: u32 = 2;

/// The accepted findings.
#[derive(Clone, Debug, Default)]
pub struct Baseline {
    /// Signs by fingerprint. `None` for a finding of an older format, which accepts every finding
    /// about the same subject.
    known: BTreeMap<String, Option<Signs>>,
}

impl Baseline {
    /// Accepts all findings of a check.
    pub fn of(report: &CheckReport) -> Baseline {
        let mut known: BTreeMap<String, Option<Signs>> = BTreeMap::new();
        for finding in report.runtimes.iter().flat_map(|one| &one.findings) {
            let signs = (report.format >= SIGNED).then(|| masked(&finding.signs));
            let all = known
                .entry(mask_secrets(&stable_fingerprint(&finding.fingerprint)))
                .or_insert_with(|| Some(Signs::new()));
            match (all, signs) {
                (Some(all), Some(signs)) => all.extend(signs),
                (all, None) => *all = None,
                (None, Some(_)) => {}
            }
        }
        Baseline { known }
    }

    /// Returns whether it accepts this finding: the fingerprint is known, and every sign was seen
    /// then. Which signs show depends on the passes, so fewer signs are accepted too.
    pub fn accepts(&self, finding: &Finding) -> bool {
        match self.known.get(&mask_secrets(&finding.fingerprint)) {
            Some(Some(signs)) => masked(&finding.signs).is_subset(signs),
            Some(None) => true,
            None => false,
        }
    }
}

/// Masks the signs in the same way as in the file, so that both can be compared.
fn masked(signs: &Signs) -> Signs {
    signs.iter().map(|sign| mask_secrets(sign)).collect()
}

/// Returns what the user must know about a baseline before it is used; `None` if nothing.
pub fn notice(report: &CheckReport) -> Option<String> {
    (report.format < SIGNED).then(|| {
        format!(
            "the baseline is of format {}, which does not tell findings of one page apart: all that is found \
             there is accepted, until a new check.json takes its place",
            report.format
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::RuntimeResult;
    use crate::sample;

    fn report(format: u32, findings: Vec<Finding>) -> CheckReport {
        let runtimes = vec![RuntimeResult { findings, ..sample::checked("roadrunner") }];
        CheckReport { format, runtimes, ..sample::report() }
    }

    fn finding(fingerprint: &str, signs: &[&str]) -> Finding {
        let (fingerprint, signs) =
            (fingerprint.to_owned(), signs.iter().map(|one| (*one).to_owned()));
        Finding { fingerprint, signs: signs.collect(), ..sample::finding() }
    }

    #[test]
    fn a_finding_is_accepted_unless_it_has_new_signs() {
        let known = finding("roadrunner answer get /", &["+Fehler", "status 500"]);
        let baseline = Baseline::of(&report(2, vec![known.clone()]));
        let accepts = |fingerprint, signs: &[&str]| baseline.accepts(&finding(fingerprint, signs));
        assert!(baseline.accepts(&known));
        assert!(accepts("roadrunner answer get /", &["status 500"]));
        assert!(!accepts("roadrunner answer get /", &["status 500", "header location"]));
        assert!(!accepts("swoole answer get /", &["status 500"]));
        assert!(!accepts("roadrunner leak get /", &[]));
        assert_eq!(notice(&report(2, vec![])), None);
    }

    #[test]
    fn an_older_baseline_accepts_as_before_and_gives_a_notice() {
        let old = report(1, vec![finding("roadrunner answer get /", &[])]);
        let baseline = Baseline::of(&old);
        assert!(baseline.accepts(&finding("roadrunner answer get /", &["+Fehler"])));
        assert!(!baseline.accepts(&finding("roadrunner answer get /a", &[])));
        let notice = notice(&old).expect("it is said");
        assert!(notice.contains("format 1"), "{notice}");
    }
}
