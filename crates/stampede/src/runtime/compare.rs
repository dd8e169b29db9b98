//! Whether runtimes were the same in all that should be the same, in words.

use std::collections::{BTreeMap, BTreeSet};

use super::manifest::Forced;
use super::prepare::Prepared;
use super::start::Running;
use crate::store::record::Observed;

/// What a runtime showed, with what it cannot help and what the plan asked of it.
#[derive(Clone, Debug)]
pub struct Shown {
    /// Runtime's or variant's name.
    pub name: String,
    /// As verified.
    pub observed: Observed,
    /// What its SAPI has or sets by itself.
    pub forced: Forced,
    /// php.ini keys that the plan or a setting decides; where two runtimes were asked for
    /// different values, different values are no surprise.
    pub asked: BTreeMap<String, String>,
    /// Workers asked for.
    pub workers: u32,
    /// Whether fewer are right before load.
    pub grows: bool,
}

/// What differs from the first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// Name → reasons why it is not comparable with the first.
    pub not_comparable: BTreeMap<String, Vec<String>>,
    /// What SAPIs force, which does not count against anyone.
    pub forced: Vec<String>,
}

/// Keys shown in one reason; more would bury it.
const KEYS_MAX: usize = 6;

impl Running {
    /// What it showed, for comparing.
    pub fn shown(&self, observed: Observed) -> Shown {
        let Prepared { name, runtime, settings, php_ini, grows, .. } = &self.prepared;
        let mut asked = php_ini.clone();
        for (setting, keys) in [
            ("memory_limit", &["memory_limit"][..]),
            ("opcache", &["opcache.enable", "opcache.enable_cli"]),
            ("jit", &["opcache.jit", "opcache.jit_buffer_size"]),
        ] {
            let value = settings.values.get(setting).map(ToString::to_string).unwrap_or_default();
            for key in keys {
                asked.entry((*key).into()).or_insert_with(|| value.clone());
            }
        }
        let forced = runtime.manifest.forced.clone();
        let (workers, grows) = (settings.workers(), *grows);
        Shown { name: name.clone(), observed, forced, asked, workers, grows }
    }
}

/// Compares each with the first. An empty `not_comparable` means: the same app, the same PHP,
/// the same values.
pub fn compare_observed(shown: &[Shown]) -> Differences {
    let mut differences = Differences::default();
    let Some(first) = shown.first() else { return differences };
    for one in shown {
        let mut reasons = alone(one);
        if one.name != first.name {
            let both = Pair { first, one };
            reasons.extend(both.plain());
            let (unequal, forced) = both.ini();
            reasons.extend(list("php.ini", unequal));
            differences.forced.extend(forced);
            let (unequal, forced) = both.extensions();
            reasons.extend(list("extensions", unequal));
            differences.forced.extend(forced);
        }
        if !reasons.is_empty() {
            differences.not_comparable.insert(one.name.clone(), reasons);
        }
    }
    differences.forced.sort();
    differences.forced.dedup();
    differences
}

/// What changed in one runtime between two looks, before and after load; in words.
pub fn changed(before: &Shown, after: &Shown) -> Vec<String> {
    let both = Pair { first: before, one: after };
    let mut reasons = both.plain();
    reasons.extend(list("php.ini", both.ini().0));
    reasons.extend(list("extensions", both.extensions().0));
    if before.observed.workers != after.observed.workers && !after.grows {
        let (was, is) = (before.observed.workers, after.observed.workers);
        reasons.push(format!("{is} workers after load, {was} before"));
    }
    if before.observed.isolated && !after.observed.isolated {
        reasons.push("requests are no longer isolated".into());
    }
    reasons
}

fn alone(one: &Shown) -> Vec<String> {
    let mut reasons = Vec::new();
    let Observed { workers, isolated, .. } = one.observed;
    let fewer = one.grows && workers < one.workers;
    if workers != 0 && workers != one.workers && !fewer {
        reasons.push(format!("{workers} workers instead of the {} asked for", one.workers));
    }
    if !isolated {
        let why = one.observed.notices.iter().find(|notice| notice.contains("visible in a later"));
        reasons
            .push(why.cloned().unwrap_or_else(|| "requests are not shown to be isolated".into()));
    }
    reasons
}

struct Pair<'a> {
    first: &'a Shown,
    one: &'a Shown,
}

