//! Says what the user can do about an error of a runtime or an app.

use stampede_keeper::KeeperError;
use stampede_linux::space;
use stampede_model::fact::app::entry_choices;

use super::detect::NOT_SERVABLE;
use super::entries::LOOKED_FOR;
use super::error::RuntimeError;

impl RuntimeError {
    /// What the user can do next; shown on a line of its own.
    pub fn hint(&self) -> Option<String> {
        use RuntimeError as E;
        match self {
            E::UnknownRuntime { nearest, known, .. }
            | E::UnknownApp { nearest, known, .. }
            | E::UnknownSetting { nearest, known, .. } => {
                Some(did_you_mean(nearest.as_deref(), known))
            }
            E::NoApp { .. } | E::NoDocroot { .. } | E::NoIndex { .. } | E::NotServable { .. } => {
                self.app_hint()
            }
            E::NoEntry { .. } | E::NotEntered { .. } => self.app_hint(),
            E::Composer { .. }
            | E::NoVendor { .. }
            | E::LacksPackages { .. }
            | E::NoFramework { .. }
            | E::PhpVersion { .. }
            | E::OtherPhp { .. }
            | E::NoPhp { .. }
            | E::NoComposer { .. } => self.package_hint(),
            E::WrongKind { runs, because: "", .. } => Some(format!("it runs {}", runs.join(", "))),
            E::WrongKind { runs, .. } => Some(format!(
                "it runs {}; set the kind of your own app with `--kind`",
                runs.join(", ")
            )),
            E::AppLacks { packages, .. } => {
                Some(format!("in the app: composer require {packages}"))
            }
            E::Manifest { nearest, .. } => {
                nearest.as_ref().map(|name| format!("did you mean `{name}`?"))
            }
            E::BadSetting { allowed, .. } => Some(format!("allowed: {allowed}")),
            E::Missing { install, .. } => {
                install.as_ref().map(|command| format!("get it with `{command}`"))
            }
            E::NamedProgram { .. } => Some("name an executable file by its full path".into()),
            E::Extension { .. } => {
                Some("build it with the `phpize` of the PHP that runs it".into())
            }
            E::PortTaken { .. } => {
                Some("end that process, or leave the port out: a free one is found".into())
            }
            E::PortStolen { .. } => Some("try again: a free port is chosen each time".into()),
            E::WorkingDirectory { .. } | E::WorkingDirectoryName { .. } => {
                Some("set TMPDIR to a directory that everybody may enter, like `/tmp`".into())
            }
            E::Ended { runtime, .. } => Some(start_alone_hint(runtime)),
            E::NotReady { runtime, .. } => Some(start_alone_hint(runtime)),
            E::Unverified { runtime, .. } | E::WrongPage { runtime, .. } => {
                Some(start_alone_hint(runtime))
            }
            E::OutOfMemory { .. } => Some("use fewer workers, or more memory".into()),
            E::Template { .. }
            | E::NotLoggedIn { .. }
            | E::External { .. }
            | E::Interrupted { .. } => None,
            E::Io { path, source, .. } => {
                space::hint(path, source.kind(), "set TMPDIR to a directory of another one")
            }
            E::Keeper { source, .. } | E::Lost { source, .. } => {
                source.downcast_ref::<KeeperError>().and_then(KeeperError::hint)
            }
            E::Unprepared { .. } => None,
            E::AlreadyRunning(_) => None,
            E::NoDatabase { .. } => None,
            E::Containers { problem, .. } => problem.hint(),
            E::ThroughLink { link, .. } => Some(format!(
                "`{}` is a symbolic link: make it a directory in both versions, or remove its untracked files",
                link.display()
            )),
        }
    }

