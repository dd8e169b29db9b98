//! Whether all runtimes served the same app on the same PHP, as observed and not as asked.

use std::collections::{BTreeMap, BTreeSet};

use super::input::RunData;
use super::model::{CellSummary, CellVerdict};
use crate::store::record::{Judged, Observed};

/// Marks cells whose observed PHP differs from what most cells of the same app showed.
pub fn mark(cells: &mut [CellSummary], run: &RunData) {
    let seen: Vec<Option<&Observed>> = (0..cells.len()).map(|index| observed(run, index)).collect();
    let apps: BTreeSet<String> = cells.iter().map(|cell| cell.app.clone()).collect();
    for app in apps {
        let of_app: Vec<usize> = (0..cells.len())
            .filter(|index| {
                cells[*index].app == app && cells[*index].verdict != CellVerdict::Refused
            })
            .filter(|index| seen[*index].is_some())
            .collect();
        let observed: Vec<&Observed> = of_app.iter().filter_map(|index| seen[*index]).collect();
        for (index, why) in of_app.iter().zip(differences(&observed)) {
            cells[*index].not_comparable = why;
        }
    }
}

/// What the first trial that counts showed before load.
fn observed(run: &RunData, cell: usize) -> Option<&Observed> {
    run.trials
        .iter()
        .filter(|trial| trial.record.cell == cell)
        .filter(|trial| trial.record.verdict.judged != Judged::Invalid)
        .find_map(|trial| trial.record.runtime.before.as_ref())
}

/// For each, why it differs from the most common.
fn differences(all: &[&Observed]) -> Vec<Vec<String>> {
    let mut why = vec![Vec::new(); all.len()];
    if all.is_empty() {
        return why;
    }
    let php = all.iter().map(|seen| format!("PHP {}", seen.php_version));
    unlike(php, &mut why);
    unlike(all.iter().map(|seen| format!("OPcache {}", on_off(seen.opcache))), &mut why);
    unlike(all.iter().map(|seen| format!("JIT {}", on_off(seen.jit))), &mut why);
    extensions(all, &mut why);
    ini(all, &mut why);
    let answers: Vec<&str> = all.iter().map(|seen| seen.answer_sha256.as_str()).collect();
    let usual = *most_common(&answers);
    for (answer, why) in answers.iter().zip(&mut why) {
        if *answer != usual {
            why.push("another answer than the others' to the same request".to_owned());
        }
    }
    for (seen, why) in all.iter().zip(&mut why) {
        if !seen.isolated {
            why.push("a request saw what an earlier one had left".to_owned());
        }
    }
    why
}

fn unlike(facts: impl Iterator<Item = String>, why: &mut [Vec<String>]) {
    let facts: Vec<String> = facts.collect();
    let usual = most_common(&facts).clone();
    for (fact, why) in facts.iter().zip(why) {
        if *fact != usual {
            why.push(format!("{fact}, others {usual}"));
        }
    }
}

fn extensions(all: &[&Observed], why: &mut [Vec<String>]) {
    let sets: Vec<BTreeSet<&str>> = all
        .iter()
        .map(|seen| seen.extensions.iter().map(String::as_str))
        .map(|names| names.filter(|name| !OF_A_SAPI.contains(name)).collect())
        .collect();
    let usual = most_common(&sets);
    for (set, why) in sets.iter().zip(why) {
        let names = |names: Vec<&&str>| {
            names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
        };
        let (more, fewer) =
            (names(set.difference(usual).collect()), names(usual.difference(set).collect()));
        if !more.is_empty() {
            why.push(format!("has extension {more} that others have not"));
        }
        if !fewer.is_empty() {
            why.push(format!("lacks extension {fewer} that others have"));
        }
    }
}

