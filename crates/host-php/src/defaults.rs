//! What PHP has where no file says otherwise (tidy: data table).
//!
//! Source: `main/main.c`, `ext/*/*.c` of PHP 8.2, and what `php-fpm -n -i` prints. Values are as
//! php.ini's reader makes them: `On` is 1.

/// The settings whose differences are said, the most important first.
pub(crate) const WATCHED_INI: &[&str] = &[
    "session.save_handler",
    "session.save_path",
    "auto_prepend_file",
    "auto_append_file",
    "include_path",
    "open_basedir",
    "disable_functions",
    "opcache.enable",
    "opcache.jit",
    "opcache.preload",
    "opcache.validate_timestamps",
    "opcache.revalidate_freq",
    "opcache.memory_consumption",
    "opcache.max_accelerated_files",
    "opcache.interned_strings_buffer",
    "memory_limit",
    "max_execution_time",
    "post_max_size",
    "upload_max_filesize",
    "max_input_vars",
    "realpath_cache_size",
    "realpath_cache_ttl",
    "error_reporting",
    "log_errors",
    "display_errors",
    "output_buffering",
    "zlib.output_compression",
    "default_socket_timeout",
    "zend.assertions",
    "date.timezone",
];

/// PHP's own values, with those of the stock php.ini that equal them.
const DEFAULTS: &[(&str, &str)] = &[
    ("allow_url_fopen", "1"),
    ("allow_url_include", "0"),
    ("auto_append_file", ""),
    ("auto_globals_jit", "1"),
    ("auto_prepend_file", ""),
    ("bcmath.scale", "0"),
    ("cli_server.color", "0"),
    ("date.timezone", "UTC"),
    ("default_charset", "UTF-8"),
    ("default_mimetype", "text/html"),
    ("default_socket_timeout", "60"),
    ("disable_classes", ""),
    ("disable_functions", ""),
    ("display_errors", "1"),
    ("display_startup_errors", "1"),
    ("enable_dl", "1"),
    // PHP's value is null, which means all.
    ("error_reporting", "32767"),
    ("expose_php", "1"),
    ("file_uploads", "1"),
    ("html_errors", "1"),
    ("ignore_repeated_errors", "0"),
    ("ignore_repeated_source", "0"),
    ("ignore_user_abort", "0"),
    ("implicit_flush", "0"),
    ("ldap.max_links", "-1"),
    ("log_errors", "0"),
    ("max_execution_time", "30"),
    ("max_file_uploads", "20"),
    ("max_input_time", "-1"),
    ("max_input_vars", "1000"),
    ("memory_limit", "128M"),
    ("mysqli.allow_persistent", "1"),
    ("mysqli.default_host", ""),
    ("mysqli.default_port", "3306"),
    ("mysqli.default_pw", ""),
    ("mysqli.default_socket", ""),
    ("mysqli.default_user", ""),
    ("mysqli.max_links", "-1"),
    ("mysqli.max_persistent", "-1"),
    ("mysqlnd.collect_memory_statistics", "0"),
    ("mysqlnd.collect_statistics", "1"),
    ("odbc.allow_persistent", "1"),
    ("odbc.check_persistent", "1"),
    ("odbc.defaultbinmode", "1"),
    ("odbc.defaultlrl", "4096"),
    ("odbc.max_links", "-1"),
    ("odbc.max_persistent", "-1"),
    ("opcache.enable", "1"),
    ("opcache.interned_strings_buffer", "8"),
    ("opcache.jit_buffer_size", "0"),
    ("opcache.max_accelerated_files", "10000"),
    ("opcache.memory_consumption", "128"),
    ("opcache.preload", ""),
    ("opcache.revalidate_freq", "2"),
    ("opcache.save_comments", "1"),
    ("opcache.validate_timestamps", "1"),
    ("open_basedir", ""),
    ("output_buffering", "0"),
    ("pdo_mysql.default_socket", ""),
    ("pgsql.allow_persistent", "1"),
    ("pgsql.auto_reset_persistent", "0"),
    ("pgsql.ignore_notice", "0"),
    ("pgsql.log_notice", "0"),
    ("pgsql.max_links", "-1"),
    ("pgsql.max_persistent", "-1"),
    ("post_max_size", "8M"),
    ("precision", "14"),
    ("realpath_cache_size", "4096K"),
    ("realpath_cache_ttl", "120"),
    ("register_argc_argv", "1"),
    ("report_memleaks", "1"),
    ("request_order", ""),
    ("serialize_precision", "-1"),
    ("session.auto_start", "0"),
    ("session.cache_expire", "180"),
    ("session.cache_limiter", "nocache"),
    ("session.cookie_domain", ""),
    ("session.cookie_httponly", "0"),
    ("session.cookie_lifetime", "0"),
    ("session.cookie_path", "/"),
    ("session.cookie_samesite", ""),
    ("session.gc_divisor", "100"),
    ("session.gc_maxlifetime", "1440"),
    ("session.gc_probability", "1"),
    ("session.name", "PHPSESSID"),
    ("session.referer_check", ""),
    ("session.save_handler", "files"),
    ("session.serialize_handler", "php"),
    ("session.sid_bits_per_character", "4"),
    ("session.sid_length", "32"),
    ("session.trans_sid_tags", "a=href,area=href,frame=src,form="),
    ("session.use_cookies", "1"),
    ("session.use_only_cookies", "1"),
    ("session.use_strict_mode", "0"),
    ("session.use_trans_sid", "0"),
    ("short_open_tag", "1"),
    ("soap.wsdl_cache_enabled", "1"),
    ("soap.wsdl_cache_limit", "5"),
    ("soap.wsdl_cache_ttl", "86400"),
    ("tidy.clean_output", "0"),
    ("unserialize_callback_func", ""),
    ("upload_max_filesize", "2M"),
    ("variables_order", "EGPCS"),
    ("zend.assertions", "1"),
    ("zend.enable_gc", "1"),
    ("zend.exception_ignore_args", "0"),
    ("zend.exception_string_param_max_len", "15"),
    ("zlib.output_compression", "0"),
    ("SMTP", "localhost"),
    ("doc_root", ""),
    ("smtp_port", "25"),
    ("user_dir", ""),
];

