//! Reads `.user.ini`, and decides which settings of PHP an app may change here.

use crate::rule::Place;
use crate::{Directory, Left, Why};

/// The settings of PHP that an app's files change, for all runtimes alike.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ini {
    /// Names and values in their order; a later one wins.
    pub settings: Vec<(Place, String, String)>,
    /// What is not taken over.
    pub left: Vec<Left>,
}

/// What PHP reads only for the whole server. A name that ends in a dot stands for all below it.
const SYSTEM: [&str; 30] = [
    "allow_url_fopen",
    "allow_url_include",
    "apc.",
    "cgi.",
    "disable_classes",
    "disable_functions",
    "doc_root",
    "enable_dl",
    "expose_php",
    "extension",
    "extension_dir",
    "fastcgi.",
    "ffi.",
    "file_uploads",
    "hard_timeout",
    "mail.force_extra_parameters",
    "max_file_uploads",
    "mysqlnd.",
    "realpath_cache_size",
    "realpath_cache_ttl",
    "sendmail_path",
    "swoole.",
    "sys_temp_dir",
    "upload_tmp_dir",
    "user_dir",
    "user_ini.",
    "zend_extension",
    "zend.",
    "phar.",
    "uopz.",
];

/// What the plan, or the measurement itself, decides.
const DECIDED: [&str; 22] = [
    "display_errors",
    "display_startup_errors",
    "engine",
    "error_log",
    "html_errors",
    "implicit_flush",
    "include_path",
    "log_errors",
    "mail.log",
    "open_basedir",
    "opcache.",
    "session.gc_divisor",
    "session.gc_probability",
    "session.save_path",
    "soap.wsdl_cache_dir",
    "curl.cainfo",
    "openssl.cafile",
    "openssl.capath",
    "xdebug.",
    "pcov.",
    "xhprof.",
    "newrelic.",
];

/// The numbers of php.ini's constants for `error_reporting`.
const LEVELS: [(&str, i64); 17] = [
    ("E_ERROR", 1),
    ("E_WARNING", 2),
    ("E_PARSE", 4),
    ("E_NOTICE", 8),
    ("E_CORE_ERROR", 16),
    ("E_CORE_WARNING", 32),
    ("E_COMPILE_ERROR", 64),
    ("E_COMPILE_WARNING", 128),
    ("E_USER_ERROR", 256),
    ("E_USER_WARNING", 512),
    ("E_USER_NOTICE", 1024),
    ("E_STRICT", 2048),
    ("E_RECOVERABLE_ERROR", 4096),
    ("E_DEPRECATED", 8192),
    ("E_USER_DEPRECATED", 16384),
    ("E_ALL", 32767),
    ("E_NONE", 0),
];

/// The settings of a `.user.ini`, in their order.
pub fn read_user_ini(file: &str, text: &str) -> Vec<(Place, String, String)> {
    let mut found = Vec::new();
    for (line, text) in (1..).zip(text.lines().map(str::trim)) {
        let Some((name, value)) =
            text.split_once('=').filter(|_| !text.starts_with([';', '#', '[']))
        else {
            continue;
        };
        let place = Place { file: file.to_owned(), line, text: text.to_owned() };
        found.push((place, name.trim().to_owned(), plain(value.trim())));
    }
    found
}

/// A value without its quotes, or without a comment behind it.
fn plain(value: &str) -> String {
    for quote in ['"', '\''] {
        if let Some((inner, _)) = value.strip_prefix(quote).and_then(|rest| rest.split_once(quote))
        {
            return inner.to_owned();
        }
    }
    let value = value.split(';').next().unwrap_or_default().trim();
    match value.to_ascii_lowercase().as_str() {
        "on" | "yes" | "true" => "1".to_owned(),
        "off" | "no" | "false" | "none" | "null" => "0".to_owned(),
        _ => value.to_owned(),
    }
}

impl Directory {
    /// The settings of these files and of the public directory's `.htaccess` that every runtime gets.
    /// `from` is the app's directory, and `to` its copy: a path in it is one in the copy.
    pub fn ini(&self, user_ini: Vec<(Place, String, String)>, from: Option<&str>, to: &str) -> Ini {
        let mut ini = Ini::default();
        for (place, name, value) in self.php.iter().cloned().chain(user_ini) {
            match accepted(&name, &value, from, to) {
                Ok(value) => ini.settings.push((place, name, value)),
                Err(why) => ini.left.push(Left::new(place, why)),
            }
        }
        ini
    }
}

