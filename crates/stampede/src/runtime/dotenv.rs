//! What an app's `.env` files say: they are the app's own matter, which it reads itself. What is
//! here is for what we say of it.

use std::collections::BTreeMap;
use std::path::Path;

use super::app::App;
use super::manifest::AppKind;
use super::prepare::app_env;
use crate::plan::model::RuntimeChoice;

/// As Symfony reads them for `prod`, the last one wins; and what `composer dump-env` makes of them.
const OF_SYMFONY: [&str; 5] =
    [".env", ".env.local", ".env.prod", ".env.prod.local", ".env.local.php"];
/// Laravel and Lumen read one: the first that is there.
const OF_LARAVEL: [&str; 2] = [".env.production", ".env"];

/// Variables that the app itself reads of the files in its folder. Lines that are none are passed
/// over: the app will say so.
fn values(app: &App) -> BTreeMap<String, String> {
    let is_laravel = matches!(app.manifest.kind, AppKind::Laravel | AppKind::Lumen);
    match is_laravel {
        true => OF_LARAVEL.iter().find_map(|name| of_file(app, name)).unwrap_or_default(),
        false => OF_SYMFONY.iter().filter_map(|name| of_file(app, name)).flatten().collect(),
    }
}

/// The app's environment and all that any of its files says, for masking what is secret in it.
pub(super) fn secrets(app: &App, env: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let files = OF_SYMFONY.iter().chain(&OF_LARAVEL);
    let said = files.filter_map(|name| Some((name, of_file(app, name)?)));
    // A variable may have another value in each.
    let said = said.flat_map(|(name, values)| {
        values.into_iter().map(move |(key, value)| (format!("{key} of {name}"), value))
    });
    said.chain(env.clone()).collect()
}

fn of_file(app: &App, name: &str) -> Option<BTreeMap<String, String>> {
    let bytes = app.file(name)?;
    if !name.ends_with(".php") {
        return Some(dotenvy::from_read_iter(&bytes[..]).flatten().collect());
    }
    // `'NAME' => 'value',` as `var_export` writes it.
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let pair = |line: &str| {
        let (key, value) = line.split_once("=>")?;
        let plain = |part: &str| part.trim().trim_end_matches(',').trim_matches('\'').to_owned();
        Some((plain(key), plain(value)))
    };
    Some(text.lines().filter_map(pair).collect())
}

/// What of `.env` the reader should know: where it says otherwise than what the app gets from this
/// choice, and which database the load reaches.
pub fn env_notices(app: &App, choice: &RuntimeChoice) -> Vec<String> {
    let database = own_database(app, choice).map(|host| {
        format!(
            "the load reaches the app's own database, at {host}, and writes what the app writes"
        )
    });
    overruled(app, &app_env(app, choice)).into_iter().chain(database).collect()
}

/// Where the database is that the app itself names, outside its folder; `None`: it names none, or gets one
/// that is made for it.
pub fn own_database(app: &App, choice: &RuntimeChoice) -> Option<String> {
    let said: BTreeMap<String, String> =
        values(app).into_iter().chain(app_env(app, choice)).collect();
    database(&said, app.path()).filter(|_| app.manifest.database.is_none())
}

/// Where the files say otherwise than the environment that the app is measured in, in words.
fn overruled(app: &App, env: &BTreeMap<String, String>) -> Option<String> {
    let said = values(app);
    let other = |key: &&str| match (said.get(*key), env.get(*key)) {
        (Some(said), Some(given)) => !same(said, given),
        _ => false,
    };
    let (mut own, mut given) = (Vec::new(), Vec::new());
    for key in ["APP_ENV", "APP_DEBUG"].into_iter().filter(other) {
        own.push(format!("{key}={}", said[key]));
        given.push(format!("{key}={}", env[key]));
    }
    let (own, given) = (own.join(" "), given.join(" "));
    (!own.is_empty()).then(|| {
        format!("the app's `.env` says {own}; it is measured with {given} (`env:` in a plan changes that)")
    })
}

/// `false` and `0` are one.
fn same(a: &str, b: &str) -> bool {
    let plain = |text: &str| match text.to_lowercase().as_str() {
        "false" | "" | "(false)" => "0".to_owned(),
        "true" | "(true)" => "1".to_owned(),
        other => other.to_owned(),
    };
    plain(a) == plain(b)
}

