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

/// Whether it matters that an extension is loaded. Its name is in lower case.
pub(super) fn extension_matters(name: &str) -> bool {
    EXTENSIONS.contains(&name)
}

/// Whether an extension is built into later releases of PHP only. Source: the manual's list of core
/// extensions, and the UPGRADING files of PHP 8.2 and 8.5.
pub(super) fn is_new_in_php(extension: &str) -> bool {
    ["random", "lexbor", "uri"].contains(&extension)
}
