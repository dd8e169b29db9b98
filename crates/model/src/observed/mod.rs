//! Decides whether runtimes were the same in everything that should be the same. It is pure: it
//! compares records, both during a measurement and long after it.

mod constant;
mod lines;
mod matters;
mod pages;

pub use constant::constant_lines;
pub use pages::agree as pages_agree;

use std::collections::{BTreeMap, BTreeSet};

use crate::fact::{Extension, IniValue, Mismatch, Observation, Php, Server};
use crate::numbers::without_numbers;
use crate::record::{ObservedState, ProviderKind, RequestedSetup, Validity};

/// What a runtime showed, with what its SAPI forces and what the plan requested.
#[derive(Clone, Debug)]
pub struct ObservedRuntime {
    /// Name of the runtime or variant.
    pub name: String,
    /// Choices that explain what the runtime shows.
    pub given: RequestedSetup,
    /// What verification found.
    pub observed: ObservedState,
    /// Mean size in bytes of a body under load; `None`: not measured, or some requests failed.
    pub body_bytes_mean: Option<f64>,
}

/// How one runtime differs from the reference.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Differences {
    /// Why it is not comparable; empty: the same app, the same PHP, the same values.
    pub not_comparable: Vec<Mismatch>,
    /// Differences that the plan requested for one of the two. They count against neither.
    pub asked: Vec<Php>,
    /// What a SAPI has or sets itself. It counts against neither.
    pub forced: Vec<Php>,
    /// What a later request sees of an earlier one, in a runtime that keeps its memory by design.
    pub kept: Vec<String>,
}

/// Mean bodies under load count as equal within this share or this many bytes, because they may
/// change by themselves.
const BODIES_SHARE: f64 = 0.10;
const BODIES_BYTES: f64 = 256.0;
/// Characters of a differing line that are shown.
const LINE_MAX: usize = 160;

/// Compares each runtime with a reference, in the given order. The reference is the first runtime
/// that agrees with most others. So if one of five differs, that one is not comparable, wherever it
/// stands. The reference has no differences, but may have faults of its own.
///
/// A server that was already running is the reference only if there is no other runtime, because
/// little is known about it.
pub fn compare_observed(shown: &[ObservedRuntime]) -> Vec<Differences> {
    let is_started = |one: &&ObservedRuntime| one.given.provider != ProviderKind::External;
    let started: Vec<&ObservedRuntime> = shown.iter().filter(is_started).collect();
    let known = if started.is_empty() { shown.iter().collect() } else { started };
    let unlike = |reference: &ObservedRuntime| {
        let others = known.iter().map(|one| differences(reference, one));
        others.filter(|found| !found.not_comparable.is_empty()).count()
    };
    let Some(reference) = known.iter().min_by_key(|one| unlike(one)) else { return Vec::new() };
    let all = shown.iter().map(|one| {
        let mut found = match std::ptr::eq(one, *reference) {
            true => Differences::default(),
            false => differences(reference, one),
        };
        found.not_comparable.splice(0..0, own_mismatches(one));
        found.kept = kept(one);
        found
    });
    all.collect()
}

/// Returns what changed in one runtime between the looks before and after the load, with the
/// judgement of the trial. A different answer means that a different app was measured.
pub fn changed(before: &ObservedRuntime, after: &ObservedRuntime) -> Vec<(Validity, Server)> {
    let (was, is) = (&before.observed, &after.observed);
    let both = RuntimePair { first: before, one: after };
    // Of a PHP that is known at one of the two moments only, nothing has changed.
    let mut differences = match is_proven(was) == is_proven(is) {
        true => both.php_differences().not_comparable,
        false => Vec::new(),
    };
    if was.workers != is.workers && was.workers != 0 && is.workers != 0 && !after.given.grows {
        differences.push(Mismatch::WorkersChanged { workers: is.workers, before: was.workers });
    }
    if was.isolated && !is.isolated && !after.given.keeps_memory {
        differences.push(not_isolated(is));
    }
    let suspect = |difference| (Validity::Suspect, Server::Changed { difference });
    differences.into_iter().map(suspect).chain(other_answer(was, is)).collect()
}

/// Whether the page after the load was a different one than before it, as far as that is known.
pub fn is_another_answer(before: &ObservedState, after: &ObservedState) -> bool {
    other_answer(before, after).is_some_and(|(judged, _)| judged == Validity::Invalid)
}

