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

/// Where `.env` says otherwise than what the app gets from this choice, in words.
pub fn env_notice(app: &App, choice: &RuntimeChoice) -> Option<String> {
    overruled(app, &app_env(app, choice))
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

/// `false` and `0` are one, and Laravel's `production` is what Symfony calls `prod`.
fn same(a: &str, b: &str) -> bool {
    let plain = |text: &str| match text.to_lowercase().as_str() {
        "false" | "" | "(false)" => "0".to_owned(),
        "true" | "(true)" => "1".to_owned(),
        "production" => "prod".to_owned(),
        other => other.to_owned(),
    };
    plain(a) == plain(b)
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
        for text in ["", "APP_ENV=production\nAPP_DEBUG=false\n", "APP_ENV=prod\n"] {
            let (app, _folder) = app_with(&[(".env", text)]);
            assert_eq!(overruled(&app, &env), None, "{text}");
        }
    }
}