/// Compares the keys that every runtime has: a SAPI brings keys of its own.
fn ini(all: &[&Observed], why: &mut [Vec<String>]) {
    let Some((first, others)) = all.split_first() else { return };
    let common =
        first.ini.keys().filter(|key| others.iter().all(|seen| seen.ini.contains_key(*key)));
    let mut found: Vec<Vec<String>> = vec![Vec::new(); all.len()];
    for key in common.filter(|key| !FORCED_BY_A_SAPI.contains(&key.as_str())) {
        let values: Vec<&str> = all.iter().map(|seen| seen.ini[key].as_str()).collect();
        // Each trial has its own folders.
        if values.iter().all(|value| value.starts_with('/')) {
            continue;
        }
        let usual = most_common(&values);
        for (value, found) in values.iter().zip(&mut found) {
            if value != usual {
                found.push(format!("{key}={value}, others {usual}"));
            }
        }
    }
    for (found, why) in found.into_iter().zip(why) {
        let more = found.len().saturating_sub(MOST_KEYS);
        why.extend(found.into_iter().take(MOST_KEYS));
        if more > 0 {
            why.push(format!("{more} more php.ini values differ"));
        }
    }
}

/// The value that most have; of several, the one seen first. `values` is never empty.
fn most_common<T: Ord>(values: &[T]) -> &T {
    let mut counts: BTreeMap<&T, usize> = BTreeMap::new();
    values.iter().for_each(|value| *counts.entry(value).or_default() += 1);
    values
        .iter()
        .rev()
        .max_by_key(|value| counts[value])
        .expect("only asked where something was observed")
}

fn on_off(on: bool) -> &'static str {
    if on { "on" } else { "off" }
}

/// Differences of php.ini that are worth a line each; the rest is counted.
const MOST_KEYS: usize = 4;

/// Extensions that are the SAPI itself, or that Debian builds into one SAPI only (pcntl and
/// readline: the command line's).
const OF_A_SAPI: [&str; 7] =
    ["apache2handler", "cgi-fcgi", "embed", "frankenphp", "litespeed", "pcntl", "readline"];

/// Keys that a SAPI sets whatever php.ini says (php-src: `sapi/cli/php_cli.c`, HARDCODED_INI
/// and `sapi_cli_ini_defaults`; `sapi/fpm/fpm/fpm_main.c`; the adapters buffer where the
/// command line does not).
const FORCED_BY_A_SAPI: [&str; 8] = [
    "display_errors",
    "error_log",
    "html_errors",
    "implicit_flush",
    "max_execution_time",
    "max_input_time",
    "output_buffering",
    "register_argc_argv",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(php: &str, ini: &[(&str, &str)], extensions: &[&str]) -> Observed {
        Observed {
            php_version: php.to_owned(),
            extensions: extensions.iter().map(ToString::to_string).collect(),
            ini: ini.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect(),
            opcache: true,
            isolated: true,
            ..Observed::default()
        }
    }

    #[test]
    fn what_most_have_is_the_rule() {
        let usual = seen("8.2.1", &[("memory_limit", "256M")], &["json", "cgi-fcgi"]);
        let other = seen("8.4.2", &[("memory_limit", "128M")], &["json", "xdebug"]);
        let why = differences(&[&usual, &other, &usual]);
        assert!(why[0].is_empty() && why[2].is_empty());
        assert_eq!(
            why[1],
            [
                "PHP 8.4.2, others PHP 8.2.1",
                "has extension `xdebug` that others have not",
                "memory_limit=128M, others 256M",
            ]
        );
    }

    #[test]
    fn what_a_sapi_forces_and_a_trial_owns_is_no_difference() {
        let web = [("html_errors", "1"), ("session.save_path", "/tmp/a"), ("fastcgi.logging", "1")];
        let command_line = [("html_errors", "0"), ("session.save_path", "/tmp/b")];
        let (web, command_line) =
            (seen("8", &web, &["apache2handler"]), seen("8", &command_line, &["pcntl"]));
        assert_eq!(differences(&[&web, &command_line]), [Vec::<String>::new(), Vec::new()]);
    }

    #[test]
    fn many_php_ini_values_are_counted() {
        let keys: Vec<String> = (0..7).map(|key| format!("key{key}")).collect();
        let with = |value| keys.iter().map(|key| (key.as_str(), value)).collect::<Vec<_>>();
        let (usual, other) = (seen("8", &with("1"), &[]), seen("8", &with("2"), &[]));
        let why = differences(&[&usual, &other, &usual]);
        assert_eq!((why[1].len(), why[1][4].as_str()), (5, "3 more php.ini values differ"));
    }

    #[test]
    fn no_runtime_observed_is_nothing_to_say() {
        assert!(differences(&[]).is_empty());
    }
}