/// Returns the judgement of a trial whose answer after the load differs from the one before it.
fn other_answer(was: &ObservedState, is: &ObservedState) -> Option<(Validity, Server)> {
    let other = |shown| Some((Validity::Invalid, Server::AnswerChanged { shown }));
    if was.answer_sha256 == is.answer_sha256 {
        return None;
    }
    if was.answer.is_empty() || is.answer.is_empty() {
        return other(None);
    }
    let ((was_head, was_body), (is_head, is_body)) = (parts(was), parts(is));
    let has_status = |head: &str, other: &str| head.lines().next() == other.lines().next();
    let lost_its_body = was_body.trim().is_empty() != is_body.trim().is_empty();
    let is_like_it = has_status(was_head, is_head) && !lost_its_body;
    // An answer that changes by itself cannot be compared any further.
    if is_like_it && (was.answer_changes || is.answer_changes) {
        return None;
    }
    let shown = shown_difference(was, is);
    if is_like_it && without_numbers(&was.answer) == without_numbers(&is.answer) {
        return Some((Validity::Valid, Server::NumbersChanged { shown }));
    }
    other(Some(shown))
}

/// Splits a masked answer into its status with headers, and its body.
fn parts(observed: &ObservedState) -> (&str, &str) {
    observed.answer.split_once("\n\n").unwrap_or((&observed.answer, ""))
}

/// Describes the first line that differs.
fn shown_difference(was: &ObservedState, is: &ObservedState) -> String {
    let (mut before, mut after) = (was.answer.lines(), is.answer.lines());
    loop {
        match (before.next(), after.next()) {
            (Some(before), Some(after)) if before == after => {}
            (before, after) => {
                let line = |line: Option<&str>| match line.map(str::trim) {
                    None | Some("") => "nothing".to_owned(),
                    Some(line) => {
                        format!("`{}`", line.chars().take(LINE_MAX).collect::<String>())
                    }
                };
                return format!("{} instead of {}", line(after), line(before));
            }
        }
    }
}

fn differences(reference: &ObservedRuntime, one: &ObservedRuntime) -> Differences {
    let pair = RuntimePair { first: reference, one };
    let are_ours = [reference, one].iter().all(|shown| shown.given.provider.is_native());
    match (are_ours, pair.has_containers()) {
        (true, _) => pair.differences(),
        (false, true) => with_versions_asked(pair.visible_differences()),
        (false, false) => pair.visible_differences(),
    }
}

/// The first two numbers of a version of PHP: releases that share them differ in fixes only. `None`: it
/// has no three numbers.
fn minor(version: &str) -> Option<&str> {
    let (minor, patch) = version.rsplit_once('.')?;
    let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    (minor.split('.').count() == 2 && minor.split('.').all(is_number) && is_number(patch))
        .then_some(minor)
}

/// The images of a compose project decide which PHP it has, so the plan has asked for its version.
fn with_versions_asked(found: Differences) -> Differences {
    let (versions, not_comparable): (Vec<Mismatch>, Vec<Mismatch>) = found
        .not_comparable
        .into_iter()
        .partition(|mismatch| matches!(mismatch, Mismatch::PhpVersion { .. }));
    let mut asked = found.asked;
    asked.extend(versions.into_iter().filter_map(|mismatch| match mismatch {
        // Not every project shows its version.
        Mismatch::PhpVersion { version, reference } if !reference.is_empty() => {
            Some(Php::Version { version, reference })
        }
        _ => None,
    }));
    Differences { not_comparable, asked, ..found }
}

/// Whether PHP itself said what it is. An answer of the app shows its version at most.
fn is_proven(observed: &ObservedState) -> bool {
    !observed.sapi.is_empty()
}

/// Returns what is wrong with one runtime, whatever the others show.
fn own_mismatches(one: &ObservedRuntime) -> Vec<Mismatch> {
    if one.given.provider == ProviderKind::External {
        return vec![Mismatch::AlreadyRunning {}];
    }
    if !one.given.provider.is_configured() {
        let unproven = one.observed.notices.iter().filter_map(|notice| match notice.known() {
            Some(Observation::PhpUnproven { why }) => {
                Some(Mismatch::PhpUnproven { why: why.clone() })
            }
            _ => None,
        });
        return unproven.chain(other_version(one)).chain(ini_not_taken(one)).collect();
    }
    let mut reasons: Vec<Mismatch> = other_version(one).into_iter().collect();
    if let Some((workers, asked)) = other_workers(one) {
        reasons.push(Mismatch::Workers { workers, asked });
    }
    if one.given.threads && !one.observed.thread_safe {
        reasons.push(Mismatch::NotThreadSafe {});
    }
    if !one.observed.isolated && !one.given.keeps_memory {
        reasons.push(not_isolated(&one.observed));
    }
    reasons
}

