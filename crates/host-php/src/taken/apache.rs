//! What is taken over from Apache: as lines at the end of the run's file, where the last line wins.

use super::{TakenOver, WhyNot};
use crate::chosen::{Chosen, Server};

/// Limits of prefork, and those of the MPMs with threads, with what Apache has by itself.
const PREFORK: [(&str, &str); 5] = [
    ("StartServers", "5"),
    ("MinSpareServers", "5"),
    ("MaxSpareServers", "10"),
    ("MaxConnectionsPerChild", "0"),
    ("MaxKeepAliveRequests", "100"),
];
const THREADS: [(&str, &str); 7] = [
    ("ThreadLimit", "64"),
    ("ThreadsPerChild", "25"),
    ("StartServers", "3"),
    ("MinSpareThreads", "75"),
    ("MaxSpareThreads", "250"),
    ("MaxConnectionsPerChild", "0"),
    ("MaxKeepAliveRequests", "100"),
];
const FILE: &str = "httpd.conf";

impl TakenOver {
    pub(super) fn take_apache(&mut self, chosen: &Chosen<'_>) {
        let is_prefork = chosen.server == Server::ApacheModphp;
        let lines: &[(&str, &str)] = if is_prefork { &PREFORK } else { &THREADS };
        for (name, default) in lines {
            let setting = chosen.web(name);
            let value = setting.map_or(*default, |setting| setting.value.as_str()).to_owned();
            self.append(FILE, format!("{name} {value}"));
            if let Some(setting) = setting {
                self.say(name, &value, Some(&setting.at));
            }
        }
        let number = |name: &str, default: u32| {
            chosen.web(name).and_then(|setting| setting.value.parse().ok()).unwrap_or(default)
        };
        let workers = chosen.web("MaxRequestWorkers");
        if is_prefork {
            let max = number("MaxRequestWorkers", 256);
            self.settings.insert("workers".to_owned(), max.to_string());
            self.settings.insert("prefork".to_owned(), "dynamic".to_owned());
            self.say("MaxRequestWorkers", &max.to_string(), workers.map(|setting| &setting.at));
        } else {
            let per_child = number("ThreadsPerChild", 25).max(1);
            let children = number("ServerLimit", 16);
            let max = number("MaxRequestWorkers", per_child * children);
            let children = children.max(max.div_ceil(per_child));
            self.append(FILE, format!("ServerLimit {children}\nMaxRequestWorkers {max}"));
            self.settings.insert("threads".to_owned(), max.to_string());
            self.say("MaxRequestWorkers", &max.to_string(), workers.map(|setting| &setting.at));
            self.take_mpm(chosen);
        }
        self.take_keep_alive(chosen);
    }

    fn take_mpm(&mut self, chosen: &Chosen<'_>) {
        let modules = chosen.host.apache.iter().flat_map(|apache| &apache.modules);
        for module in modules.filter_map(|name| name.strip_prefix("mpm_")) {
            match module {
                "event" | "worker" => {
                    self.settings.insert("mpm".to_owned(), module.to_owned());
                }
                other => {
                    let at = chosen.site.map(|site| site.at.clone()).unwrap_or_default();
                    let setting = crate::Setting { value: other.to_owned(), at, is_known: true };
                    self.say_not("mpm", &setting, WhyNot::NoPlace);
                }
            }
        }
    }

    fn take_keep_alive(&mut self, chosen: &Chosen<'_>) {
        if let Some(setting) = chosen.web("KeepAlive") {
            let is_off = setting.value.eq_ignore_ascii_case("off");
            if is_off {
                self.settings.insert("keep_alive".to_owned(), "off".to_owned());
            }
            self.say("KeepAlive", &setting.value, Some(&setting.at));
        }
        let timeout = chosen.web("KeepAliveTimeout");
        let value = timeout.map_or("5", |setting| setting.value.as_str());
        if value.parse::<u32>().is_ok_and(|seconds| seconds > 0) {
            self.settings.insert("keepalive_timeout".to_owned(), value.to_owned());
            self.say("KeepAliveTimeout", value, timeout.map(|setting| &setting.at));
        }
        let log = chosen.web("CustomLog");
        let word = if log.is_some() { "on" } else { "off" };
        self.settings.insert("access_log".to_owned(), word.to_owned());
        if let Some(setting) = log {
            self.say("CustomLog", &setting.value, Some(&setting.at));
        }
    }
}
