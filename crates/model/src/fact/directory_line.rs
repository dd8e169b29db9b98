//! Lines of `.htaccess` and `.user.ini`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words;

/// A line of a file that configures a web server or PHP for one directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DirectoryLine {
    /// The file, relative to the app's directory.
    pub file: String,
    /// The number of the line, from 1.
    pub line: u32,
    /// What it says.
    pub text: String,
    /// Why it is not applied. Null: in results of earlier versions.
    #[serde(default)]
    pub why: Option<LineReason>,
    /// The web servers of the run that do not apply it, such as `nginx`. Empty: all.
    #[serde(default)]
    pub not_by: Vec<String>,
}

/// What the run's runtimes apply of an app's `.htaccess` and `.user.ini`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DirectoryFiles {
    /// The app's name.
    pub app: String,
    /// Number of rules that web servers apply.
    #[serde(default)]
    pub rules: u64,
    /// Number of settings of PHP that every runtime applies.
    #[serde(default)]
    pub settings: u64,
    /// Number of lines that some or all do not apply.
    pub count: u64,
    /// The first of them.
    pub lines: Vec<DirectoryLine>,
    /// The runtimes of the run whose web server applies rules.
    #[serde(default)]
    pub applied_by: Vec<String>,
    /// The runtimes of the run that apply no rules.
    #[serde(default)]
    pub ignored_by: Vec<String>,
}

/// Why a line is not applied.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum LineReason {
    /// It depends on something that only Apache knows here.
    Condition,
    /// A flag of the rule has no counterpart.
    Flag,
    /// What it leads to, or its value, is not understood.
    Target,
    /// Its regular expression is not understood, or not known to the server.
    Pattern,
    /// It stands in a section that is not understood.
    Section,
    /// It leads to another scheme or host.
    OtherHost,
    /// It says which program handles files, which the runtime decides.
    Handler,
    /// It depends on who asks.
    Login,
    /// It refuses every request.
    RefusesAll,
    /// Only Apache has it.
    ApacheOnly,
    /// Only PHP in Apache has it.
    ModPhpOnly,
    /// The server cannot do it.
    ServerLacks,
    /// Apache here lacks the module.
    NoModule,
    /// PHP takes it only from php.ini.
    SystemOnly,
    /// The plan or the measurement decides it.
    PlanDecides,
    /// It names a file outside of the app.
    OutsideApp,
    /// It stands above the public directory.
    AbovePublic,
}

impl fmt::Display for LineReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            LineReason::Condition => "a condition that only Apache knows",
            LineReason::Flag => "a flag without a counterpart",
            LineReason::Target => "a value that is not understood",
            LineReason::Pattern => "an expression that is not understood",
            LineReason::Section => "a section that is not understood",
            LineReason::OtherHost => "it leads to another scheme or host",
            LineReason::Handler => "the runtime decides what handles PHP",
            LineReason::Login => "it depends on who asks",
            LineReason::RefusesAll => "it refuses every request",
            LineReason::ApacheOnly => "only Apache has it",
            LineReason::ModPhpOnly => "only mod_php has it",
            LineReason::ServerLacks => "the server cannot do it",
            LineReason::NoModule => "Apache lacks the module",
            LineReason::SystemOnly => "PHP takes it only from php.ini",
            LineReason::PlanDecides => "the plan decides it",
            LineReason::OutsideApp => "it names a file outside of the app",
            LineReason::AbovePublic => "it stands above the public directory",
        })
    }
}

impl fmt::Display for DirectoryFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let DirectoryFiles { app, settings, count, lines, .. } = self;
        let mut parts = Vec::from_iter(self.rules());
        match settings {
            0 => {}
            1 => parts.push("1 setting of PHP is applied by every runtime".to_owned()),
            some => parts.push(format!(
                "{} settings of PHP are applied by every runtime",
                words::count(*some)
            )),
        }
        let mut all: Vec<String> = lines.iter().map(shown).collect();
        if let Some(more) = count.checked_sub(all.len() as u64).filter(|more| *more > 0) {
            all.push(format!("{} more", words::count(more)));
        }
        let is_ignored = self.rules > 0 && !self.ignored_by.is_empty();
        if *count > 0 {
            parts.push(format!("not applied everywhere: {}", words::list(&all)));
        }
        if *count > 0 || is_ignored {
            parts.push("load only paths that do not need what is not applied".to_owned());
        }
        write!(f, "app `{app}`, its `.htaccess` and `.user.ini`: {}", parts.join("; "))
    }
}

impl DirectoryFiles {
    fn rules(&self) -> Option<String> {
        let DirectoryFiles { rules, applied_by, ignored_by, .. } = self;
        let (them, are) = match rules {
            0 => return None,
            1 => ("1 rule for paths".to_owned(), "is"),
            some => (format!("{} rules for paths", words::count(*some)), "are"),
        };
        Some(match (applied_by.as_slice(), ignored_by.as_slice()) {
            (_, []) => format!("{them} {are} applied"),
            ([], none) => format!("{them} {are} not applied by {}", runtimes(none)),
            (some, none) => {
                format!("{them} {are} applied by {}, not by {}", runtimes(some), runtimes(none))
            }
        })
    }
}

fn runtimes(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    words::list(&quoted)
}

fn shown(line: &DirectoryLine) -> String {
    let DirectoryLine { file, line, text, why, not_by } = line;
    let is_of_apache = *why == Some(LineReason::ApacheOnly);
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    let not_by = match not_by.as_slice() {
        some if is_of_apache || some.is_empty() => String::new(),
        some => format!("; not by {}", words::list(some)),
    };
    format!("`{text}` ({file}, line {line}{why}{not_by})")
}
