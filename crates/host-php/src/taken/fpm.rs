//! What is taken over from a pool of PHP-FPM.

use super::{TakenOver, WhyNot};
use crate::chosen::Chosen;

/// Settings of a pool that become raw lines of the run's pool, where the last line wins.
const LINES: [&str; 12] = [
    "pm.start_servers",
    "pm.min_spare_servers",
    "pm.max_spare_servers",
    "pm.max_spawn_rate",
    "pm.process_idle_timeout",
    "listen.backlog",
    "process.priority",
    "request_terminate_timeout",
    "request_slowlog_timeout",
    "rlimit_core",
    "rlimit_files",
    "security.limit_extensions",
];
/// Settings with their names in a plan.
const SETTINGS: [(&str, &str); 3] =
    [("pm", "pm"), ("pm.max_children", "workers"), ("pm.max_requests", "max_requests")];

impl TakenOver {
    pub(super) fn take_pool(&mut self, chosen: &Chosen<'_>) {
        let Some(pool) = chosen.pool else { return };
        for (name, own) in SETTINGS {
            if let Some(setting) = pool.settings.get(name) {
                self.settings.insert(own.to_owned(), setting.value.clone());
                self.say(name, &setting.value, Some(&setting.at));
            }
        }
        let pm = pool.get("pm").unwrap_or_default();
        for name in LINES {
            let Some(setting) = pool.settings.get(name) else { continue };
            let holds = match name {
                "pm.start_servers"
                | "pm.min_spare_servers"
                | "pm.max_spare_servers"
                | "pm.max_spawn_rate" => pm == "dynamic",
                "pm.process_idle_timeout" => pm == "ondemand",
                _ => true,
            };
            match (holds, setting.is_known) {
                (true, true) => {
                    self.append("fpm.conf", format!("{name} = {}", setting.value));
                    self.say(name, &setting.value, Some(&setting.at));
                }
                (true, false) => self.say_not(name, setting, WhyNot::NotKnown),
                (false, _) => {}
            }
        }
        if let Some(setting) = pool.settings.get("chroot") {
            self.say_not("chroot", setting, WhyNot::Ours);
        }
        for (name, setting) in &pool.env {
            let shown = format!("env[{name}]");
            // A run has its own PATH, and its own directory for files.
            let is_ours = ["PATH", "TMP", "TMPDIR", "TEMP", "HOME"].contains(&name.as_str());
            match (is_ours, setting.is_known) {
                (true, _) => {}
                (false, true) => {
                    self.env.insert(name.clone(), setting.value.clone());
                    self.say(&shown, &setting.value, Some(&setting.at));
                }
                (false, false) => self.say_not(&shown, setting, WhyNot::NotKnown),
            }
        }
    }
}
