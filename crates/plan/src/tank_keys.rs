//! The keys of Yandex Tank's configuration: those that are read, and those that have no meaning
//! here, each with what happens instead.

use super::keys::{Default, Entries, Group, Key, Kind, Object};

/// The section `phantom`. Every other key is a mistake.
pub(super) static PHANTOM: Object = Object {
    name: "phantom",
    place: "`phantom`",
    about: "The load.",
    short: None,
    groups: &[&READ, &UNUSED],
    rest: None,
    entries: Entries::Any,
    below: None,
};

/// All keys of the file.
pub(super) static GROUPS: [&Group; 12] =
    [&FILE, &OTHER, &READ, &UNUSED, &PROFILE, &PANDORA, &POOLS, &POOL, &GUN, &AMMO, &SOURCE, &STEP];

/// The sections that are read.
pub(super) static FILE: Group = Group { title: None, keys: &[read("phantom"), read("autostop")] };

/// The section that is read where `phantom` is off.
static OTHER: Group = Group { title: None, keys: &[read("pandora")] };

/// The keys of `phantom` that are read.
static READ: Group = Group {
    title: None,
    keys: &[
        read("address"),
        read("ammo_limit"),
        read("ammo_type"),
        read("ammofile"),
        read("enabled"),
        read("header_http"),
        read("headers"),
        read("instances"),
        read("instances_schedule"),
        read("load_profile"),
        read("loop"),
        read("package"),
        read("port"),
        read("rps_schedule"),
        read("ssl"),
        read("stpd_file"),
        read("timeout"),
        read("uris"),
    ],
};

/// The keys of `phantom` that have no meaning here.
pub(super) static UNUSED: Group = Group {
    title: None,
    keys: &[
        unused("additional_libs", PHANTOM_ITSELF),
        unused("affinity", "say `--load-cpus` instead"),
        unused("autocases", "tags come from the request file"),
        unused("buffered_seconds", TANK_ITSELF),
        unused("cache_dir", NO_CACHE),
        unused("chosen_cases", "requests of all tags are sent"),
        unused("client_certificate", NO_CERTIFICATE),
        unused("client_cipher_suites", NO_CERTIFICATE),
        unused("client_key", NO_CERTIFICATE),
        unused("config", PHANTOM_ITSELF),
        unused("connection_test", "a target that is not there shows in the first second"),
        unused("enum_ammo", "records of requests are in their order"),
        unused("file_cache", NO_CACHE),
        unused("force_stepping", NO_CACHE),
        unused("gatling_ip", "source addresses cannot be chosen"),
        unused("method_options", PHANTOM_ITSELF),
        unused("method_prefix", PHANTOM_ITSELF),
        unused("multi", "a load has one target"),
        unused("name", TANK_ITSELF),
        unused("phantom_http_entity", NO_LIMITS),
        unused("phantom_http_field", NO_LIMITS),
        unused("phantom_http_field_num", NO_LIMITS),
        unused("phantom_http_line", NO_LIMITS),
        unused("phantom_modules_path", PHANTOM_ITSELF),
        unused("phantom_path", PHANTOM_ITSELF),
        unused("phout_file", "the file of records is named on the command line"),
        unused("source_log_prefix", PHANTOM_ITSELF),
        unused("tank_type", "stampede speaks only HTTP"),
        unused("threads", "say `--threads` instead"),
        unused("use_caching", NO_CACHE),
        unused(
            "writelog",
            "requests and answers are not logged; of each failure an example is kept",
        ),
    ],
};

/// The keys of `load_profile`.
static PROFILE: Group = Group { title: None, keys: &[read("load_type"), read("schedule")] };

/// The keys of the section `pandora` that are read.
pub(super) static PANDORA: Group = Group {
    title: None,
    keys: &[
        read("config_content"),
        read("config_file"),
        read("enabled"),
        read("package"),
        read("pandora_cmd"),
    ],
};

