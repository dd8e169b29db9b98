//! What this machine is set up to serve PHP with, beside what a run sets.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words;

/// A setting of this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HostSetting {
    /// The name as its file has it, such as `memory_limit` or `pm.max_children`.
    pub name: String,
    /// The value; secrets are masked.
    pub value: String,
    /// The file. Absent: no file sets it, so that it is what the program has by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The number of the line, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// Why a setting is not in force as on the machine, or needs a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostLimit {
    /// It is in force, and leads to a server that others use.
    ReachedForReal,
    /// The user of the stack cannot read the path.
    NotReadable,
    /// It names a variable of the server's environment.
    NotKnown,
    /// stampede decides it for every runtime.
    Ours,
    /// The runtime has no place for it.
    NoPlace,
}

impl HostLimit {
    const ALL: [HostLimit; 5] = [
        HostLimit::ReachedForReal,
        HostLimit::NotReadable,
        HostLimit::NotKnown,
        HostLimit::NoPlace,
        HostLimit::Ours,
    ];

    fn words(self) -> &'static str {
        match self {
            HostLimit::ReachedForReal => "in force, so the load reaches the real server",
            HostLimit::NotReadable => {
                "not in force, because the user that runs PHP here cannot read the path"
            }
            HostLimit::NotKnown => "not in force, because the value is in the server's environment",
            HostLimit::Ours => "not in force, because stampede decides it for all runtimes",
            HostLimit::NoPlace => "not in force, because the runtime has no place for it",
        }
    }
}

/// A setting with its limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LimitedSetting {
    /// The setting.
    pub setting: HostSetting,
    /// Why it is not in force, or needs a word.
    pub why: HostLimit,
}

/// The most settings that a sentence names.
const NAMED_MAX: usize = 6;

impl fmt::Display for HostSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name.as_str() {
            "extension" | "no extension" => write!(f, "{} {}", self.name, self.value),
            name => write!(f, "{name}={}", self.value),
        }
    }
}

/// The first settings, and how many more there are of `count`.
fn named(settings: &[HostSetting], count: u64) -> String {
    let shown: Vec<String> = settings.iter().take(NAMED_MAX).map(ToString::to_string).collect();
    let more = count.saturating_sub(shown.len() as u64);
    let list = shown.join(", ");
    if more > 0 { format!("{list} and {} more", words::count(more)) } else { list }
}

/// Says that this machine's PHP is set up otherwise than the run.
pub(super) fn differs(
    f: &mut fmt::Formatter<'_>,
    version: Option<&str>,
    settings: &[HostSetting],
    count: u64,
    try_it: &str,
) -> fmt::Result {
    let version = version.map(|version| format!(" {version}")).unwrap_or_default();
    let mut files: Vec<&str> = settings.iter().filter_map(|one| one.file.as_deref()).collect();
    files.sort_unstable();
    files.dedup();
    let place = match files.as_slice() {
        [] => String::new(),
        [file] => format!(" ({file})"),
        [first, rest @ ..] => {
            format!(" ({first} and {} more)", words::number_of(rest.len() as u32, "file"))
        }
    };
    write!(
        f,
        "this machine's PHP{version} is set up otherwise: {}{place}; the run uses the same settings for all \
         runtimes. To measure it as it is today, too: `--runtimes {try_it}`",
        named(settings, count)
    )
}

/// Says what a runtime took over from this machine.
pub(super) fn taken(
    f: &mut fmt::Formatter<'_>,
    (runtime, title): (&str, &str),
    settings: &[HostSetting],
    workers: Option<(u32, u32)>,
) -> fmt::Result {
    let mut set: Vec<&HostSetting> = settings.iter().filter(|one| one.file.is_some()).collect();
    // What a file says comes before what a program has by itself.
    set.extend(settings.iter().filter(|one| one.file.is_none()));
    let set: Vec<HostSetting> = set.into_iter().cloned().collect();
    write!(f, "`{runtime}`: {title}: {}", named(&set, set.len() as u64))?;
    match workers {
        Some((own, others)) if own != others => {
            write!(f, ". It keeps its own number of workers, {own}; the others have {others}")
        }
        _ => Ok(()),
    }
}

/// Says what a runtime could not take over, in groups with the same reason.
pub(super) fn limited(
    f: &mut fmt::Formatter<'_>,
    runtime: &str,
    settings: &[LimitedSetting],
) -> fmt::Result {
    let of = |why: HostLimit| {
        let all: Vec<HostSetting> =
            settings.iter().filter(|one| one.why == why).map(|one| one.setting.clone()).collect();
        (!all.is_empty()).then(|| format!("{}: {}", named(&all, all.len() as u64), why.words()))
    };
    let parts: Vec<String> = HostLimit::ALL.into_iter().filter_map(of).collect();
    write!(f, "`{runtime}`: {}", parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fact::Notice;

    fn setting(name: &str, value: &str, line: Option<u32>) -> HostSetting {
        let file = line.map(|_| "/etc/php/8.2/fpm/php.ini".to_owned());
        HostSetting { name: name.to_owned(), value: value.to_owned(), file, line }
    }

    #[test]
    fn six_settings_are_named_and_the_others_counted() {
        let settings: Vec<HostSetting> =
            (1..=8).map(|line| setting(&format!("s{line}"), "1", Some(line))).collect();
        let notice = Notice::HostPhp {
            version: Some("8.2".to_owned()),
            count: 9,
            settings,
            try_it: "today,nginx-fpm".to_owned(),
        };
        let expected = "this machine's PHP 8.2 is set up otherwise: s1=1, s2=1, s3=1, s4=1, s5=1, s6=1 and 3 more \
             (/etc/php/8.2/fpm/php.ini); the run uses the same settings for all runtimes. To measure \
             it as it is today, too: `--runtimes today,nginx-fpm`";
        assert_eq!(notice.to_string(), expected);
    }

    #[test]
    fn what_a_file_says_comes_first_and_other_workers_are_marked() {
        let settings = vec![
            setting("opcache.revalidate_freq", "2", None),
            setting("extension", "redis", Some(3)),
        ];
        let notice = Notice::AsToday {
            runtime: "today".to_owned(),
            title: "nginx + PHP-FPM as on this machine".to_owned(),
            settings,
            workers: Some(5),
            others_workers: 8,
        };
        assert_eq!(
            notice.to_string(),
            "`today`: nginx + PHP-FPM as on this machine: extension redis, opcache.revalidate_freq=2. It keeps its own \
             number of workers, 5; the others have 8"
        );
    }

    #[test]
    fn limits_with_the_same_reason_are_one_group() {
        let one = |name: &str, why| LimitedSetting { setting: setting(name, "x", Some(1)), why };
        let settings = vec![
            one("worker_processes", HostLimit::Ours),
            one("session.save_path", HostLimit::ReachedForReal),
            one("chroot", HostLimit::Ours),
        ];
        let notice = Notice::NotAsToday { runtime: "today".to_owned(), settings };
        assert_eq!(
            notice.to_string(),
            "`today`: session.save_path=x: in force, so the load reaches the real server; worker_processes=x, chroot=x: \
             not in force, because stampede decides it for all runtimes"
        );
    }
}
