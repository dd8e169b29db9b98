//! Named sets of php.ini values.

/// Every preset: name, values.
pub(super) const PRESETS: [(&str, &[(&str, &str)]); 4] = [
    ("article-000", &ARTICLE_000),
    // Article 003 is article 000 in another translation.
    ("article-003", &ARTICLE_000),
    ("article-001", &ARTICLE_001),
    ("article-004", &ARTICLE_004),
];

// Article 002 gives no php.ini values, and so has no preset.

/// The php.ini values that the Symfony app of articles 000 and 003 showed, key by key. They are
/// Symfony's recommendations for production: PHP 7.2, logs to standard error.
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

/// Article 001, "custom php.ini, with the following parameters". In the article `memory_limit` is
/// 512M for PHP-FPM alone. `apc.enable_cli` belongs to an extension that no runtime here loads.
const ARTICLE_001: [(&str, &str); 12] = [
    ("upload_max_filesize", "50M"),
    ("post_max_size", "50M"),
    ("opcache.enable", "1"),
    ("opcache.interned_strings_buffer", "64"),
    ("opcache.max_accelerated_files", "100000"),
    ("opcache.memory_consumption", "128"),
    ("opcache.save_comments", "1"),
    ("opcache.revalidate_freq", "0"),
    ("opcache.validate_timestamps", "0"),
    ("opcache.max_wasted_percentage", "10"),
    ("apc.enable_cli", "1"),
    ("memory_limit", "256M"),
];

/// Article 004: "php.ini-production is used, Opcache enabled, JIT enabled". These are the values in
/// which PHP 8's own `php.ini-production` differs from stampede's. JIT is the setting `jit`, and
/// preloading is up to an app. `variables_order` stays pinned: without E the `$_ENV` of a SAPI is
/// empty.
const ARTICLE_004: [(&str, &str); 6] = [
    ("error_reporting", "22527"), // E_ALL & ~E_DEPRECATED & ~E_STRICT
    ("max_execution_time", "30"),
    ("memory_limit", "128M"),
    ("opcache.enable", "1"),
    ("post_max_size", "8M"),
    ("upload_max_filesize", "2M"),
];