/// The keys of pandora's configuration that are read, or that Tank's file may have beside it.
pub(super) static POOLS: Group =
    Group { title: None, keys: &[read("autostop"), read("log"), read("pools")] };

/// The keys of a pool.
pub(super) static POOL: Group = Group {
    title: None,
    keys: &[read("ammo"), read("gun"), read("id"), read("result"), read("rps"), read("startup")],
};

/// The keys of a gun.
pub(super) static GUN: Group =
    Group { title: None, keys: &[read("ssl"), read("target"), read("type")] };

/// The keys of a pool's ammunition.
pub(super) static AMMO: Group = Group {
    title: None,
    keys: &[
        read("file"),
        read("headers"),
        read("limit"),
        read("passes"),
        read("source"),
        read("type"),
        read("uris"),
    ],
};

/// The keys of a source of ammo.
pub(super) static SOURCE: Group =
    Group { title: None, keys: &[read("data"), read("path"), read("type")] };

/// The keys of a step of a schedule.
static STEP: Group = Group {
    title: None,
    keys: &[
        read("duration"),
        read("from"),
        read("ops"),
        read("step"),
        read("times"),
        read("to"),
        read("type"),
    ],
};

const fn read(name: &'static str) -> Key {
    unused(name, "")
}

/// A key without a meaning, and what happens instead.
const fn unused(name: &'static str, about: &'static str) -> Key {
    let (kind, default) = (&Kind::Foreign, Default::Unset);
    Key { name, old: &[], kind, default, about, example: "" }
}

/// Sections beside `phantom` and `autostop`.
const SECTIONS: [(&str, &str); 30] = [
    ("aggregator", TANK_ITSELF),
    ("bfg", OTHER_GUN),
    ("console", "a load shows itself on a terminal"),
    ("core", TANK_ITSELF),
    ("gatling", OTHER_GUN),
    ("graphite", "results are written to files"),
    ("influx", "results are written to files"),
    ("jmeter", OTHER_GUN),
    ("loadosophia", "results stay on this machine"),
    ("meta", TANK_ITSELF),
    ("monitoring", "the target's machine is not monitored from here"),
    ("json_report", "say `--json` instead"),
    ("offline_report", "results are written to files"),
    ("opentsdb", "results are written to files"),
    ("overload", "results stay on this machine"),
    ("pandora", OTHER_GUN),
    ("platform", TANK_ITSELF),
    ("rcassert", "say `--expect` instead"),
    ("rcheck", "resources are not checked before the load"),
    ("shellexec", "no commands are run around the load"),
    ("shootexec", OTHER_GUN),
    ("tank", TANK_ITSELF),
    ("telegraf", "the target's machine is not monitored from here"),
    ("tips", TANK_ITSELF),
    ("ultimate_gun", OTHER_GUN),
    ("uploader", "results stay on this machine"),
    ("version", TANK_ITSELF),
    ("web", "a load shows itself on a terminal"),
    ("webonline", "a load shows itself on a terminal"),
    ("ycmonitoring", "the target's machine is not monitored from here"),
];

/// The reasons why a criterion of `autostop` is left out.
pub(super) const NO_MONITORING: &str = "the target's machine is not monitored from here";
pub(super) const NO_TAG: &str = "a criterion is for all requests, not for those of one tag";

/// What happens instead of a section.
pub(super) fn why(section: &str) -> &'static str {
    let known = SECTIONS.iter().find(|(known, _)| *known == section);
    known.map_or("stampede does not know it", |(_, why)| why)
}

const NO_CACHE: &str = "traffic is read while it is sent and needs no cache";
const NO_CERTIFICATE: &str = "no client certificates, and TLS as the library has it";
const NO_LIMITS: &str = "an answer's head may have 64 KiB, its body any length";
const OTHER_GUN: &str = "stampede reads the load of `phantom`, or of `pandora` where that is off";
const PHANTOM_ITSELF: &str = "it sets up phantom, which is not used";
const TANK_ITSELF: &str = "it sets up Yandex Tank itself";
