//! Reads an app's `.env` files for notices and for masking. The app reads these files itself;
//! nothing here changes what it gets.

use std::collections::BTreeMap;
use std::path::Path;

use stampede_model::app_kind::AppKind;
use stampede_model::fact::Notice;
use stampede_plan::model::RuntimeChoice;

use super::app::App;
use super::catalogue::Catalogue;
use super::spec::{app_env, without_mail};

/// The files that Symfony reads for `prod`, where the last one wins, and the file that `composer
/// dump-env` writes.
const OF_SYMFONY: [&str; 5] =
    [".env", ".env.local", ".env.prod", ".env.prod.local", ".env.local.php"];
/// Laravel and Lumen read one file: the first of these that exists.
const OF_LARAVEL: [&str; 2] = [".env.production", ".env"];

/// The variables that the app itself reads from the files in its directory. Lines that are no
/// variables are skipped: the app will report them.
pub(super) fn values(app: &App) -> BTreeMap<String, String> {
    let is_laravel = matches!(app.manifest.kind, AppKind::Laravel | AppKind::Lumen);
    match is_laravel {
        true => OF_LARAVEL.iter().find_map(|name| of_file(app, name)).unwrap_or_default(),
        false => OF_SYMFONY.iter().filter_map(|name| of_file(app, name)).flatten().collect(),
    }
}

/// The app's environment, and all variables of any of its files, to mask the secrets among them.
pub(super) fn secrets(app: &App, env: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let files = OF_SYMFONY.iter().chain(&OF_LARAVEL);
    let said = files.filter_map(|name| Some((name, of_file(app, name)?)));
    // A variable may have different values in different files, so its name includes the file.
    let said = said.flat_map(|(name, values)| {
        values.into_iter().map(move |(key, value)| (format!("{key} of {name}"), value))
    });
    said.chain(env.clone()).collect()
}

/// Registers the secrets of an app, so that they are masked in everything that is written.
pub fn learn_secrets(app: &App) {
    learn_secrets_with_env(app, &app.manifest.env);
}

/// The same, with the environment `env`.
pub(super) fn learn_secrets_with_env(app: &App, env: &BTreeMap<String, String>) {
    secrets(app, env).iter().for_each(|(name, value)| stampede_mask::named(name, value));
    if let Some(directory) = app.path().filter(|_| app.home.is_some()) {
        let settings = stampede_app_config::settings(directory);
        let beside = stampede_app_config::secrets(&settings);
        beside.for_each(|setting| stampede_mask::named(&setting.names.join("_"), &setting.value));
    }
    let public = |name: &str| Path::new(&app.manifest.docroot).join(name).display().to_string();
    let of_server = [".htaccess", ".user.ini"].map(|name| [name.to_owned(), public(name)]);
    let names = of_server.into_iter().flatten().chain([AUTH_OF_COMPOSER.to_owned()]);
    for bytes in names.filter_map(|name| app.file(&name)) {
        stampede_mask::text(&String::from_utf8_lossy(&bytes));
    }
    app.manifest.settings.learn_secrets();
}

/// Composer's passwords and tokens for repositories.
const AUTH_OF_COMPOSER: &str = "auth.json";

fn of_file(app: &App, name: &str) -> Option<BTreeMap<String, String>> {
    let bytes = app.file(name)?;
    if !name.ends_with(".php") {
        return Some(dotenvy::from_read_iter(&bytes[..]).flatten().collect());
    }
    // A line of `.env.local.php`: `'NAME' => 'value',` as `var_export` writes it.
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let pair = |line: &str| {
        let (key, value) = line.split_once("=>")?;
        let plain = |part: &str| part.trim().trim_end_matches(',').trim_matches('\'').to_owned();
        Some((plain(key), plain(value)))
    };
    Some(text.lines().filter_map(pair).collect())
}

/// Notices about `.env`: where it differs from what the app gets from this choice, and which
/// database the load reaches.
pub fn env_notices(catalogue: &Catalogue, app: &App, choice: &RuntimeChoice) -> Vec<Notice> {
    let own = catalogue.own_database(app, choice);
    let database = own.map(|own| Notice::OwnDatabase { at: own.at });
    let env = app_env(app, choice);
    let overruled = overruled_env_notice(app, &env).into_iter();
    overruled.chain(no_mail_notice(app, &env)).chain(database).collect()
}

