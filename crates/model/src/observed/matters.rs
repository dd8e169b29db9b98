//! What of a project's php.ini and extensions decides how much work PHP has. A project in containers
//! brings its own: the rest is its own matter.

/// The values of php.ini that matter. They decide what is compiled, cached, checked or buffered.
const INI: [&str; 24] = [
    "auto_append_file",
    "auto_prepend_file",
    "memory_limit",
    "opcache.enable",
    "opcache.file_cache",
    "opcache.file_cache_only",
    "opcache.huge_code_pages",
    "opcache.interned_strings_buffer",
    "opcache.jit",
    "opcache.jit_buffer_size",
    "opcache.max_accelerated_files",
    "opcache.memory_consumption",
    "opcache.optimization_level",
    "opcache.preload",
    "opcache.revalidate_freq",
    "opcache.validate_timestamps",
    // With it PHP does not cache the paths of files.
    "open_basedir",
    "output_buffering",
    "pcre.jit",
    "realpath_cache_size",
    "realpath_cache_ttl",
    "xdebug.mode",
    "zend.assertions",
    "zlib.output_compression",
];

/// Extensions that watch or change how every function runs.
const EXTENSIONS: [&str; 10] = [
    "blackfire",
    "datadog-profiling",
    "ddtrace",
    "excimer",
    "newrelic",
    "pcov",
    "tideways",
    "tideways_xhprof",
    "xdebug",
    "xhprof",
];

/// Whether a value of php.ini matters.
pub(super) fn ini_matters(directive: &str) -> bool {
    INI.contains(&directive)
}

/// Whether a directive is about OPcache's JIT alone.
pub(super) fn is_of_jit(directive: &str) -> bool {
    directive == "opcache.jit" || directive.starts_with("opcache.jit_")
}

/// Whether it matters that an extension is loaded. Its name is in lower case.
pub(super) fn extension_matters(name: &str) -> bool {
    EXTENSIONS.contains(&name)
}

/// Whether an extension is built into later releases of PHP only. Source: the manual's list of core
/// extensions, and the UPGRADING files of PHP 8.2 and 8.5.
pub(super) fn is_new_in_php(extension: &str) -> bool {
    ["random", "lexbor", "uri"].contains(&extension)
}

/// Whether two values of a directive are the same to PHP. An empty one and `0` both switch it off, as the
/// words for it do, and `1M` is 1048576.
pub(super) fn is_same_ini(a: Option<&String>, b: Option<&String>) -> bool {
    let plain = |value: &String| {
        let word = value.to_ascii_lowercase();
        match word.as_str() {
            "" | "off" | "no" | "false" | "none" => "0".to_owned(),
            "on" | "yes" | "true" => "1".to_owned(),
            _ => in_bytes(&word).unwrap_or_else(|| value.clone()),
        }
    };
    a.map(plain) == b.map(plain)
}

/// A size such as `128m` in bytes.
fn in_bytes(size: &str) -> Option<String> {
    let power = ["k", "m", "g"].iter().position(|unit| size.ends_with(unit))?;
    let count: u64 = size[..size.len() - 1].parse().ok()?;
    Some(count.checked_mul(1 << (10 * (power + 1)))?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_switch_a_directive_off_are_the_same() {
        let same = |a: &str, b: &str| is_same_ini(Some(&a.to_owned()), Some(&b.to_owned()));
        assert!(same("", "0") && same("Off", "0") && same("On", "1") && same("128M", "128M"));
        assert!(!same("0", "1") && !same("128M", "256M") && !same("-1", "0"));
        assert!(same("128M", "134217728") && same("1g", "1048576K") && !same("1M", "1K"));
        assert!(!same("m", "M2") && !same("/dev/disk", "/dev/dis"));
        assert!(!is_same_ini(None, Some(&"0".to_owned())), "the directive is not there");
    }
}
