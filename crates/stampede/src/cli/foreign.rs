//! Explains options of other load generators to users who type them after `fire`.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Returns the error. If `fire` got an option of another load generator, the error names `fire`'s
/// own option for it. A suggestion by the nearest name would be misleading.
pub fn explained(error: clap::Error) -> clap::Error {
    let line = std::env::args_os().map(|one| one.to_string_lossy().into_owned());
    let line: Vec<String> = line.collect();
    let is_fire = line.get(1).is_some_and(|command| command == "fire");
    if is_fire { explained_to_fire(error, &line) } else { error }
}

fn explained_to_fire(mut error: clap::Error, line: &[String]) -> clap::Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let Some(here) = here(given, line) else { return error };
    let text = format!(
        "`{given}` is an option of other load generators: {here} (docs/coming-from.md has all)"
    );
    error.remove(ContextKind::SuggestedArg);
    // The usage line is based on the nearest name, too.
    error.remove(ContextKind::Usage);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![text.into()]));
    error
}

/// What stands for `-n` or `--iterations` here, with the value that was typed.
fn here(given: &str, line: &[String]) -> Option<String> {
    let name = given.split_once('=').map_or(given, |(name, _)| name);
    let (_, here) = NAMES.iter().find(|(names, _)| names.contains(&name))?;
    let example = EXAMPLES.iter().find(|example| here.starts_with(**example));
    let (Some(example), Some(typed)) = (example, typed(name, line)) else {
        return Some((*here).to_owned());
    };
    let own = example.rsplit_once(' ').map(|(flag, _)| format!("{flag} {typed}`"))?;
    Some(here.replacen(example, &own, 1))
}

/// The value of an option as it was typed, where it is a number or a length of time: `10` of
/// `--vus 10`, `--vus=10` and `-n10`. Anything else may be a secret, or be meant otherwise.
fn typed(name: &str, line: &[String]) -> Option<String> {
    let own = line.iter().enumerate().find_map(|(place, one)| match one.strip_prefix(name)? {
        "" => line.get(place + 1).cloned(),
        rest => Some(rest.strip_prefix('=').unwrap_or(rest).to_owned()),
    })?;
    let is_plain = own.starts_with(|letter: char| letter.is_ascii_digit())
        && own.bytes().all(|letter| letter.is_ascii_alphanumeric())
        && own.len() <= LONGEST;
    is_plain.then_some(own)
}

/// Longest value that is copied into a hint: a longer one is not a number.
const LONGEST: usize = 12;

/// Beginnings of hints about options whose values `fire` takes as other generators do. The user's
/// value replaces the one in the example.
const EXAMPLES: [&str; 4] =
    ["use `--requests 1000`", "use `-c 100`", "use `--for 30s`", "use `--rate 500`"];

