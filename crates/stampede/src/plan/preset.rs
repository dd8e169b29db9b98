//! Named sets of php.ini values.

/// Every preset: name, values.
pub(super) const PRESETS: [(&str, &[(&str, &str)]); 1] = [("article-000", &ARTICLE_000)];

/// What the Symfony app of articles 000 and 003 showed of its php.ini, key by key: the
/// recommendations of Symfony for production, PHP 7.2, logs to standard error.
const ARTICLE_000: [(&str, &str); 13] = [
    ("date.timezone", "Europe/Paris"),
    ("display_errors", ""),
    ("error_log", "/proc/self/fd/2"),
    ("error_reporting", "32767"),
    ("log_errors", "1"),
    ("memory_limit", "256M"),
    ("opcache.enable", "1"),
    ("opcache.max_accelerated_files", "20000"),
    ("opcache.memory_consumption", "256"),
    ("opcache.validate_timestamps", "0"),
    ("realpath_cache_size", "4096K"),
    ("realpath_cache_ttl", "600"),
    ("short_open_tag", ""),
];
