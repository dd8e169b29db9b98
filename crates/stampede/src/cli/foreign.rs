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
    let name = given.split_once('=').map_or(given.as_str(), |(name, _)| name);
    let Some((_, here)) = NAMES.iter().find(|(names, _)| names.contains(&name)) else {
        return error;
    };
    let text = format!(
        "`{given}` is an option of other load generators: {here} (docs/coming-from.md has all)"
    );
    error.remove(ContextKind::SuggestedArg);
    // The usage line is based on the nearest name, too.
    error.remove(ContextKind::Usage);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![text.into()]));
    error
}

/// Options that `fire` does not have.
const NAMES: [(&[&str], &str); 16] = [
    (&["-u"], "for k6's use `--concurrency 100`, for ab's `-X PUT -d @FILE`"),
    (&["-D"], "for oha's and hey's use `-d @FILE`, for h2load's `--for 30s`"),
    (
        &["-t"],
        "for ab's use `--for 30s`, for wrk's `--threads 2`, for oha's and hey's `--timeout 20s`",
    ),
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
        let error = Cli::try_parse_from(line).expect_err("no option of fire");
        explained_to_fire(error).to_string()
    }

    #[test]
    fn options_of_others_are_told_what_they_are_here() {
        let lines = [&["--stages", "10s:5"][..], &["-q500"], &["-k"], &["--rat", "5"]];
        insta::assert_snapshot!(lines.map(error_text).join("\n----\n"));
    }

    /// What means the same in every tool that has it is read.
    #[test]
    fn options_that_mean_the_same_elsewhere_are_options_here() {
        use crate::cli::args::Command;
        for (arguments, expected) in [
            (&["-c", "4", "-n", "9"][..], [None, Some("4"), None, Some("9")]),
            (&["--vus", "4", "--iterations", "9"], [None, Some("4"), None, Some("9")]),
            (&["--clients", "4", "-z", "9s"], [None, Some("4"), Some("9s"), None]),
            (&["-R", "4", "--duration", "9s"], [Some("4"), None, Some("9s"), None]),
            (&["--rps", "4", "--for", "9s"], [Some("4"), None, Some("9s"), None]),
        ] {
            let line = ["stampede", "fire", "http://127.0.0.1/"].iter().chain(arguments);
            let Command::Fire(args) = Cli::try_parse_from(line).expect("flags").command else {
                panic!("{arguments:?}");
            };
            let load = args.load;
            let read = [load.rate, load.concurrency, load.length, load.requests];
            assert_eq!(read, expected.map(|one| one.map(str::to_owned)), "{arguments:?}");
        }
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