impl Pair<'_> {
    fn plain(&self) -> Vec<String> {
        let (a, b) = (&self.first.observed, &self.one.observed);
        let mut reasons = Vec::new();
        if a.php_version != b.php_version {
            reasons.push(format!("PHP {} instead of {}", b.php_version, a.php_version));
        }
        if a.answer_sha256 != b.answer_sha256 {
            reasons.push("its masked answer is another".into());
        }
        for (name, key, a, b) in [
            ("OPcache", "opcache.enable", a.opcache, b.opcache),
            ("JIT", "opcache.jit", a.jit, b.jit),
        ] {
            if a != b && !self.asked_differently(key) {
                reasons.push(format!("{name} is {} instead of {}", on(b), on(a)));
            }
        }
        reasons
    }

    fn asked_differently(&self, key: &str) -> bool {
        self.first.asked.get(key) != self.one.asked.get(key)
    }

    /// Keys with unequal values, and those of them that a SAPI forces.
    fn ini(&self) -> (Vec<String>, Vec<String>) {
        let (a, b) = (&self.first.observed.ini, &self.one.observed.ini);
        let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        let unequal = keys
            .into_iter()
            .filter(|key| a.get(*key) != b.get(*key) && !self.asked_differently(key));
        let value = |ini: &BTreeMap<String, String>, key: &String| {
            ini.get(key).map_or("not there".to_string(), |value| format!("`{value}`"))
        };
        let fits = |forced: &Forced, key: &str| forced.ini.iter().any(|known| is(known, key));
        let (mut counts, mut forced) = (Vec::new(), Vec::new());
        for key in unequal {
            let text = format!("{key} {} instead of {}", value(b, key), value(a, key));
            if fits(&self.first.forced, key) || fits(&self.one.forced, key) {
                forced.push(format!("{}: {text}", self.one.name));
            } else {
                counts.push(text);
            }
        }
        (counts, forced)
    }

    fn extensions(&self) -> (Vec<String>, Vec<String>) {
        let (a, b): (BTreeSet<&String>, BTreeSet<&String>) = (
            self.first.observed.extensions.iter().collect(),
            self.one.observed.extensions.iter().collect(),
        );
        let fits = |name: &str| {
            let known = self.first.forced.extensions.iter().chain(&self.one.forced.extensions);
            known.into_iter().any(|known| is(known, name))
        };
        let (mut counts, mut forced) = (Vec::new(), Vec::new());
        for name in a.symmetric_difference(&b) {
            let text = match a.contains(*name) {
                true => format!("without {name}"),
                false => format!("with {name}"),
            };
            match fits(name) {
                true => forced.push(format!("{}: {text}", self.one.name)),
                false => counts.push(text),
            }
        }
        (counts, forced)
    }
}

/// `cli.*` fits `cli.pager`.
fn is(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(begin) => name.starts_with(begin),
        None => pattern == name,
    }
}

fn on(value: bool) -> &'static str {
    if value { "on" } else { "off" }
}

fn list(what: &str, mut items: Vec<String>) -> Option<String> {
    if items.is_empty() {
        return None;
    }
    let more = items.len().saturating_sub(KEYS_MAX);
    items.truncate(KEYS_MAX);
    let mut text = format!("{what}: {}", items.join(", "));
    if more > 0 {
        text += &format!(" and {more} more");
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(name: &str) -> Shown {
        let observed = Observed {
            php_version: "8.2.1".into(),
            extensions: vec!["core".into(), "json".into()],
            ini: BTreeMap::from([("memory_limit".into(), "256M".into())]),
            opcache: true,
            workers: 4,
            answer_sha256: "a".into(),
            isolated: true,
            ..Observed::default()
        };
        let (forced, asked) = (Forced::default(), BTreeMap::new());
        Shown { name: name.into(), observed, forced, asked, workers: 4, grows: false }
    }

    #[test]
    fn equal_ones_are_comparable() {
        assert_eq!(compare_observed(&[shown("a"), shown("b")]), Differences::default());
        assert_eq!(compare_observed(&[]), Differences::default());
    }

    #[test]
    fn every_difference_has_its_words() {
        let mut b = shown("b");
        b.observed.php_version = "8.4.1".into();
        b.observed.extensions = vec!["core".into(), "intl".into()];
        b.observed.ini = BTreeMap::from([("memory_limit".into(), "-1".into())]);
        b.observed.opcache = false;
        b.observed.workers = 2;
        b.observed.answer_sha256 = "b".into();
        b.observed.isolated = false;
        b.observed.notices = vec!["class of one request is visible in a later one".into()];
        let differences = compare_observed(&[shown("a"), b]);
        assert_eq!(differences.not_comparable.len(), 1);
        insta::assert_snapshot!(differences.not_comparable["b"].join("\n"), @r"
        2 workers instead of the 4 asked for
        class of one request is visible in a later one
        PHP 8.4.1 instead of 8.2.1
        its masked answer is another
        OPcache is off instead of on
        php.ini: memory_limit `-1` instead of `256M`
        extensions: with intl, without json
        ");
    }

    #[test]
    fn what_a_sapi_forces_and_what_was_asked_differently_does_not_count() {
        let (mut a, mut b) = (shown("a"), shown("b"));
        b.forced = Forced { extensions: vec!["pcntl".into()], ini: vec!["cli.*".into()] };
        b.observed.extensions.push("pcntl".into());
        b.observed.ini.insert("cli.pager".into(), String::new());
        b.observed.ini.insert("memory_limit".into(), "64M".into());
        a.asked.insert("memory_limit".into(), "256M".into());
        b.asked.insert("memory_limit".into(), "64M".into());
        let differences = compare_observed(&[a, b]);
        assert_eq!(differences.not_comparable, BTreeMap::new());
        assert_eq!(differences.forced, ["b: cli.pager `` instead of not there", "b: with pcntl"]);
    }

    #[test]
    fn a_pool_that_grows_may_begin_small_but_not_exceed() {
        let mut one = shown("a");
        (one.grows, one.observed.workers) = (true, 1);
        assert!(alone(&one).is_empty());
        one.observed.workers = 9;
        assert_eq!(alone(&one), ["9 workers instead of the 4 asked for"]);
    }

    #[test]
    fn a_change_under_load_is_seen() {
        let mut after = shown("a");
        after.observed.workers = 3;
        after.observed.opcache = false;
        let words = changed(&shown("a"), &after);
        assert_eq!(words, ["OPcache is off instead of on", "3 workers after load, 4 before"]);
    }
}
