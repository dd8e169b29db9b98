//! The flags that a check keeps. They repeat the check, and contain no secret.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

use clap::builder::ValueParser;
use clap::{Args as _, Command, FromArgMatches as _, value_parser};

use super::Failure;
use super::args_check::{CheckArgs, is_page};

/// Flags with their values, in the order of the help text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flags(Vec<Flag>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Flag {
    /// Name without its hyphens.
    name: String,
    /// Values: none for a switch, else one or more.
    values: Vec<String>,
}

/// A flag with a value that is not kept, so only the user can give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secret {
    /// `--login ann:PASSWORD`, the earlier form of the next one.
    Login,
    /// `--basic-auth ann:PASSWORD`.
    BasicAuth,
    /// `--login-field NAME=VALUE`.
    LoginField,
    /// `--cookie NAME=VALUE`.
    Cookie,
    /// `--header NAME:VALUE`.
    Header,
    /// `--env KEY=VALUE`.
    Env,
    /// `--php-ini NAME=VALUE`, of which few are secret.
    PhpIni,
}

impl Secret {
    const ALL: [Secret; 7] = [
        Secret::Login,
        Secret::BasicAuth,
        Secret::LoginField,
        Secret::Cookie,
        Secret::Header,
        Secret::Env,
        Secret::PhpIni,
    ];

    fn of(flag: &str) -> Option<Secret> {
        Secret::ALL.into_iter().find(|secret| secret.flag() == flag)
    }

    const fn flag(self) -> &'static str {
        match self {
            Secret::Login => "login",
            Secret::BasicAuth => "basic-auth",
            Secret::LoginField => "login-field",
            Secret::Cookie => "cookie",
            Secret::Header => "header",
            Secret::Env => "env",
            Secret::PhpIni => "php-ini",
        }
    }

    /// The character between the kept name and the secret value.
    const fn separator(self) -> char {
        match self {
            Secret::Login | Secret::BasicAuth | Secret::Header => ':',
            Secret::LoginField | Secret::Cookie | Secret::Env | Secret::PhpIni => '=',
        }
    }

    /// Whether a value of the flag has no secret: it is the page of a login, or a plain value of php.ini.
    fn is_open(self, value: &str) -> bool {
        let is_plain = || {
            let name = name_of(value, self.separator());
            !stampede_mask::is_secret_name(name) && stampede_mask::mask_secrets(value) == value
        };
        self == Secret::Login && is_page(value) || self == Secret::PhpIni && is_plain()
    }

    /// The placeholder for the secret value.
    const fn what(self) -> &'static str {
        match self {
            Secret::Login | Secret::BasicAuth => "PASSWORD",
            _ => "VALUE",
        }
    }
}

/// A flag whose secret value is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingFlag {
    /// The flag.
    pub secret: Secret,
    /// The name before the secret value.
    name: String,
}

/// Formats the flag as it has to be typed again: `--login ann:PASSWORD`.
impl fmt::Display for MissingFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MissingFlag { secret, name } = self;
        let name = shell_words::quote(name);
        write!(f, "--{} {name}{}{}", secret.flag(), secret.separator(), secret.what())
    }
}

/// Flags that affect only how a result is shown or chosen.
const OF_RESULT: [&str; 4] = ["out", "json", "finding", "of"];
/// The words `stampede` and `check`.
const WORDS_BEFORE: usize = 2;

impl Flags {
    /// Reads the flags of this command line.
    pub fn typed() -> Result<Flags, Failure> {
        Flags::read(std::env::args_os().skip(WORDS_BEFORE))
    }

    /// Reads flags from words, as a shell passes them.
    pub fn read<W: Into<OsString> + Clone>(
        words: impl IntoIterator<Item = W>,
    ) -> Result<Flags, Failure> {
        let command = command();
        let known: Vec<_> = command.get_arguments().cloned().collect();
        let matches = command.try_get_matches_from(words)?;
        let flags = known.iter().filter_map(|argument| {
            let id = argument.get_id().as_str();
            let is_typed = matches.value_source(id) == Some(clap::parser::ValueSource::CommandLine);
            let name = argument.get_long().filter(|_| is_typed)?.to_owned();
            let takes = argument.get_action().takes_values();
            let values = matches.get_raw(id).filter(|_| takes).into_iter().flatten();
            let values = values.map(|value| value.to_string_lossy().into_owned()).collect();
            Some(Flag { name, values })
        });
        Ok(Flags(flags.collect()))
    }

