//! Knows which php.ini keys have a secret as their value.
//!
//! Many keys of php.ini contain a word such as `session`, `cookie` or `key` and are plain settings.
//! Their module decides, not their words.

/// Modules all of whose keys are known, in lower case. Their keys are plain but for [`SECRET`].
/// Other programs have names such as `mail.password` too, so [`NEVER_PLAIN`] comes first.
const MODULES: [&str; 34] = [
    "apc",
    "assert",
    "bcmath",
    "cli_server",
    "com",
    "curl",
    "date",
    "exif",
    "ffi",
    "filter",
    "gd",
    "highlight",
    "iconv",
    "imagick",
    "intl",
    "ldap",
    "mail",
    "mbstring",
    "memcache",
    "mysqlnd",
    "odbc",
    "opcache",
    "openssl",
    "pcre",
    "pdo_mysql",
    "phar",
    "soap",
    "sqlite3",
    "sysvshm",
    "tidy",
    "uploadprogress",
    "xdebug",
    "zend",
    "zlib",
];

/// Beginnings of the keys of the module `session`. The whole module is not listed, because a log
/// has `session.id=…` too.
const OF_SESSION: [&str; 16] = [
    "auto_start",
    "cache_",
    "cookie_",
    "entropy_",
    "gc_",
    "hash_",
    "lazy_write",
    "name",
    "referer_check",
    "save_",
    "serialize_handler",
    "sid_",
    "trans_sid_",
    "upload_progress.",
    "use_",
    "rfc1867_",
];

/// Keys with a secret, though their words do not say so, or though their module is plain.
const SECRET: [&str; 16] = [
    "blackfire.server_id",
    "blackfire.client_id",
    "ibase.default_password",
    "ldap.default_password",
    "memcached.sess_sasl_password",
    "memcached.sess_sasl_username",
    "mysql.default_password",
    "mysqli.default_pw",
    "newrelic.license",
    "newrelic.security.license",
    "oci8.default_password",
    "odbc.default_pw",
    "suhosin.cookie.cryptkey",
    "suhosin.session.cryptkey",
    "sourceguardian.license",
    "tideways.connection_id",
];

/// No plain key of these modules contains such a word.
const NEVER_PLAIN: [&str; 5] = ["pass", "secret", "token", "credential", "auth"];

/// Whether the key of php.ini has a secret; `None`: it is no key that this list knows.
pub(super) fn is_secret(name: &str) -> Option<bool> {
    let name = name.to_ascii_lowercase();
    if SECRET.contains(&name.as_str()) {
        return Some(true);
    }
    let (module, key) = name.split_once('.')?;
    let is_plain = MODULES.contains(&module)
        || module == "session" && OF_SESSION.iter().any(|begin| key.starts_with(begin));
    let is_sure = !NEVER_PLAIN.iter().any(|word| key.contains(word));
    (is_plain && is_sure).then_some(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_secret_by_their_list() {
        for name in ["mysqli.default_pw", "newrelic.license", "MySQLi.default_pw"] {
            assert_eq!(is_secret(name), Some(true), "{name}");
        }
        for name in [
            "session.gc_probability",
            "session.cookie_secure",
            "session.sid_length",
            "session.upload_progress.name",
            "opcache.preload_user",
            "opcache.file_cache",
            "zend.assertions",
            "openssl.cafile",
            "curl.cainfo",
        ] {
            assert_eq!(is_secret(name), Some(false), "{name}");
        }
        for name in
            ["session.id", "session", "memory_limit", "redis.auth", "Auth.php", "mail.password"]
        {
            assert_eq!(is_secret(name), None, "{name}");
        }
    }
}