    /// What the user can do about an app that cannot be served as it is.
    fn app_hint(&self) -> Option<String> {
        use RuntimeError as E;
        match self {
            E::NoApp { entries, .. } if !entries.is_empty() => Some(entries_hint(entries)),
            E::NoApp { .. } => Some(
                "give the project's directory, or name its public directory with `--docroot DIR` and its front \
                 controller with `--index FILE`"
                    .into(),
            ),
            E::NoDocroot { .. } => Some(
                "name the directory of the public files with `--docroot DIR`, relative to the app's directory"
                    .into(),
            ),
            E::NotServable { .. } => Some(format!(
                "give it another name: in the configuration of a web server {NOT_SERVABLE} and control characters \
                 have a meaning of their own"
            )),
            E::NoIndex { .. } => Some(
                "name the directory of the public files with `--docroot DIR`, and the front controller in it with \
                 `--index FILE`"
                    .into(),
            ),
            E::NoEntry { file: "handler.php", .. } => Some(
                "add a `handler.php` that returns what answers a request, or use `--kind script` for any front \
                 controller"
                    .into(),
            ),
            E::NoEntry { .. } => Some(
                "remove `--kind` to detect the kind, or use `--kind script` for any front controller"
                    .into(),
            ),
            E::NotEntered { kind, file, .. } => {
                let adapter = match *kind {
                    "symfony" => {
                        "; with `adapter: symfony-runtime` the front controller makes the kernel"
                    }
                    _ => "",
                };
                Some(format!(
                    "add `{file}`, or use a runtime that boots the app for each request (such as nginx-fpm): it does \
                     not need this file{adapter}"
                ))
            }
            _ => None,
        }
    }

    /// What the user can do where the machine, or Composer, has not what the app needs.
    fn package_hint(&self) -> Option<String> {
        use RuntimeError as E;
        match self {
            E::PhpVersion { .. } => Some(
                "install a PHP that fits and name it in the plan, such as `runtimes: [{nginx-fpm: {php-fpm: \
                 /opt/php/sbin/php-fpm}}]`; or let Composer install packages for this one"
                    .into(),
            ),
            E::OtherPhp { runtime, asked, .. } => Some(format!(
                "install PHP {asked} for {runtime}, name its program in the plan (`stampede runtimes` shows the names), \
                 or leave `php` out: then what is installed is used"
            )),
            E::Composer { path, .. } => Some(format!(
                "fix it; `composer validate` in `{}` checks it",
                path.parent().unwrap_or(path).display()
            )),
            E::NoVendor { directory, .. } => {
                Some(format!("in `{}`: composer install --no-dev", directory.display()))
            }
            E::LacksPackages { directory, command, .. } => {
                Some(format!("in `{}`: {command}", directory.display()))
            }
            E::NoFramework { packages, install, .. } => {
                let composer = format!("composer require {}", packages.join(" "));
                Some(match install {
                    Some(command) => {
                        format!(
                            "get it with `{command}`, or with `{composer}` in a copy of the app"
                        )
                    }
                    None => format!("in a copy of the app: {composer}"),
                })
            }
            E::NoPhp { .. } => Some(
                "install PHP's command line (Debian: `php-cli`), or name it with STAMPEDE_PHP"
                    .into(),
            ),
            E::NoComposer { .. } => Some(
                "get it with `apt-get install --no-install-recommends composer`, or name it with STAMPEDE_COMPOSER"
                    .into(),
            ),
            _ => None,
        }
    }
}

/// How to choose one of these front controllers of a directory without an app, or what to give if there
/// are none.
pub fn entries_hint(entries: &[String]) -> String {
    if entries.is_empty() {
        return format!(
            "the directory of a project: with {LOOKED_FOR}; or name the public directory with `--docroot DIR` and \
             the front controller with `--index FILE`"
        );
    }
    let choices = entry_choices(entries);
    format!("choose one of its PHP files as the front controller: {choices}")
}

fn did_you_mean(nearest: Option<&str>, known: &[String]) -> String {
    match nearest {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("known: {}", known.join(", ")),
    }
}

fn start_alone_hint(runtime: &str) -> String {
    format!("look at it alone with `stampede up {runtime}`")
}
