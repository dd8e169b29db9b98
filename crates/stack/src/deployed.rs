//! Performs what a deployment does with an app besides copying it: the file that OPcache preloads,
//! and Composer's map of classes.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use super::app::App;
use super::error::RuntimeError;
use super::locate::SearchPaths;
use super::manifest::Need;
use super::ownership::give;
use super::setting::Settings;
use crate::process::preparation::{BuildContext, Input, Step};
use crate::process::user::User;

/// The common setting that names the file to preload.
pub(super) const PRELOAD: &str = "preload";
/// The common setting that says how Composer's autoloader is written.
pub(super) const AUTOLOADER: &str = "autoloader";
/// The values of that setting: as the app has it; with a map of all classes; with such a map as the
/// only source.
pub(super) const AUTOLOADERS: [&str; 3] = ["as-is", "optimized", "authoritative"];
/// Composer's directory, and the file in it which shows that Composer has filled it.
const VENDOR: &str = "vendor";
const MAP: &str = "vendor/composer/autoload_classmap.php";

/// The steps of a deployment that the settings ask for, found before anything starts.
#[derive(Clone, Debug)]
pub(crate) struct DeploymentSteps {
    /// The file to preload, relative to the app's directory; `None`: nothing is preloaded.
    pub preload: Option<String>,
    /// Composer's program and its option for the autoloader; `None`: the autoloader stays as it is.
    composer: Option<(PathBuf, &'static str)>,
    /// The PATH for a program that begins with `#!/usr/bin/env php`.
    path: String,
}

impl DeploymentSteps {
    /// Finds what `settings` ask for `app`, under the runtime `name`.
    ///
    /// # Errors
    /// A file or a program does not exist, or the app does not support the setting.
    pub fn find(
        name: &str,
        app: &App,
        settings: &Settings,
        places: &SearchPaths,
    ) -> Result<DeploymentSteps, RuntimeError> {
        let asked = DeploymentRequest { name, app, settings };
        let directories = places.path.iter().map(|directory| directory.display().to_string());
        let path = directories.collect::<Vec<_>>().join(":");
        Ok(DeploymentSteps { preload: asked.preload()?, composer: asked.composer(places)?, path })
    }

    /// Whether Composer writes the autoloader anew.
    pub fn writes_autoloader(&self) -> bool {
        self.composer.is_some()
    }

    /// Lets Composer write the autoloader of the copy, from the installed packages only and without
    /// network.
    ///
    /// # Errors
    /// Composer fails; its last lines are part of the error.
    pub fn write_autoloader(
        &self,
        app: &App,
        build: &BuildContext<'_>,
        env: &BTreeMap<String, String>,
    ) -> Result<(), RuntimeError> {
        let Some((program, how)) = &self.composer else { return Ok(()) };
        let home = build.dir.join("tmp/composer").display().to_string();
        let own = [("COMPOSER_HOME", home.as_str()), ("COMPOSER_DISABLE_NETWORK", "1")];
        let mut env = env.clone();
        env.extend([("PATH", self.path.as_str())].into_iter().chain(own).map(owned_pair));
        // Composer is not part of the runtime: its PHP uses the machine's own configuration.
        env.remove("PHP_INI_SCAN_DIR");
        let args: Vec<String> =
            ["dump-autoload", how, "--no-scripts", "--no-plugins", "--no-interaction", "--no-ansi"]
                .map(String::from)
                .to_vec();
        let cwd = build.at.directory();
        let step =
            Step { what: "composer", program, args: &args, cwd, env: &env, input: Input::Text("") };
        // Some files of a vendor directory may be read-only.
        let give = |user: &User| give(&cwd.join(VENDOR), user.uid, user.gid);
        build.user.map_or(Ok(()), give)?;
        build.step(app, &step).map(drop)
    }
}

fn owned_pair((key, value): (&str, &str)) -> (String, String) {
    (key.into(), value.into())
}

/// What is asked for: the runtime's name, the app and the settings.
struct DeploymentRequest<'a> {
    name: &'a str,
    app: &'a App,
    settings: &'a Settings,
}

impl DeploymentRequest<'_> {
    fn setting_text(&self, setting: &str) -> &str {
        self.settings.values.get(setting).and_then(|value| value.as_str()).unwrap_or_default()
    }

    fn bad_setting(&self, setting: &str, because: &str, allowed: &str) -> RuntimeError {
        RuntimeError::BadSetting {
            runtime: self.name.into(),
            setting: setting.into(),
            value: self.setting_text(setting).into(),
            because: format!(": {because}"),
            allowed: allowed.into(),
        }
    }

    fn preload(&self) -> Result<Option<String>, RuntimeError> {
        const ALLOWED: &str = "off, or a PHP file of the app, such as `config/preload.php`";
        let app = &self.app.name;
        let file = match self.setting_text(PRELOAD) {
            "off" | "" => return Ok(None),
            "app" => self.app.manifest.preload.clone().ok_or_else(|| {
                self.bad_setting(PRELOAD, &format!("app `{app}` names no file for it"), ALLOWED)
            })?,
            file => file.trim_start_matches("./").to_owned(),
        };
        let is_below =
            Path::new(&file).components().all(|part| matches!(part, Component::Normal(_)));
        if !is_below || self.app.file(&file).is_none() {
            return Err(self.bad_setting(
                PRELOAD,
                &format!("app `{app}` has no file `{file}`"),
                ALLOWED,
            ));
        }
        if !self.settings.is_on("opcache") {
            return Err(self.bad_setting(
                PRELOAD,
                "it is OPcache that preloads, and `opcache` is off",
                "off, or `opcache: on`",
            ));
        }
        Ok(Some(file))
    }

    fn composer(
        &self,
        places: &SearchPaths,
    ) -> Result<Option<(PathBuf, &'static str)>, RuntimeError> {
        let how = match self.setting_text(AUTOLOADER) {
            "optimized" => "--optimize",
            "authoritative" => "--classmap-authoritative",
            _ => return Ok(None),
        };
        if self.app.file("composer.json").is_none() || self.app.file(MAP).is_none() {
            let because = format!("app `{}` has no vendor directory of Composer", self.app.name);
            return Err(self.bad_setting(
                AUTOLOADER,
                &because,
                "as-is, or an app with `vendor/autoload.php`",
            ));
        }
        if [VENDOR, "vendor/composer", "vendor/autoload.php", MAP]
            .iter()
            .any(|name| self.app.is_link(name))
        {
            let because = format!("the vendor directory of app `{}` is a link", self.app.name);
            return Err(self.bad_setting(
                AUTOLOADER,
                &because,
                "as-is, or an app with a vendor directory of its own",
            ));
        }
        let need =
            Need { programs: vec!["composer".into(), "composer.phar".into()], ..Need::default() };
        let found = places.find("composer", &need, None, None)?;
        let missing =
            || RuntimeError::NoComposer { autoloader: self.setting_text(AUTOLOADER).into() };
        Ok(Some((found.ok_or_else(missing)?.path, how)))
    }
}
