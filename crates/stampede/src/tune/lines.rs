//! Finds the lines in a runtime's own configuration that carry a setting: the lines that differ
//! between the rendered files of two choices. It knows no particular runtime.

use std::collections::BTreeMap;

use serde_json::Value;
use stampede_model::record::RuntimeRecord;

use stampede_results::tune::Line;

/// The configuration of a trial's runtime: file → lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configuration(BTreeMap<String, Vec<String>>);

impl Configuration {
    /// Returns the rendered files and the command lines of a record.
    pub fn of(record: &RuntimeRecord) -> Configuration {
        let lines = |text: &String| text.lines().map(|line| line.trim().to_owned()).collect();
        let mut files: BTreeMap<String, Vec<String>> =
            record.files.iter().map(|(name, text)| (name.clone(), lines(text))).collect();
        files.insert(COMMANDS.to_owned(), record.commands.clone());
        // A compose project reads its settings from variables.
        let variable = |(name, value): (&String, &Value)| {
            Some(format!("{}={}", name.strip_prefix("env.")?, value.as_str()?))
        };
        let variables = record.settings.iter().filter_map(variable).collect();
        files.insert(VARIABLES.to_owned(), variables);
        Configuration(files)
    }

    /// Returns the lines that at least one of `others` lacks. `again` is another trial of the same
    /// settings. Lines that it lacks differ from trial to trial, such as ports and directories, and
    /// are left out.
    pub fn lines(&self, again: &Configuration, others: &[&Configuration]) -> Vec<Line> {
        let empty = Vec::new();
        let mut found = Vec::new();
        for (file, lines) in &self.0 {
            let same = again.0.get(file).unwrap_or(&empty);
            let own = lines.iter().filter(|line| !line.is_empty() && same.contains(line));
            for line in own {
                let lacks = |other: &&&Configuration| {
                    !other.0.get(file).is_some_and(|lines| lines.contains(line))
                };
                let line = Line { file: file.clone(), text: line.clone() };
                if others.iter().any(|other| lacks(&other)) && !found.contains(&line) {
                    found.push(line);
                }
            }
        }
        found
    }
}

const COMMANDS: &str = "command line";
const VARIABLES: &str = "environment";

#[cfg(test)]
mod tests {
    use super::*;

    fn configured(workers: u32, port: u32) -> Configuration {
        let record = RuntimeRecord {
            files: BTreeMap::from([
                (
                    "fpm.conf".to_owned(),
                    format!(
                        "[www]\n  pm = static\n  pm.max_children = {workers}\nlisten = /tmp/{port}/fpm.sock\n"
                    ),
                ),
                ("php.ini".to_owned(), "opcache.enable=1\n".to_owned()),
            ]),
            commands: vec![
                format!("PHP_CLI_SERVER_WORKERS={workers} php -S"),
                format!("nginx -p /tmp/{port}"),
            ],
            ..RuntimeRecord::default()
        };
        Configuration::of(&record)
    }

    #[test]
    fn only_lines_that_differ_with_the_setting_are_its_lines() {
        let (best, again, other) = (configured(14, 1), configured(14, 2), configured(32, 3));
        let lines = best.lines(&again, &[&other]);
        let shown: Vec<_> = lines.iter().map(|l| (l.file.as_str(), l.text.as_str())).collect();
        assert_eq!(
            shown,
            [
                ("command line", "PHP_CLI_SERVER_WORKERS=14 php -S"),
                ("fpm.conf", "pm.max_children = 14"),
            ]
        );
        assert!(best.lines(&again, &[&configured(14, 4)]).is_empty());
    }
}
