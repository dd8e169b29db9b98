//! PHP's own: OPcache that is off, full or looks at files; Xdebug.

use super::facts::Facts;
use super::{Cause, Found};
use crate::store::record::Observed;
use crate::summary::words;

pub fn xdebug(facts: &Facts<'_>) -> Option<Found> {
    let shown = facts.runtime().before.as_ref()?;
    if !shown.extensions.iter().any(|name| name.contains("xdebug")) {
        return None;
    }
    let mode = match shown.ini.get("xdebug.mode").map(String::as_str) {
        // With `off`, which php.ini reads as an empty word where nobody quotes it, it hooks into
        // nothing.
        Some("off" | "") => return None,
        Some(mode) => format!(" (`xdebug.mode={mode}`)"),
        // Xdebug 2.
        None => String::new(),
    };
    let text = format!("Xdebug is loaded{mode}: it slows every call down");
    Some(Found::new(Cause::Xdebug, text))
}

/// What stays in memory is compiled once, whatever OPcache does.
pub fn opcache(facts: &Facts<'_>) -> Option<Found> {
    let shown = facts.runtime().before.as_ref()?;
    if facts.runtime().given.keeps_memory {
        return None;
    }
    let text = match () {
        () if is_off(shown) => "OPcache is off: every request compiles its files anew".to_owned(),
        () => match full(facts, shown) {
            Some(text) => text,
            None if is_on(shown, "opcache.validate_timestamps")
                && shown.opcache
                && shown.ini.get("opcache.revalidate_freq").is_some_and(|value| value == "0") =>
            {
                "OPcache looks at every file again for every request: \
                 opcache.validate_timestamps=1, opcache.revalidate_freq=0"
                    .to_owned()
            }
            None => return None,
        },
    };
    let ini = ["opcache.enable", "opcache.validate_timestamps", "opcache.memory_consumption"];
    let ini = ini.into_iter().filter_map(|key| Some(format!("{key}={}", shown.ini.get(key)?)));
    Some(Found::new(Cause::Opcache, text).with(ini))
}

/// Told by its status; where that is refused (`opcache.restrict_api`), by php.ini alone.
fn is_off(shown: &Observed) -> bool {
    let asked = shown.php_version.is_empty() || shown.ini.is_empty();
    let switched_on = is_on(shown, "opcache.enable")
        && (!shown.sapi.starts_with("cli") || is_on(shown, "opcache.enable_cli"));
    !asked && !shown.opcache && !switched_on
}

fn full(facts: &Facts<'_>, before: &Observed) -> Option<String> {
    let now = facts.runtime().after.as_ref().unwrap_or(before).opcache_state.as_ref()?;
    let was = before.opcache_state.as_ref().unwrap_or(now);
    let restarts = now.restarts.saturating_sub(was.restarts);
    if !now.full && restarts == 0 {
        return None;
    }
    let misses = now.misses.saturating_sub(was.misses);
    let emptied = match restarts {
        0 => String::new(),
        _ => format!(", emptied {} under load", super::limits::times(restarts)),
    };
    Some(format!(
        "OPcache is full: {} of {}, {} of {} files{emptied}, {} files compiled anew under load",
        words::bytes(now.used_bytes as f64),
        words::bytes(now.memory_bytes as f64),
        words::count(now.files),
        words::count(now.files_max),
        words::count(misses)
    ))
}

fn is_on(shown: &Observed, key: &str) -> bool {
    let value = shown.ini.get(key).map(|value| value.trim().to_ascii_lowercase());
    value.is_some_and(|value| matches!(value.as_str(), "1" | "on" | "yes" | "true"))
}