/// What PHP's command line sets itself. Source: `cli_main.c` of PHP, `INI_DEFAULT` and the overrides in `main`.
const OF_CLI: [&str; 6] = [
    "display_errors",
    "html_errors",
    "implicit_flush",
    "max_execution_time",
    "max_input_time",
    "register_argc_argv",
];

/// The mismatch of a runtime whose PHP does not take values of php.ini that the plan asks for: something of the
/// project sets others.
fn ini_not_taken(one: &ObservedRuntime) -> Option<Mismatch> {
    let found = &one.observed.ini;
    let asked = one.given.ini.iter().filter(|_| is_proven(&one.observed));
    let asked = asked.filter(|(name, value)| {
        // Those that load extensions are not among the values. PHP shows a constant as its number.
        let is_of_cli = one.observed.sapi == "cli" && OF_CLI.contains(&name.as_str());
        !name.ends_with("extension") && !value.contains("E_") && !is_of_cli
    });
    let other = asked.filter(|(name, value)| !matters::is_same_ini(Some(value), found.get(*name)));
    let values = other.map(|(name, value)| IniValue {
        directive: name.clone(),
        value: found.get(name).cloned(),
        reference: Some(value.clone()),
    });
    let values: Vec<IniValue> = values.collect();
    (!values.is_empty()).then_some(Mismatch::IniNotTaken { values })
}

/// The mismatch of a runtime whose PHP is not the one that the plan asks for, as far as it is known.
fn other_version(one: &ObservedRuntime) -> Option<Mismatch> {
    let (version, asked) = (&one.observed.php_version, &one.given.php);
    // Distributions add their own: `8.1.2-1ubuntu2`.
    let release = version.split(['-', '+', '~']).next().unwrap_or_default();
    let rest = release.strip_prefix(asked.as_str());
    let is_it = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let is_other = !asked.is_empty() && !version.is_empty() && !is_it;
    is_other.then(|| Mismatch::PhpVersion { version: version.clone(), reference: asked.clone() })
}

/// Returns the seen and requested numbers of workers if they differ; else `None`. A growing pool
/// may begin with fewer.
pub fn other_workers(one: &ObservedRuntime) -> Option<(u32, u32)> {
    let (is, asked) = (one.observed.workers, one.given.workers);
    let fewer = one.given.grows && is < asked;
    let wrong = is != 0 && asked != 0 && is != asked && !fewer;
    wrong.then_some((is, asked))
}

/// Returns what leaks if leaking is part of the runtime's design: `class`, `constant` …
fn kept(one: &ObservedRuntime) -> Vec<String> {
    // If the runtime is isolated all the same, its runtime.yaml declares the leaks that were seen.
    let by_nature = one.given.keeps_memory || one.observed.isolated;
    if by_nature { leaks(&one.observed) } else { Vec::new() }
}

fn leaks(observed: &ObservedState) -> Vec<String> {
    let leaks = observed.notices.iter().filter_map(|notice| match notice.known() {
        Some(Observation::Visible { what }) => Some(what.clone()),
        _ => None,
    });
    leaks.collect()
}

fn not_isolated(observed: &ObservedState) -> Mismatch {
    Mismatch::NotIsolated { leaks: leaks(observed) }
}

struct RuntimePair<'a> {
    first: &'a ObservedRuntime,
    one: &'a ObservedRuntime,
}