fn accepted(name: &str, value: &str, from: Option<&str>, to: &str) -> Result<String, Why> {
    let is_name = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'_' | b'.')
    };
    let is_in = |list: &[&str]| {
        list.iter().any(|one| *one == name || (one.ends_with('.') && name.starts_with(one)))
    };
    if name.is_empty()
        || !name.bytes().all(is_name)
        || value.contains(char::is_control)
        || value.contains("${")
    {
        return Err(Why::Target);
    }
    if is_in(&SYSTEM) && name != "zend.assertions" {
        return Err(Why::SystemOnly);
    }
    if is_in(&DECIDED) {
        return Err(Why::PlanDecides);
    }
    match name {
        "error_reporting" => level(value).map(|level| level.to_string()).ok_or(Why::Target),
        "auto_prepend_file" | "auto_append_file" if value.starts_with('/') => {
            let below = from.and_then(|from| value.strip_prefix(from.trim_end_matches('/')));
            match below.filter(|below| below.starts_with('/') && !below.contains("/..")) {
                Some(below) => Ok(format!("{to}{below}")),
                None => Err(Why::OutsideApp),
            }
        }
        "auto_prepend_file" | "auto_append_file"
            if value.contains("..") || value.contains("://") =>
        {
            Err(Why::OutsideApp)
        }
        _ => Ok(value.to_owned()),
    }
}

/// The number of a value such as `E_ALL & ~E_NOTICE`. As in php.ini, all signs are of one rank.
fn level(text: &str) -> Option<i64> {
    let spaced: String = text
        .chars()
        .flat_map(|one| match one {
            '&' | '|' | '^' | '~' => vec![' ', one, ' '],
            '(' | ')' => vec!['(', '('],
            one => vec![one],
        })
        .collect();
    if spaced.contains('(') {
        return None;
    }
    let (mut sum, mut sign, mut is_not): (Option<i64>, Option<&str>, bool) = (None, None, false);
    for word in spaced.split_ascii_whitespace() {
        match word {
            "~" => is_not = !is_not,
            "&" | "|" | "^" => sign = Some(word),
            word => {
                let named = LEVELS.iter().find(|(name, _)| *name == word).map(|(_, value)| *value);
                let value = named.or_else(|| word.parse().ok())?;
                let value = if std::mem::take(&mut is_not) { !value } else { value };
                sum = Some(match (sum, sign.take()) {
                    (None, None) => value,
                    (Some(sum), Some("&")) => sum & value,
                    (Some(sum), Some("|")) => sum | value,
                    (Some(sum), Some("^")) => sum ^ value,
                    _ => return None,
                });
            }
        }
    }
    sum.filter(|_| sign.is_none() && !is_not)
        .map(|sum| sum & 0x7fff | if sum < 0 { 0 } else { sum & !0x7fff })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_taken_over_or_named() {
        let text = "; memory_limit=1G\n[PHP]\nmemory_limit = 64M ; more\nauto_prepend_file = \"/srv/shop/waf.php\"\n\
            auto_append_file = /etc/x.php\ndisplay_errors = On\nallow_url_fopen=0\nerror_reporting = E_ALL & ~E_NOTICE\n\
            x=${HOME}\nshort_open_tag = on\nopcache.jit=off";
        let ini =
            Directory::default().ini(read_user_ini(".user.ini", text), Some("/srv/shop"), "/copy");
        let settings: Vec<_> = ini
            .settings
            .iter()
            .map(|(place, name, value)| (place.line, name.as_str(), value.as_str()))
            .collect();
        let expected = [
            (3, "memory_limit", "64M"),
            (4, "auto_prepend_file", "/copy/waf.php"),
            (8, "error_reporting", "32759"),
            (10, "short_open_tag", "1"),
        ];
        assert_eq!(settings, expected);
        let left: Vec<_> = ini.left.iter().map(|left| (left.place.line, left.why)).collect();
        let expected = [
            (5, Why::OutsideApp),
            (6, Why::PlanDecides),
            (7, Why::SystemOnly),
            (9, Why::Target),
            (11, Why::PlanDecides),
        ];
        assert_eq!(left, expected);
    }
}
