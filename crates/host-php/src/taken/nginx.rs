//! What is taken over from nginx: as directives of the run's own site, where they win over those
//! of the level above.

use super::{TakenOver, WhyNot};
use crate::chosen::Chosen;
use crate::nginx::GZIP;

/// Directives that are taken as they are, with the value that nginx has by itself (ngx_http_core,
/// ngx_http_fastcgi; pages of 4 KiB) where the run has another one.
const LINES: [(&str, Option<&str>); 21] = [
    ("client_body_buffer_size", None),
    ("client_max_body_size", Some("1m")),
    ("fastcgi_buffer_size", Some("4k")),
    ("fastcgi_buffering", None),
    ("fastcgi_buffers", Some("8 4k")),
    ("fastcgi_read_timeout", Some("60s")),
    ("fastcgi_request_buffering", None),
    ("fastcgi_send_timeout", Some("60s")),
    ("keepalive_requests", Some("1000")),
    ("large_client_header_buffers", Some("4 8k")),
    ("open_file_cache", None),
    ("open_file_cache_errors", None),
    ("open_file_cache_min_uses", None),
    ("open_file_cache_valid", None),
    ("output_buffers", None),
    ("postpone_output", None),
    ("reset_timedout_connection", None),
    ("sendfile", Some("off")),
    ("sendfile_max_chunk", None),
    ("tcp_nodelay", None),
    ("tcp_nopush", None),
];
const FILE: &str = "nginx.conf";

impl TakenOver {
    pub(super) fn take_nginx(&mut self, chosen: &Chosen<'_>) {
        for (name, default) in LINES {
            match (chosen.web(name), default) {
                (Some(setting), _) if !setting.is_known => {
                    self.say_not(name, setting, WhyNot::NotKnown);
                }
                (Some(setting), _) => {
                    self.append(FILE, format!("{name} {};", setting.value));
                    self.say(name, &setting.value, Some(&setting.at));
                }
                (None, Some(default)) => {
                    self.append(FILE, format!("{name} {default};"));
                    self.say(name, default, None);
                }
                (None, None) => {}
            }
        }
        self.take_busy_buffers(chosen);
        self.take_gzip(chosen);
        self.take_connections(chosen);
        for name in ["worker_processes", "worker_connections"] {
            if let Some(setting) = chosen.nginx().and_then(|nginx| nginx.settings.get(name)) {
                self.say_not(name, setting, WhyNot::Ours);
            }
        }
        if let Some(setting) = chosen.web("fastcgi_cache").filter(|set| set.value != "off") {
            self.say_not("fastcgi_cache", setting, WhyNot::NoPlace);
        }
    }

    /// nginx derives it from the others where nothing sets it; the run's own level sets it.
    fn take_busy_buffers(&mut self, chosen: &Chosen<'_>) {
        let name = "fastcgi_busy_buffers_size";
        if let Some(setting) = chosen.web(name) {
            self.append(FILE, format!("{name} {};", setting.value));
            self.say(name, &setting.value, Some(&setting.at));
            return;
        }
        let value = |name: &str| chosen.web(name).map(|setting| setting.value.as_str());
        let one = value("fastcgi_buffer_size").unwrap_or("4k");
        let each = value("fastcgi_buffers").and_then(|both| both.split(' ').nth(1)).unwrap_or("4k");
        let size = 2 * size(one).max(size(each));
        self.append(FILE, format!("{name} {size};"));
    }

    fn take_gzip(&mut self, chosen: &Chosen<'_>) {
        let Some(gzip) = chosen.web("gzip").filter(|setting| setting.value == "on") else { return };
        self.append(FILE, "gzip on;".to_owned());
        self.say("gzip", "on", Some(&gzip.at));
        for name in GZIP {
            match chosen.web(name) {
                Some(setting) => {
                    self.append(FILE, format!("{name} {};", quoted(&setting.value)));
                    self.say(name, &setting.value, Some(&setting.at));
                }
                // nginx adds text/html by itself, and warns if it is named. The run compresses all
                // types.
                None if name == "gzip_types" => self.append(FILE, format!("{name} text/x-none;")),
                None => {}
            }
        }
    }

    fn take_connections(&mut self, chosen: &Chosen<'_>) {
        let timeout = chosen.web("keepalive_timeout");
        let value = timeout.map_or("75", |setting| setting.value.as_str());
        let seconds = value.split(' ').next().unwrap_or_default().trim_end_matches('s');
        match seconds.parse::<u32>() {
            Ok(0) => self.settings.insert("keep_alive".to_owned(), "off".to_owned()),
            Ok(seconds) => {
                self.settings.insert("keepalive_timeout".to_owned(), seconds.to_string())
            }
            Err(_) => None,
        };
        if let Some(setting) = timeout {
            self.say("keepalive_timeout", &setting.value, Some(&setting.at));
        }
        let log = chosen.web("access_log");
        let is_off = log.is_some_and(|setting| setting.value == "off");
        let word = if is_off { "off" } else { "on" };
        self.settings.insert("access_log".to_owned(), word.to_owned());
        self.say("access_log", word, log.map(|setting| &setting.at));
        let keeps = chosen.web("fastcgi_keep_conn").is_some_and(|setting| setting.value == "on");
        if let Some(kept) = chosen.web("upstream keepalive").filter(|_| keeps) {
            self.settings.insert("fastcgi_keep".to_owned(), kept.value.clone());
            self.say("upstream keepalive", &kept.value, Some(&kept.at));
        }
    }
}

/// A size of nginx in bytes.
fn size(text: &str) -> u64 {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match text.as_bytes().last() {
        Some(b'k' | b'K') => 1 << 10,
        Some(b'm' | b'M') => 1 << 20,
        _ => 1,
    };
    digits.parse::<u64>().map_or(4 << 10, |number| number.saturating_mul(factor))
}

/// The arguments, those in quotes that need them.
fn quoted(value: &str) -> String {
    let plain = |c: char| !"{};\"'\\".contains(c);
    match value.chars().all(plain) {
        true => value.to_owned(),
        false => format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}
