//! Explains options of other load generators to users who type them after `fire`.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Returns the error. If `fire` got an option of another load generator, the error names `fire`'s
/// own option for it. A suggestion by the nearest name would be misleading.
pub fn explained(error: clap::Error) -> clap::Error {
    let is_fire = std::env::args_os().nth(1).is_some_and(|command| command == "fire");
    if is_fire { explained_to_fire(error) } else { error }
}

fn explained_to_fire(mut error: clap::Error) -> clap::Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let Some(here) = here(given) else { return error };
    let text =
        format!("`{given}` of other load generators, here: {here} (all: docs/coming-from.md)");
    error.remove(ContextKind::SuggestedArg);
    // The usage line is based on the nearest name, too.
    error.remove(ContextKind::Usage);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![text.into()]));
    error
}

/// Returns the explanation for an option such as `-n` or `--iterations`, given with or without a
/// value.
fn here(given: &str) -> Option<&'static str> {
    let name = given.split_once('=').map_or(given, |(name, _)| name);
    NAMES.iter().find(|(names, _)| names.contains(&name)).map(|(_, here)| *here)
}

/// Options that `fire` does not have.
const NAMES: [(&[&str], &str); 20] = [
    (&["-n", "--iterations"], "`--requests 1000`, beside `--concurrency`"),
    (&["--clients", "--vus"], "`-c 100`"),
    (&["-u"], "`--concurrency 100` (k6's) or `-X PUT -d @FILE` (ab's)"),
    (&["-z", "--duration"], "`--for 30s`"),
    (&["-D"], "`-d @FILE` (oha's, hey's) or `--for 30s` (h2load's)"),
    (&["-t"], "`--for 30s` (ab's), `--threads 2` (wrk's) or `--timeout 20s` (oha's, hey's)"),
    (&["-R", "--rps"], "`--rate 500`, beside `--for`"),
    (&["-q"], "`--rate 500`, of all users together, beside `--for`"),
    (&["--stages", "--stage"], "`--schedule 'line(1,1000,60s) const(1000,60s)'`"),
    (&["-k", "--keepalive"], "always so, but for `--no-keep-alive` and `--client ab`"),
    (&["--disable-keepalive", "--no-connection-reuse"], "`--no-keep-alive`"),
    (&["-p"], "`-d @FILE` (ab's)"),
    (&["-T", "--content-type"], "`-H 'Content-Type: application/json'`, or `--timeout 2s` (wrk's)"),
    (&["-m"], "`-X POST`"),
    (&["-C"], "`--cookie name=value`"),
    (&["-a"], "`--basic-auth user:password`"),
    (&["-A"], "`--basic-auth user:password` (ab's) or `-H 'Accept: text/html'` (oha's, hey's)"),
    (&["-s"], "`--traffic FILE` (wrk's) or `--timeout 30s` (ab's)"),
    (&["--insecure"], "always so: certificates are not verified"),
    (&["--no-tui", "--no-progress"], "so in a pipe and with `--json`: there is no screen"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use clap::{CommandFactory as _, Parser as _};

    fn said(arguments: &[&str]) -> String {
        let line = ["stampede", "fire", "http://127.0.0.1/"].iter().chain(arguments);
        explained_to_fire(Cli::try_parse_from(line).expect_err("no option of send")).to_string()
    }

    #[test]
    fn options_of_others_are_told_what_they_are_here() {
        insta::assert_snapshot!(
            [&["--vus", "10"][..], &["--duration=30s"], &["-k"], &["--rat", "5"]]
                .map(said)
                .join("\n----\n")
        );
    }

    #[test]
    fn the_fields_words_are_accepted_beside_ours() {
        use crate::cli::args::Command;
        let load = |arguments: &[&str]| {
            let line = ["stampede"].iter().chain(arguments);
            match Cli::try_parse_from(line).expect("flags").command {
                Command::Fire(args) => (
                    args.load.concurrency,
                    args.traffic.traffic.map(|file| file.display().to_string()),
                ),
                Command::Compare(args) => (args.load.concurrency, args.urls),
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
    fn none_of_them_is_an_option_of_fire() {
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