/// Options that `fire` does not have.
const NAMES: [(&[&str], &str); 20] = [
    (&["-n", "--iterations"], "use `--requests 1000` with `--concurrency`"),
    (&["--clients", "--vus"], "use `-c 100`"),
    (&["-u"], "for k6's use `--concurrency 100`, for ab's `-X PUT -d @FILE`"),
    (&["-z"], "use `--for 30s`"),
    (&["-D"], "for oha's and hey's use `-d @FILE`, for h2load's `--for 30s`"),
    (
        &["-t"],
        "for ab's use `--for 30s`, for wrk's `--threads 2`, for oha's and hey's `--timeout 20s`",
    ),
    (&["-R", "--rps"], "use `--rate 500` with `--for`"),
    (&["-q"], "give the rate of all connections together: `--rate 500` with `--for`"),
    (&["--stages", "--stage"], "use `--schedule 'line(1,1000,60s) const(1000,60s)'`"),
    (&["-k", "--keepalive"], "keep-alive is on by default; turn it off with `--no-keep-alive`"),
    (&["--disable-keepalive", "--no-connection-reuse"], "use `--no-keep-alive`"),
    (&["-p"], "for ab's use `-d @FILE`"),
    (
        &["-T", "--content-type"],
        "use `-H 'Content-Type: application/json'`, for wrk's `--timeout 2s`",
    ),
    (&["-m"], "use `-X POST`"),
    (&["-C"], "use `--cookie name=value`"),
    (&["-a"], "use `--basic-auth user:password`"),
    (
        &["-A"],
        "for ab's use `--basic-auth user:password`, for oha's and hey's `-H 'Accept: text/html'`",
    ),
    (&["-s"], "for wrk's use `--traffic FILE`, for ab's `--timeout 30s`"),
    (&["--insecure"], "leave it out: certificates are never verified"),
    (
        &["--no-tui", "--no-progress"],
        "leave it out: in a pipe and with `--json` there is no screen",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::{CommandFactory as _, Parser as _};

    fn error_text(arguments: &[&str]) -> String {
        let line = ["stampede", "fire", "http://127.0.0.1/"].iter().chain(arguments);
        let line: Vec<String> = line.map(|one| (*one).to_owned()).collect();
        let error = Cli::try_parse_from(&line).expect_err("no option of fire");
        explained_to_fire(error, &line).to_string()
    }

    #[test]
    fn the_value_that_was_typed_is_proposed() {
        let line = |arguments: &[&str]| -> Vec<String> {
            arguments.iter().map(|one| (*one).to_owned()).collect()
        };
        for (name, arguments, expected) in [
            ("--vus", &["--vus", "10"][..], "use `-c 10`"),
            ("--vus", &["--vus=10"], "use `-c 10`"),
            ("--vus", &["--vus"], "use `-c 100`"),
            ("--vus", &["--vus", "--quiet"], "use `-c 100`"),
            ("-n", &["-n5000"], "use `--requests 5000` with `--concurrency`"),
            ("-z", &["-z", "1m30s"], "use `--for 1m30s`"),
            ("-a", &["-a", "12345"], "use `--basic-auth user:password`"),
        ] {
            assert_eq!(here(name, &line(arguments)).as_deref(), Some(expected), "{arguments:?}");
        }
    }

    #[test]
    fn options_of_others_are_told_what_they_are_here() {
        insta::assert_snapshot!(
            [&["--vus", "10"][..], &["-z30s"], &["-k"], &["--rat", "5"]]
                .map(error_text)
                .join("\n----\n")
        );
    }

    #[test]
    fn common_names_of_options_are_accepted_as_aliases() {
        use crate::cli::args::Command;
        let load = |arguments: &[&str]| {
            let line = ["stampede"].iter().chain(arguments);
            match Cli::try_parse_from(line).expect("flags").command {
                Command::Fire(args) => (
                    args.load.concurrency,
                    args.traffic.traffic.map(|file| file.display().to_string()),
                ),
                Command::Compare(args) => (args.load.concurrency, args.traffic.file),
                Command::Check(args) => (None, args.urls.map(|file| file.display().to_string())),
                other => panic!("{other:?}"),
            }
        };
        let fire = ["fire", "http://127.0.0.1/", "--requests", "9"];
        let expected = (Some("4".to_owned()), Some("log".to_owned()));
        for concurrency in [["--concurrency", "4"], ["--concurrency", "4"], ["-c", "4"]] {
            for traffic in [["--traffic", "log"], ["--traffic", "log"]] {
                assert_eq!(load(&[&fire[..], &concurrency, &traffic].concat()), expected);
            }
            for traffic in [["--traffic", "log"], ["--traffic", "log"]] {
                assert_eq!(load(&[&["compare"][..], &concurrency, &traffic].concat()), expected);
                let check = ["check", "--app", "./shop", "--runtime", "roadrunner"];
                assert_eq!(load(&[&check[..], &traffic].concat()).1, expected.1);
            }
        }
    }

    #[test]
    fn no_foreign_option_is_an_option_of_fire() {
        let cli = Cli::command();
        let fire = cli.find_subcommand("fire").expect("fire");
        let own: Vec<String> = fire
            .get_arguments()
            .flat_map(|one| {
                let long = one.get_long().map(|name| format!("--{name}"));
                let aliases = one.get_all_aliases().unwrap_or_default().into_iter();
                let long = long.into_iter().chain(aliases.map(|name| format!("--{name}")));
                long.chain(one.get_short().map(|name| format!("-{name}")))
            })
            .collect();
        for name in NAMES.iter().flat_map(|(names, _)| *names) {
            assert!(!own.iter().any(|known| known == name), "{name}");
        }
    }
}
