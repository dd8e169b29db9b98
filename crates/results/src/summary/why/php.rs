//! Judges causes inside PHP: an OPcache that is off, full or checks its files, and Xdebug.

use stampede_model::fact::LimitFound;
use stampede_model::record::ObservedState;

use super::facts::Facts;
use super::{Cause, Diagnosis, Novelty};

pub fn xdebug(facts: &Facts<'_>) -> Option<Diagnosis> {
    let shown = facts.runtime().before.as_ref()?;
    if !shown.extensions.iter().any(|name| name.contains("xdebug")) {
        return None;
    }
    let mode = match shown.ini.get("xdebug.mode").map(String::as_str) {
        // With `off`, Xdebug hooks into nothing. Without quotes, php.ini reads `off` as an empty
        // text.
        Some("off" | "") => return None,
        Some(mode) => Some(mode.to_owned()),
        // Xdebug 2.
        None => None,
    };
    Some(Diagnosis::new(Cause::Xdebug, LimitFound::XdebugLoaded { mode }))
}

/// OPcache as a cause. A runtime that keeps the app in memory compiles it only once, so OPcache
/// cannot limit it.
pub fn opcache(facts: &Facts<'_>) -> Option<Diagnosis> {
    let shown = facts.runtime().before.as_ref()?;
    if facts.runtime().given.keeps_memory {
        return None;
    }
    // The directive whose value the text does not give is evidence.
    let (found, adds) = match () {
        () if is_off(shown) => (LimitFound::OpcacheOff, Some(ENABLE)),
        () => match full(facts, shown) {
            Some(found) => (found, Some(MEMORY)),
            None if is_on(shown, "opcache.validate_timestamps")
                && shown.opcache
                && shown.ini.get("opcache.revalidate_freq").is_some_and(|value| value == "0") =>
            {
                (LimitFound::OpcacheChecksFiles, None)
            }
            None => return None,
        },
    };
    let ini = [ENABLE, "opcache.validate_timestamps", MEMORY].into_iter().filter_map(|key| {
        let value = shown.ini.get(key)?;
        Some((Novelty::more_if(adds == Some(key)), format!("{key}={value}")))
    });
    Some(Diagnosis::new(Cause::Opcache, found).with_all(ini))
}

const ENABLE: &str = "opcache.enable";
const MEMORY: &str = "opcache.memory_consumption";

/// Whether OPcache is off, by its status. If the status may not be read (`opcache.restrict_api`),
/// php.ini decides.
fn is_off(shown: &ObservedState) -> bool {
    let asked = shown.php_version.is_empty() || shown.ini.is_empty();
    let switched_on = is_on(shown, "opcache.enable")
        && (!shown.sapi.starts_with("cli") || is_on(shown, "opcache.enable_cli"));
    !asked && !shown.opcache && !switched_on
}

fn full(facts: &Facts<'_>, before: &ObservedState) -> Option<LimitFound> {
    let now = facts.runtime().after.as_ref().unwrap_or(before).opcache_state.as_ref()?;
    let was = before.opcache_state.as_ref().unwrap_or(now);
    let restarts = now.restarts.saturating_sub(was.restarts);
    if !now.full && restarts == 0 {
        return None;
    }
    Some(LimitFound::OpcacheFull {
        used_bytes: now.used_bytes,
        memory_bytes: now.memory_bytes,
        files: now.files,
        files_max: now.files_max,
        restarts,
        misses: now.misses.saturating_sub(was.misses),
    })
}

fn is_on(shown: &ObservedState, key: &str) -> bool {
    let value = shown.ini.get(key).map(|value| value.trim().to_ascii_lowercase());
    value.is_some_and(|value| matches!(value.as_str(), "1" | "on" | "yes" | "true"))
}