    /// Returns the flags as words, as a shell passes them.
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        for Flag { name, values } in &self.0 {
            if values.is_empty() {
                words.push(format!("--{name}"));
            }
            for value in values {
                // A separate value that begins with a hyphen would be read as a flag.
                match value.starts_with('-') {
                    true => words.push(format!("--{name}={value}")),
                    false => words.extend([format!("--{name}"), value.clone()]),
                }
            }
        }
        words
    }

    /// Returns the flags as clap reads them.
    pub fn args(&self) -> Result<CheckArgs, Failure> {
        let matches = command().try_get_matches_from(self.words())?;
        CheckArgs::from_arg_matches(&matches).map_err(Failure::from)
    }

    /// Returns what a check keeps: names in place of secrets, and absolute paths, so that they are
    /// valid in every working directory.
    pub fn storable(mut self) -> Flags {
        self.0.retain(|flag| !OF_RESULT.contains(&flag.name.as_str()));
        let paths = paths();
        for Flag { name, values } in &mut self.0 {
            let secret = Secret::of(name);
            for value in values {
                *value = match secret {
                    Some(secret) if secret.is_open(value) => std::mem::take(value),
                    Some(secret) => name_of(value, secret.separator()).to_owned(),
                    None if paths.contains(name) || is_directory(name, value) => absolute(value),
                    None => std::mem::take(value),
                };
            }
        }
        self
    }

    /// Sets a flag to one value.
    pub fn with(mut self, name: &str, value: impl ToString) -> Flags {
        self.0.retain(|flag| flag.name != name);
        self.0.push(Flag { name: name.to_owned(), values: vec![value.to_string()] });
        self
    }

    /// Replaces flags by those in `typed`. For flags with secrets, the typed values complete the
    /// kept names.
    pub fn overridden_by(mut self, typed: Flags) -> Flags {
        for flag in typed.0 {
            let known = self.0.iter_mut().find(|known| known.name == flag.name);
            let separator = Secret::of(&flag.name).map(Secret::separator);
            match (known, separator) {
                (Some(known), Some(separator)) => known.fill(&flag, separator),
                (Some(known), None) => *known = flag,
                (None, _) => self.0.push(flag),
            }
        }
        self
    }

    /// Returns the flags whose secret values are missing.
    pub fn missing(&self) -> Vec<MissingFlag> {
        let missing = Secret::ALL.into_iter().flat_map(|secret| {
            let flags = self.0.iter().filter(move |flag| flag.name == secret.flag());
            let values = flags.flat_map(|flag| &flag.values);
            let is_name =
                move |value: &str| !value.contains(secret.separator()) && !secret.is_open(value);
            let names = values.filter(move |value| is_name(value));
            names.map(move |name| MissingFlag { secret, name: name.clone() })
        });
        missing.collect()
    }
}

impl Flag {
    /// Replaces names by their typed values, and appends the other typed values.
    fn fill(&mut self, typed: &Flag, separator: char) {
        let name = |value: &str| name_of(value, separator).to_owned();
        for value in &typed.values {
            match self
                .values
                .iter_mut()
                .find(|known| name(known) == name(value) && !known.contains(separator))
            {
                Some(known) => known.clone_from(value),
                None => self.values.push(value.clone()),
            }
        }
    }
}

/// Returns the part before the secret value.
fn name_of(value: &str, separator: char) -> &str {
    value.split(separator).next().unwrap_or_default()
}

fn command() -> Command {
    CheckArgs::augment_args(Command::new("check").no_binary_name(true).disable_help_flag(true))
}

/// Returns the names of flags whose values are paths.
fn paths() -> Vec<String> {
    let is_path = |parser: &ValueParser| parser.type_id() == value_parser!(PathBuf).type_id();
    let command = command();
    let flags = command.get_arguments().filter(|argument| is_path(argument.get_value_parser()));
    flags.filter_map(|argument| Some(argument.get_long()?.to_owned())).collect()
}

/// Whether an app is a directory and not a name in the catalogue.
fn is_directory(flag: &str, value: &str) -> bool {
    flag == "app" && (value.contains('/') || value.starts_with('.')) && !value.starts_with('~')
}

