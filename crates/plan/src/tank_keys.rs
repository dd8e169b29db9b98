//! Lists the keys of Yandex Tank's configuration that have no meaning here, each with what happens
//! instead.

/// Keys of the section `phantom`.
pub(super) const PHANTOM: [(&str, &str); 31] = [
    ("additional_libs", PHANTOM_ITSELF),
    ("affinity", "say `--load-cpus` instead"),
    ("autocases", "tags come from the request file"),
    ("buffered_seconds", TANK_ITSELF),
    ("cache_dir", NO_CACHE),
    ("chosen_cases", "requests of all tags are sent"),
    ("client_certificate", NO_CERTIFICATE),
    ("client_cipher_suites", NO_CERTIFICATE),
    ("client_key", NO_CERTIFICATE),
    ("config", PHANTOM_ITSELF),
    ("connection_test", "a target that is not there shows in the first second"),
    ("enum_ammo", "records of requests are in their order"),
    ("file_cache", NO_CACHE),
    ("force_stepping", NO_CACHE),
    ("gatling_ip", "source addresses cannot be chosen"),
    ("method_options", PHANTOM_ITSELF),
    ("method_prefix", PHANTOM_ITSELF),
    ("multi", "a load has one target"),
    ("name", TANK_ITSELF),
    ("phantom_http_entity", NO_LIMITS),
    ("phantom_http_field", NO_LIMITS),
    ("phantom_http_field_num", NO_LIMITS),
    ("phantom_http_line", NO_LIMITS),
    ("phantom_modules_path", PHANTOM_ITSELF),
    ("phantom_path", PHANTOM_ITSELF),
    ("phout_file", "the file of records is named on the command line"),
    ("source_log_prefix", PHANTOM_ITSELF),
    ("tank_type", "stampede speaks only HTTP"),
    ("threads", "say `--threads` instead"),
    ("use_caching", NO_CACHE),
    ("writelog", "requests and answers are not logged; of each failure an example is kept"),
];

/// Sections beside `phantom` and `autostop`.
pub(super) const SECTIONS: [(&str, &str); 20] = [
    ("bfg", OTHER_GUN),
    ("console", "a load shows itself on a terminal"),
    ("core", TANK_ITSELF),
    ("gatling", OTHER_GUN),
    ("influx", "results are written to files"),
    ("jmeter", OTHER_GUN),
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
    ("telegraf", "the target's machine is not monitored from here"),
    ("uploader", "results stay on this machine"),
    ("version", TANK_ITSELF),
    ("ycmonitoring", "the target's machine is not monitored from here"),
];

/// The reasons why a criterion of `autostop` is left out.
pub(super) const NO_MONITORING: &str = "the target's machine is not monitored from here";
pub(super) const NO_TAG: &str = "a criterion is for all requests, not for those of one tag";

/// What happens instead of `key`, or a general reason if the key is not in the table.
pub(super) fn why(table: &[(&str, &'static str)], key: &str) -> &'static str {
    let known = table.iter().find(|(known, _)| *known == key);
    known.map_or("stampede does not know it", |(_, why)| why)
}

const NO_CACHE: &str = "traffic is read while it is sent and needs no cache";
const NO_CERTIFICATE: &str = "no client certificates, and TLS as the library has it";
const NO_LIMITS: &str = "an answer's head may have 64 KiB, its body any length";
const OTHER_GUN: &str = "stampede reads only the load of `phantom`";
const PHANTOM_ITSELF: &str = "it sets up phantom, which is not used";
const TANK_ITSELF: &str = "it sets up Yandex Tank itself";
