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
    /// The web servers that do not apply it, such as `nginx`. Empty: all.
    #[serde(default)]
    pub not_by: Vec<String>,
}

/// The number of web servers besides Apache that are told an app's rules.
const OTHERS: usize = 5;

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

/// Says what of such files is applied and what is not: `count` lines are not, the first of them in
/// `lines`.
pub(super) fn directory_files(
    f: &mut fmt::Formatter<'_>,
    app: &str,
    (rules, settings): (u64, u64),
    count: u64,
    lines: &[DirectoryLine],
) -> fmt::Result {
    write!(f, "app `{app}`: ")?;
    let mut applied = Vec::new();
    if rules > 0 {
        let them =
            if rules == 1 { "1 rule".to_owned() } else { format!("{} rules", words::count(rules)) };
        applied.push(format!(
            "{them} of `.htaccess` by every web server that boots PHP for each request, but H2O and NGINX Unit"
        ));
    }
    if settings > 0 {
        let them = match settings {
            1 => "1 setting".to_owned(),
            settings => format!("{} settings", words::count(settings)),
        };
        applied.push(format!("{them} of PHP by every runtime"));
    }
    if !applied.is_empty() {
        write!(f, "its directory's own rules are applied: {}", words::list(&applied))?;
    }
    if count == 0 {
        return Ok(());
    }
    if !applied.is_empty() {
        f.write_str("; ")?;
    }
    let mut all: Vec<String> = lines.iter().map(shown).collect();
    if let Some(more) = count.checked_sub(all.len() as u64).filter(|more| *more > 0) {
        all.push(format!("{} more", words::count(more)));
    }
    write!(
        f,
        "not applied everywhere: {}; load only paths that do not need these lines",
        words::list(&all)
    )
}

fn shown(line: &DirectoryLine) -> String {
    let DirectoryLine { file, line, text, why, not_by } = line;
    let is_of_apache = *why == Some(LineReason::ApacheOnly);
    let why = why.map(|why| format!(": {why}")).unwrap_or_default();
    let not_by =
        match not_by.as_slice() {
            [] => String::new(),
            // All others that are told anything.
            all if all.len() >= OTHERS && !all.iter().any(|one| one == "Apache") => {
                if is_of_apache { String::new() } else { "; only by Apache".to_owned() }
            }
            some => format!("; not by {}", words::list(some)),
        };
    format!("`{text}` ({file}, line {line}{why}{not_by})")
}