fn absolute(path: &str) -> String {
    std::path::absolute(path).map_or_else(|_| path.to_owned(), |path| path.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(words: &[&str]) -> Flags {
        Flags::read(words).unwrap_or_else(|failure| panic!("{}", failure.text()))
    }

    fn printed_flags(flags: &Flags) -> Vec<String> {
        flags.missing().iter().map(ToString::to_string).collect()
    }

    const APP: [&str; 4] = ["--app", "/srv/my shop", "--runtime", "swoole"];

    fn with_app(words: &[&str]) -> Flags {
        flags(&[&APP[..], words].concat())
    }

    #[test]
    fn flags_survive_a_round_trip() {
        let typed = with_app(&[
            "--skip=/a/*",
            "--skip",
            "/b",
            "--passes",
            "in-order,reversed",
            "--own-database",
            "--users",
            "3",
            "--env=A=b=c",
        ]);
        let words = typed.words();
        assert_eq!(
            flags(&words.iter().map(String::as_str).collect::<Vec<_>>()),
            typed,
            "{words:?}"
        );
        let args = typed.args().unwrap_or_else(|failure| panic!("{}", failure.text()));
        assert_eq!((args.users, args.own_database), (3, true));
        assert_eq!(args.skip, ["/a/*", "/b"]);
        assert_eq!(args.passes, ["in-order", "reversed"]);
        assert_eq!(args.about_app.env, ["A=b=c"]);
        assert_eq!(args.growth, 20_000, "what was not typed is as usual");
    }

    #[test]
    fn stored_flags_have_no_secrets_and_absolute_paths() {
        let storable = flags(&[
            "--app",
            "./shop",
            "--runtime",
            "swoole",
            "--login",
            "ann:hun:ter2",
            "--env",
            "KEY=hunter2",
            "--cookies",
            "ann.txt",
            "--out",
            "result",
            "--json",
            "--timeout",
            "3s",
        ])
        .storable();
        let here = std::env::current_dir().expect("a directory").display().to_string();
        let words = storable.words().join(" ");
        assert_eq!(
            words.replace(&here, "HERE"),
            "--app HERE/shop --runtime swoole --login ann --cookies HERE/ann.txt --timeout 3s --env KEY"
        );
        assert_eq!(printed_flags(&storable), ["--login ann:PASSWORD", "--env KEY=VALUE"]);
    }

    #[test]
    fn typed_flags_override_stored_ones() {
        let logins = ["--login", "ann:a", "--login", "bob:b", "--users", "2", "--timeout", "3s"];
        let storable = with_app(&logins).storable();
        let typed = flags(&["--finding", "2", "--login", "bob:B", "--timeout", "9s"]);
        let all = storable.clone().overridden_by(typed);
        assert_eq!(printed_flags(&all), ["--login ann:PASSWORD"]);
        let all = all.overridden_by(flags(&["--finding", "2", "--login", "ann:A"]));
        assert!(all.missing().is_empty());
        let args = all.args().unwrap_or_else(|failure| panic!("{}", failure.text()));
        assert_eq!(args.login, ["ann:A", "bob:B"], "each user is who it was");
        assert_eq!((args.timeout.as_str(), args.users), ("9s", 2));
    }

    /// Makes sure that somebody decides about every new flag before its values are kept.
    #[test]
    fn every_flag_is_classified_as_storable_or_not() {
        let command = command();
        let secret = |name: &str| Secret::of(name).is_some();
        let storable = command.get_arguments().filter_map(clap::Arg::get_long);
        let storable: Vec<&str> =
            storable.filter(|name| !secret(name) && !OF_RESULT.contains(name)).collect();
        insta::assert_snapshot!(storable.join(" "), @"app kind runtime traffic path limit methods log-format log-errors log-host skip users login-pause cookies passes growth worker-memory database own-database reference timeout seed baseline docroot index writable ready host https exclude extension");
    }

    #[test]
    fn the_page_of_a_login_is_kept_and_what_is_filled_in_is_not() {
        let typed = with_app(&[
            "--login",
            "/sign-in",
            "--login-field",
            "user=ann",
            "--login-field",
            "user=bob",
            "--cookie",
            "SID=5f1c77aa",
            "--header",
            "X-Key: 5f1c77ab",
            "--php-ini",
            "precision=9",
            "--php-ini",
            "mysqli.default_pw=hunter22",
            "--host",
            "shop.test",
        ]);
        let storable = typed.storable();
        let missing = [
            "--login-field user=VALUE",
            "--login-field user=VALUE",
            "--cookie SID=VALUE",
            "--header X-Key:VALUE",
            "--php-ini mysqli.default_pw=VALUE",
        ];
        assert_eq!(printed_flags(&storable), missing);
        let words = storable.words().join(" ");
        assert!(
            words.contains("--login /sign-in")
                && words.contains("--host shop.test")
                && words.contains("--php-ini precision=9"),
            "{words}"
        );
        let again = ["--finding", "1", "--login-field", "user=ann", "--login-field", "user=bob"];
        let args = storable.overridden_by(flags(&again)).args();
        let args = args.unwrap_or_else(|failure| panic!("{}", failure.text()));
        assert_eq!(args.login_field, ["user=ann", "user=bob"]);
        assert_eq!(args.app_flags().login.as_deref(), Some("/sign-in"));
        assert_eq!(args.basic_auth(), Vec::<String>::new());
    }
}