/// The database that the files name outside the app's folder: the load reaches it.
fn database(said: &BTreeMap<String, String>, root: Option<&Path>) -> Option<String> {
    let get = |key: &str| said.get(key).map(String::as_str).filter(|value| !value.is_empty());
    let outside = |path: &str| {
        let path = format!("/{}", path.trim_start_matches('/'));
        let inside = root.is_some_and(|root| Path::new(&path).starts_with(root));
        (!inside && !path.contains('%')).then_some(path)
    };
    let of_url = |url: &&str| {
        let (scheme, rest) = get(url)?.split_once("://")?;
        let rest = rest.split('?').next()?;
        let place = match scheme.starts_with("sqlite") {
            // One slash more than a host would have begins a whole path.
            true => outside(rest.strip_prefix("//")?)?,
            false => rest.split('/').next()?.rsplit('@').next()?.to_owned(),
        };
        (!place.is_empty()).then(|| format!("{place} ({url})"))
    };
    let is_file = get("DB_CONNECTION").is_none_or(|kind| kind == "sqlite");
    let file = || outside(get("DB_DATABASE").filter(|path| is_file && path.starts_with('/'))?);
    let host = || get("DB_HOST").filter(|_| get("DB_CONNECTION") != Some("sqlite"));
    let url = ["DATABASE_URL", "DB_URL"].iter().find_map(of_url);
    let file = || file().map(|path| format!("{path} (DB_DATABASE)"));
    url.or_else(file).or_else(|| host().map(|host| format!("{host} (DB_HOST)")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::detect::detect;

    fn app_with(files: &[(&str, &str)]) -> (App, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files.iter().chain(&[("index.php", "<?php")]) {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        (detect("shop".into(), folder.path(), None).unwrap(), folder)
    }

    #[test]
    fn later_files_win_and_broken_lines_are_passed_over() {
        let (app, _folder) = app_with(&[
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
        let (app, _folder) = app_with(&[
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
    fn another_environment_than_the_apps_own_is_said() {
        let env = BTreeMap::from([("APP_ENV", "prod"), ("APP_DEBUG", "0")])
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        let (dev, _folder) = app_with(&[(".env", "APP_ENV=dev\nAPP_DEBUG=true\n")]);
        insta::assert_snapshot!(
            overruled(&dev, &env).unwrap(),
            @"the app's `.env` says APP_ENV=dev APP_DEBUG=true; it is measured with APP_ENV=prod APP_DEBUG=0 (`env:` in a plan changes that)"
        );
        for text in ["", "APP_ENV=prod\nAPP_DEBUG=false\n"] {
            let (app, _folder) = app_with(&[(".env", text)]);
            assert_eq!(overruled(&app, &env), None, "{text}");
        }
    }

    #[test]
    fn a_database_of_the_apps_own_is_named_without_its_password() {
        let said = |text: &str| {
            let (app, _folder) = app_with(&[(".env", text)]);
            database(&values(&app), app.path()).unwrap_or_default()
        };
        for (text, found) in [
            (
                "DATABASE_URL=\"mysql://joe:s3cr3t@db.example:3306/shop\"",
                "db.example:3306 (DATABASE_URL)",
            ),
            ("DB_CONNECTION=mysql\nDB_HOST=127.0.0.1\n", "127.0.0.1 (DB_HOST)"),
            ("DB_CONNECTION=sqlite\nDB_HOST=127.0.0.1\n", ""),
            ("DATABASE_URL=sqlite:///%kernel.project_dir%/var/data.db", ""),
            ("DATABASE_URL=sqlite:////srv/other/data.db", "/srv/other/data.db (DATABASE_URL)"),
            ("DB_URL=pgsql://joe:s3cr3t@db.example/shop", "db.example (DB_URL)"),
            ("DB_CONNECTION=sqlite\nDB_DATABASE=/srv/x.sqlite", "/srv/x.sqlite (DB_DATABASE)"),
            ("DB_CONNECTION=sqlite\nDB_DATABASE=shop", ""),
            ("", ""),
        ] {
            assert_eq!(said(text), found, "{text}");
        }
    }
}