impl RuntimePair<'_> {
    /// Whether one of the two runs in containers.
    fn has_containers(&self) -> bool {
        [self.first, self.one].iter().any(|one| one.given.provider.has_containers())
    }

    /// Compares a server that was already running, or a project in containers: by its answer, and by
    /// what is known of its PHP.
    fn visible_differences(&self) -> Differences {
        if is_proven(&self.first.observed) && is_proven(&self.one.observed) {
            return self.differences_that_matter();
        }
        let (mut first, mut one) = (self.first.clone(), self.one.clone());
        let (seen, shown) = (&mut first.observed, &mut one.observed);
        seen.ini.retain(|key, _| shown.ini.contains_key(key));
        shown.ini.retain(|key, _| seen.ini.contains_key(key));
        if seen.php_version.is_empty() || shown.php_version.is_empty() {
            seen.php_version.clear();
            shown.php_version.clear();
        }
        (seen.opcache, seen.jit) = (shown.opcache, shown.jit);
        seen.extensions.clone_from(&shown.extensions);
        // Nothing was requested of it, so its other values count as differences.
        one.given = first.given.clone();
        RuntimePair { first: &first, one: &one }.differences()
    }

    /// Compares a project in containers whose PHP was asked. Of its php.ini and extensions only those
    /// count that decide how much work PHP has.
    fn differences_that_matter(&self) -> Differences {
        // Without OPcache its values are none of PHP's.
        let has_both = self.first.observed.opcache == self.one.observed.opcache;
        let counts = |directive: &str| {
            matters::ini_matters(directive) && (has_both || !directive.starts_with("opcache."))
        };
        let [first, one] = [self.first, self.one].map(|shown| {
            let mut shown = shown.clone();
            shown.observed.ini.retain(|directive, _| counts(directive));
            shown.observed.extensions.retain(|name| matters::extension_matters(name));
            shown
        });
        // The plan asks for values of the catalogue's runtimes; a project has its own, but for those that are asked
        // of it.
        let projects = [self.first, self.one]
            .into_iter()
            .filter(|shown| !shown.given.provider.is_configured());
        let mut given = first.given.clone();
        for key in projects.flat_map(|shown| shown.given.ini.keys()) {
            match self.one.given.ini.get(key) {
                Some(value) => given.ini.insert(key.clone(), value.clone()),
                None => given.ini.remove(key),
            };
        }
        let one = ObservedRuntime { given, ..one };
        RuntimePair { first: &first, one: &one }.differences()
    }

    fn differences(&self) -> Differences {
        let mut found = self.php_differences();
        let (a, b) = (&self.first.observed, &self.one.observed);
        let mut answers: Vec<Mismatch> = pages::differences(&a.pages, &b.pages);
        let is_another = match a.answer_changes || b.answer_changes {
            // An answer that changes by itself is compared only by status, title and length.
            true => false,
            false => a.answer_sha256 != b.answer_sha256,
        };
        if is_another && answers.is_empty() {
            let is_shown = !a.answer.is_empty() && a.answer != b.answer;
            answers.push(Mismatch::Answer { shown: is_shown.then(|| shown_difference(a, b)) });
        }
        if answers.is_empty() {
            answers.extend(self.other_bodies());
        }
        found.not_comparable.splice(0..0, answers);
        found
    }

    /// Compares the mean bodies under load. They show differences of requests that were not sent
    /// before the load, such as `POST`.
    fn other_bodies(&self) -> Option<Mismatch> {
        let (a, b) = (self.first.body_bytes_mean?, self.one.body_bytes_mean?);
        ((a - b).abs() > (a.max(b) * BODIES_SHARE).max(BODIES_BYTES))
            .then_some(Mismatch::BodySize { mean_bytes: b, reference_bytes: a })
    }

    fn php_differences(&self) -> Differences {
        let mut found = Differences::default();
        self.plain(&mut found);
        self.ini(&mut found);
        self.extensions(&mut found);
        found
    }

    fn plain(&self, found: &mut Differences) {
        let (a, b) = (&self.first.observed, &self.one.observed);
        if a.php_version != b.php_version {
            let (version, reference) = (b.php_version.clone(), a.php_version.clone());
            // The same release in another package may be a patch release away.
            match minor(&version).is_some_and(|own| minor(&reference) == Some(own)) {
                true => found.forced.push(Php::Version { version, reference }),
                false if self.versions_are_asked() => {
                    found.asked.push(Php::Version { version, reference });
                }
                false => found.not_comparable.push(Mismatch::PhpVersion { version, reference }),
            }
        }
        let is_asked = |keys: &[&str]| keys.iter().any(|key| self.asked_differently(key));
        if a.opcache != b.opcache {
            match is_asked(&["opcache.enable", "opcache.enable_cli"]) {
                true => found.asked.push(Php::Opcache { on: b.opcache }),
                false => found.not_comparable.push(Mismatch::Opcache { on: b.opcache }),
            }
        }
        // Without OPcache there is no JIT, whatever was requested.
        if a.jit != b.jit {
            match is_asked(&["opcache.jit", "opcache.jit_buffer_size", "opcache.enable"]) {
                true => found.asked.push(Php::Jit { on: b.jit }),
                false => found.not_comparable.push(Mismatch::Jit { on: b.jit }),
            }
        }
    }

    /// Whether the plan asks for different versions of PHP.
    fn versions_are_asked(&self) -> bool {
        self.first.given.php != self.one.given.php
    }

    fn asked_differently(&self, key: &str) -> bool {
        self.first.given.ini.get(key) != self.one.given.ini.get(key)
    }

    /// Whether the plan asks that one of them has other extensions.
    fn has_own_extensions(&self) -> bool {
        self.first.given.own_extensions != self.one.given.own_extensions
    }

    fn ini(&self, found: &mut Differences) {
        let (a, b) = (&self.first.observed.ini, &self.one.observed.ini);
        let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
        let forced = |key: &str| {
            let (first, one) = (&self.first.given, &self.one.given);
            first.forced_ini.iter().chain(&one.forced_ini).find(|known| is(known, key))
        };
        // Another release has other defaults and other keys. What decides how much work PHP has counts all
        // the same, and so does what was requested.
        let is_other_release = self.first.observed.php_version != self.one.observed.php_version;
        let is_of_release = |key: &String| {
            let is_given = self.first.given.ini.contains_key(key);
            is_other_release && !is_given && !matters::ini_matters(key)
        };
        let mut values = Vec::new();
        let differs = |key: &&String| !matters::is_same_ini(a.get(*key), b.get(*key));
        // What a JIT would do is no difference between two that have none. PHP 8.4 changed its defaults.
        let has_jit = self.first.observed.jit || self.one.observed.jit;
        let keys = keys.into_iter().filter(|key| has_jit || !matters::is_of_jit(key));
        for key in keys.filter(differs) {
            let (reference, value) = (a.get(key).cloned(), b.get(key).cloned());
            let is_there_in_both = reference.is_some() && value.is_some();
            let of = |key: &String| IniValue { directive: key.clone(), value, reference };
            // The keys of an extension come and go with it.
            let is_of_extension = !is_there_in_both && self.has_own_extensions();
            if self.asked_differently(key) || is_of_extension {
                found.asked.push(Php::Ini(of(key)));
            } else if let Some(pattern) = forced(key) {
                found.forced.push(Php::Ini(match is_there_in_both {
                    true => of(key),
                    // One entry such as `without cgi.*` is more readable than fifteen keys.
                    false => IniValue {
                        directive: pattern.clone(),
                        value: b.get(key).map(|_| String::new()),
                        reference: a.get(key).map(|_| String::new()),
                    },
                }));
            } else if is_of_release(key) {
                found.forced.push(Php::Ini(of(key)));
            } else {
                values.push(of(key));
            }
        }
        found.forced.dedup();
        if !values.is_empty() {
            found.not_comparable.push(Mismatch::Ini { values });
        }
    }

    fn extensions(&self, found: &mut Differences) {
        let (a, b): (BTreeSet<&String>, BTreeSet<&String>) = (
            self.first.observed.extensions.iter().collect(),
            self.one.observed.extensions.iter().collect(),
        );
        let forced = |name: &str| {
            let (first, one) = (&self.first.given, &self.one.given);
            let mut known = first.forced_extensions.iter().chain(&one.forced_extensions);
            known.any(|known| is(known, name))
        };
        let mut extensions = Vec::new();
        for name in a.symmetric_difference(&b) {
            let extension = Extension { name: (*name).clone(), is_loaded: !a.contains(*name) };
            match forced(name) {
                true => found.forced.push(Php::Extension(extension)),
                false if self.versions_are_asked() && matters::is_new_in_php(name) => {
                    found.forced.push(Php::Extension(extension));
                }
                false if self.has_own_extensions() => found.asked.push(Php::Extension(extension)),
                false => extensions.push(extension),
            }
        }
        if !extensions.is_empty() {
            found.not_comparable.push(Mismatch::Extensions { extensions });
        }
    }
}

/// Returns the values of php.ini that the settings of stampede request. Values of the plan's
/// php.ini win.
pub fn asked_ini(
    settings: &BTreeMap<String, serde_json::Value>,
    php_ini: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut asked = php_ini.clone();
    for (setting, keys) in [
        ("memory_limit", &["memory_limit"][..]),
        ("opcache", &["opcache.enable", "opcache.enable_cli"]),
        ("jit", &["opcache.jit", "opcache.jit_buffer_size"]),
        ("preload", &["opcache.preload", "opcache.preload_user"]),
    ] {
        let Some(value) = settings.get(setting) else { continue };
        let value = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
        for key in keys {
            asked.entry((*key).into()).or_insert_with(|| value.clone());
        }
    }
    asked
}

/// Whether a name matches a pattern: `cli.*` matches `cli.pager`.
fn is(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(begin) => name.starts_with(begin),
        None => pattern == name,
    }
}

#[cfg(test)]
mod tests;
