//! What a run's own PHP has by itself: its php.ini and its extensions. What this machine is set up for
//! is compared with it.

use minijinja::Value;
use minijinja::value::Serde;
use serde_json::json;
use stampede_plan::model::RuntimeChoice;

use super::app::App;
use super::catalogue::{Catalogue, RuntimeDirectory};
use super::error::RuntimeError;
use super::locate;
use super::manifest::RuntimeManifest;
use super::setting::{self, DirectoryNames};

/// The common template of php.ini.
const PHP_INI: &str = "common/php.ini.j2";
/// Where the rendered text has the working directory, which does not exist yet.
const DIRECTORY: &str = "/stampede";

impl Catalogue {
    /// The php.ini that the runtime `name` has without any settings, and the extensions of `app` that
    /// it loads from files.
    ///
    /// # Errors
    /// There is no such runtime, or its files are wrong.
    pub fn run_php(&self, name: &str, app: &App) -> Result<(String, Vec<String>), RuntimeError> {
        let runtime = self.runtime(name)?;
        let directories = DirectoryNames::of(self);
        let settings =
            setting::resolve(name, &runtime.manifest, &Default::default(), &directories)?;
        let none: [&str; 0] = [];
        let values = Value::from(Serde(json!({
            "dir": DIRECTORY, "settings": settings.values, "extensions": none,
            "zend_extensions": none, "php_ini": {}, "preload": null, "user": null, "https": false,
        })));
        let text = runtime.render(PHP_INI, &runtime.text(PHP_INI)?, &values)?;
        Ok((text, self.files_of_extensions(&runtime, app)))
    }

    fn files_of_extensions(&self, runtime: &RuntimeDirectory, app: &App) -> Vec<String> {
        let php = runtime.manifest.php.as_ref().and_then(|need| {
            let (name, need) = (&need.value, runtime.manifest.needs.get(&need.value)?);
            self.places.find(name, need, None, None).ok().flatten()
        });
        let directory = php.and_then(|php| locate::extension_dir(&php.path));
        let mut all = app.manifest.all_extensions();
        all.retain(|name| {
            directory.as_ref().is_some_and(|dir| dir.join(format!("{name}.so")).is_file())
        });
        all
    }
}

/// The extensions that a runtime loads if there are files of them: this machine's in a row `today`,
/// else the app's.
pub(crate) fn extensions(choice: &RuntimeChoice, app: &App) -> Vec<String> {
    let today = choice.as_today.as_ref().map(|today| today.extensions.clone());
    today.unwrap_or_else(|| app.manifest.all_extensions())
}

/// The title of a runtime.
pub(crate) fn title<'a>(choice: &'a RuntimeChoice, manifest: &'a RuntimeManifest) -> &'a str {
    choice.as_today.as_ref().map_or(&manifest.title, |today| &today.title)
}
