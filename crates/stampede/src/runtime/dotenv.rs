//! What an app's `.env` files say: they are the app's own matter, which it reads itself. What is
//! here is for what we say of it.

use std::collections::BTreeMap;

use super::app::App;
use super::prepare::app_env;
use crate::plan::model::RuntimeChoice;

/// As Symfony and Laravel read them for `prod`, the last one wins.
const FILES: [&str; 4] = [".env", ".env.local", ".env.prod", ".env.prod.local"];

/// Variables of the files in the app's own folder. Lines that are none are passed over: the app
/// will say so.
pub(super) fn values(app: &App) -> BTreeMap<String, String> {
    let texts = FILES.into_iter().filter_map(|name| app.file(name));
    texts
        .flat_map(|text| dotenvy::from_read_iter(&text[..]).flatten().collect::<Vec<_>>())
        .collect()
}

/// What of `.env` the reader should know: where it says otherwise than what the app gets from this
/// choice, and which database the load reaches.
pub fn env_notices(app: &App, choice: &RuntimeChoice) -> Vec<String> {
    let env = app_env(app, choice);
    let said: BTreeMap<String, String> = values(app).into_iter().chain(env.clone()).collect();
    let database = database(&said).filter(|_| app.manifest.database.is_none()).map(|host| {
        format!(
            "the load reaches the app's own database, at {host}, and writes what the app writes"
        )
    });
    overruled(app, &env).into_iter().chain(database).collect()
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

/// The database that the files name on another machine, or beside stampede: the load reaches it.
fn database(said: &BTreeMap<String, String>) -> Option<String> {
    let get = |key: &str| said.get(key).map(String::as_str).filter(|value| !value.is_empty());
    let of_url = |url: &'static str| {
        let (_, rest) = get(url)?.split_once("://")?;
        let rest = rest.split(['/', '?']).next()?;
        let host = rest.rsplit('@').next().filter(|host| !host.is_empty())?;
        Some(format!("{host} ({url})"))
    };
    let host = || Some(format!("{} (DB_HOST)", get("DB_HOST")?));
    let is_file = get("DB_CONNECTION") == Some("sqlite");
    of_url("DATABASE_URL").or_else(|| host().filter(|_| !is_file))
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
            database(&values(&app)).unwrap_or_default()
        };
        for (text, found) in [
            (
                "DATABASE_URL=\"mysql://joe:s3cr3t@db.example:3306/shop\"",
                "db.example:3306 (DATABASE_URL)",
            ),
            ("DB_CONNECTION=mysql\nDB_HOST=127.0.0.1\n", "127.0.0.1 (DB_HOST)"),
            ("DB_CONNECTION=sqlite\nDB_HOST=127.0.0.1\n", ""),
            ("DATABASE_URL=sqlite:///%kernel.project_dir%/var/data.db", ""),
            ("", ""),
        ] {
            assert_eq!(said(text), found, "{text}");
        }
    }
}