/// The value that PHP has where no file sets it; `None`: not known here.
pub(crate) fn default_of(name: &str) -> Option<&'static str> {
    DEFAULTS.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

/// Whether two values of a setting mean the same: `256M` and `268435456`, `Off` and `0`.
pub(crate) fn is_same(name: &str, a: &str, b: &str) -> bool {
    let plain = |value: &str| {
        let value = value.trim().to_ascii_lowercase();
        match (name, value.as_str()) {
            // All but a bit that PHP 8.4 no longer has (`E_STRICT`).
            ("error_reporting", text) => match text.parse::<i64>() {
                Ok(bits) => (bits & 0x7fff & !2048).to_string(),
                Err(_) => value,
            },
            ("opcache.jit", "disable" | "off" | "0" | "") => "0".to_owned(),
            (_, "" | "0" | "off" | "no" | "none" | "false") => "0".to_owned(),
            (_, "on" | "yes" | "true") => "1".to_owned(),
            (_, text) => bytes(text).map_or_else(|| value.clone(), |size| size.to_string()),
        }
    };
    plain(a) == plain(b)
}

/// A number with PHP's units for sizes.
fn bytes(text: &str) -> Option<i64> {
    let (digits, factor) = match text.as_bytes().last()? {
        b'k' => (&text[..text.len() - 1], 1 << 10),
        b'm' => (&text[..text.len() - 1], 1 << 20),
        b'g' => (&text[..text.len() - 1], 1 << 30),
        _ => (text, 1),
    };
    digits.trim().parse::<i64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_compared_by_what_they_mean() {
        for (name, a, b, same) in [
            ("memory_limit", "256M", "268435456", true),
            ("memory_limit", "256M", "512M", false),
            ("display_errors", "", "0", true),
            ("error_reporting", "22527", "24575", true),
            ("error_reporting", "32767", "22527", false),
            ("opcache.jit", "off", "disable", true),
            ("opcache.jit", "tracing", "disable", false),
            ("include_path", ".:/usr/share/php", ".:/usr/share/php", true),
        ] {
            assert_eq!(is_same(name, a, b), same, "{name}: {a}, {b}");
        }
    }

    #[test]
    fn each_setting_is_there_once() {
        let mut names: Vec<&str> = DEFAULTS.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), DEFAULTS.len());
    }
}