/// The notice that the app sends no mail although its files say how; `None`: they do not.
fn no_mail_notice(app: &App, env: &BTreeMap<String, String>) -> Option<Notice> {
    let said = values(app);
    let is_off = |(key, off): &(&str, &str)| {
        let sends = said.get(*key).is_some_and(|value| !value.is_empty() && value != off);
        sends && env.get(*key).is_some_and(|value| value == off)
    };
    let (variable, _) = without_mail(app).find(is_off)?;
    Some(Notice::NoMail { variable: (*variable).to_owned() })
}

/// The notice that `APP_ENV` or `APP_DEBUG` in the files differs from the environment that the app
/// is measured in; `None`: they agree.
fn overruled_env_notice(app: &App, env: &BTreeMap<String, String>) -> Option<Notice> {
    let said = values(app);
    let other = |key: &&str| match (said.get(*key), env.get(*key)) {
        (Some(said), Some(given)) => !means_same(said, given),
        _ => false,
    };
    let (mut own, mut given) = (Vec::new(), Vec::new());
    for key in ["APP_ENV", "APP_DEBUG"].into_iter().filter(other) {
        own.push(format!("{key}={}", said[key]));
        given.push(format!("{key}={}", env[key]));
    }
    let (own, given) = (own.join(" "), given.join(" "));
    (!own.is_empty()).then_some(Notice::EnvOverruled { own, given })
}

/// Whether two values mean the same; `false` and `0` do.
fn means_same(a: &str, b: &str) -> bool {
    let plain = |text: &str| match text.to_lowercase().as_str() {
        "false" | "" | "(false)" => "0".to_owned(),
        "true" | "(true)" => "1".to_owned(),
        other => other.to_owned(),
    };
    plain(a) == plain(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use stampede_plan::model::AppChoice;

    use crate::catalogue::Catalogue;
    use crate::locate::SearchPaths;

    fn app_with(files: &[(&str, &str)]) -> (App, tempfile::TempDir) {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files.iter().chain(&[("index.php", "<?php")]) {
            std::fs::write(directory.path().join(name), text).unwrap();
        }
        let choice = AppChoice::directory(directory.path().to_path_buf());
        (Catalogue::load(SearchPaths::default()).app(&choice).unwrap(), directory)
    }

    #[test]
    fn later_files_take_precedence_and_broken_lines_are_skipped() {
        let (app, _directory) = app_with(&[
            (".env", "A=1\nnonsense here\nB=\"two words\" # why\nexport C='3'\n"),
            (".env.local", "A=local\n"),
            (".env.test", "A=never\n"),
        ]);
        let values = values(&app);
        let found: Vec<(&str, &str)> =
            values.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        assert_eq!(found, [("A", "local"), ("B", "two words"), ("C", "3")]);
    }

    #[test]
    fn every_value_of_every_file_is_known_as_a_secret() {
        let (app, _directory) = app_with(&[
            (".env", "API_KEY=one\n"),
            (".env.production", "API_KEY=two\n"),
            (".env.local.php", "<?php return array (\n  'APP_SECRET' => 'three',\n);"),
        ]);
        let secrets = secrets(&app, &BTreeMap::new());
        let values: Vec<&str> = secrets.values().map(String::as_str).collect();
        assert_eq!(values, ["one", "two", "three"]);
        assert!(secrets.keys().all(|key| key.contains("KEY") || key.contains("SECRET")));
    }

    #[test]
    fn an_environment_other_than_the_apps_own_causes_a_notice() {
        let env = BTreeMap::from([("APP_ENV", "prod"), ("APP_DEBUG", "0")])
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        let (dev, _directory) = app_with(&[(".env", "APP_ENV=dev\nAPP_DEBUG=true\n")]);
        insta::assert_snapshot!(
            overruled_env_notice(&dev, &env).unwrap(),
            @"the app's `.env` says APP_ENV=dev APP_DEBUG=true; it is measured with APP_ENV=prod APP_DEBUG=0 (`env:` in a plan changes that)"
        );
        for text in ["", "APP_ENV=prod\nAPP_DEBUG=false\n"] {
            let (app, _directory) = app_with(&[(".env", text)]);
            assert_eq!(overruled_env_notice(&app, &env), None, "{text}");
        }
    }
}
