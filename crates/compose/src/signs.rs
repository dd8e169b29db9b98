//! Recognises a development configuration, which most repositories hold: what it measures is not
//! what production would serve.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use stampede_model::fact::development::DevelopmentSign;

use crate::code::CodeMount;
use crate::dockerfile::{self, BuiltImage, stage_names};
use crate::edit::{Mount, variables};
use crate::layers::variables_of_file;
use crate::project::Project;
use crate::stages::{is_of_development, production_beside};
use crate::variables::plain;

/// Values of `APP_ENV` and its like that mean development.
const DEVELOPMENT: [&str; 4] = ["dev", "develop", "development", "local"];
/// The variables that name the environment.
const ENVIRONMENT: [&str; 5] =
    ["APP_ENV", "SYMFONY_ENV", "CI_ENVIRONMENT", "YII_ENV", "APPLICATION_ENV"];
/// The variables that turn debugging on.
const DEBUG: [&str; 4] = ["APP_DEBUG", "WORDPRESS_DEBUG", "WP_DEBUG", "YII_DEBUG"];
/// What a run changes of a project.
#[derive(Clone, Copy, Debug, Default)]
pub struct Overridden<'a> {
    /// Services beside the budget, which do not count.
    pub beside: &'a [String],
    /// Variables; `None`: none.
    pub env: Option<&'a BTreeMap<String, String>>,
    /// Values of php.ini; `None`: none.
    pub php_ini: Option<&'a BTreeMap<String, String>>,
    /// Whether mounted code comes from the images instead.
    pub has_code_in_images: bool,
}

/// What in the project shows a development configuration, each sign once. `image_variables` is what an image
/// sets that is here and not built.
pub fn development_signs(
    project: &Project,
    changes: Overridden<'_>,
    image_variables: impl Fn(&str) -> BTreeMap<String, String>,
) -> Vec<DevelopmentSign> {
    let none = BTreeMap::new();
    let (env, php_ini) = (changes.env.unwrap_or(&none), changes.php_ini.unwrap_or(&none));
    let mut signs: Vec<DevelopmentSign> = Vec::new();
    for (name, service) in
        project.services().filter(|(name, _)| !changes.beside.iter().any(|one| one == name))
    {
        let of_variables = variable_signs(service, env);
        let code = CodeMount::all(service).into_iter().map(|code| code.source).next();
        let of_code = code.iter().filter(|_| !changes.has_code_in_images).map(|path| {
            let (service, path) = (name.to_owned(), path.display().to_string());
            DevelopmentSign::MountedCode { service, path }
        });
        // An image that copies the code may have other environment files than the directory.
        let is_other = changes.has_code_in_images && dockerfile::copies_code(service);
        let of_file = code.iter().filter(|_| !is_other);
        let of_file = of_file.flat_map(|code| file_signs(code, service, env));
        let of_build = build_sign(name, service);
        let of_image = image_signs((name, service), (env, php_ini), &image_variables);
        let of_ini = directive_signs(service, (env, php_ini));
        let all = of_variables.into_iter().chain(of_file).chain(of_ini);
        let all = all.chain(of_build).chain(of_image).chain(of_code);
        for sign in all {
            if !signs.iter().any(|known| is_same(known, &sign)) {
                signs.push(sign);
            }
        }
    }
    signs
}

/// Whether two signs show the same. Several services may mount the same code, and one of them may be given
/// the variables of a file that another one reads from there.
fn is_same(one: &DevelopmentSign, other: &DevelopmentSign) -> bool {
    use DevelopmentSign::{MountedCode, OfFile, Variable};
    let variable = |sign: &DevelopmentSign| match sign {
        Variable { variable, value } | OfFile { variable, value, .. } => {
            Some((variable.clone(), value.clone()))
        }
        _ => None,
    };
    match (one, other) {
        (MountedCode { path, .. }, MountedCode { path: other, .. }) => path == other,
        (one, other) => {
            one == other || variable(one).is_some_and(|one| Some(one) == variable(other))
        }
    }
}

fn variable_signs(service: &Value, env: &BTreeMap<String, String>) -> Vec<DevelopmentSign> {
    let all = variables(&service["environment"]);
    let given =
        all.into_iter().filter(|(name, _)| !env.contains_key(name)).filter_map(|(name, value)| {
            let value = match value {
                Value::String(text) => text,
                Value::Null => return None,
                other => other.to_string(),
            };
            Some((name, value))
        });
    let given = given.chain(env.clone());
    given
        .filter(|(name, value)| is_sign(name, value))
        .map(|(variable, value)| DevelopmentSign::Variable { variable, value })
        .collect()
}

/// Whether a variable of this value means development.
fn is_sign(name: &str, value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    let (is_on, is_off) = (is_on(&value), matches!(value.as_str(), "0" | "false" | "off" | "no"));
    ENVIRONMENT.contains(&name) && DEVELOPMENT.contains(&value.as_str())
        || DEBUG.contains(&name) && is_on
        || name == "XDEBUG_MODE" && !value.is_empty() && value != "off"
        || name.ends_with("OPCACHE_VALIDATE_TIMESTAMPS") && is_on
        || name.ends_with("OPCACHE_ENABLE") && is_off
}

fn is_on(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "1" | "true" | "on" | "yes")
}

/// What the environment files of mounted code say, as Symfony and Laravel read them: a file of this
/// machine alone wins over the common one, and a variable of the service over both.
fn file_signs(
    code: &Path,
    service: &Value,
    env: &BTreeMap<String, String>,
) -> Vec<DevelopmentSign> {
    let given = variables(&service["environment"]);
    let mut known: BTreeMap<String, (&str, String)> = BTreeMap::new();
    for file in [".env", ".env.local"] {
        for (name, value) in variables_of_file(&code.join(file)) {
            known.insert(name, (file, value));
        }
    }
    known.retain(|name, (_, value)| {
        !given.contains_key(name)
            && !env.contains_key(name)
            && (ENVIRONMENT.contains(&name.as_str()) || DEBUG.contains(&name.as_str()))
            && is_sign(name, value)
    });
    known
        .into_iter()
        .map(|(variable, (file, value))| DevelopmentSign::OfFile {
            file: file.to_owned(),
            variable,
            value,
        })
        .collect()
}

/// A stage of the build whose name says that it is for development.
fn build_sign(name: &str, service: &Value) -> Option<DevelopmentSign> {
    let target = service["build"]["target"].as_str().filter(|target| is_of_development(target))?;
    let mut others = stage_names(service).unwrap_or_default();
    others.retain(|name| !name.eq_ignore_ascii_case(target));
    let (service, target) = (name.to_owned(), target.to_owned());
    let production = production_beside(&target, name, &others);
    Some(DevelopmentSign::BuildTarget { service, target, production, others })
}

/// What the image of a service brings for development, built or not.
fn image_signs(
    (name, service): (&str, &Value),
    (env, php_ini): (&BTreeMap<String, String>, &BTreeMap<String, String>),
    image_variables: impl Fn(&str) -> BTreeMap<String, String>,
) -> Vec<DevelopmentSign> {
    let image = match dockerfile::built_image(service) {
        Some(built) => built,
        None if service["build"].is_null() => {
            let variables = service["image"].as_str().map(image_variables).unwrap_or_default();
            BuiltImage { variables, ..BuiltImage::default() }
        }
        None => return Vec::new(),
    };
    let given = variables(&service["environment"]);
    let is_given = |name: &str| given.contains_key(name) || env.contains_key(name);
    // A flag wins over the project's files, and these over the image.
    let set = env.get("XDEBUG_MODE").map(String::as_str);
    let of_files = given.get("XDEBUG_MODE").and_then(Value::as_str);
    let of_image = image.variables.get("XDEBUG_MODE").map(String::as_str);
    let mode = set.or(of_files).or(of_image).or(php_ini.get("xdebug.mode").map(String::as_str));
    let is_off = mode.is_some_and(|mode| mode == "off")
        || mounted_directives(service)
            .iter()
            .any(|(_, name, value)| name == "xdebug.mode" && value == "off");
    let xdebug = (image.has_xdebug && !is_off)
        .then(|| DevelopmentSign::XdebugInstalled { service: name.to_owned() });
    let set = image.variables.into_iter().filter(|(name, value)| {
        // Without Xdebug, its mode means nothing.
        !is_given(name) && name != "XDEBUG_MODE" && is_sign(name, value)
    });
    let set = set.map(|(variable, value)| {
        let service = name.to_owned();
        DevelopmentSign::OfImage { service, variable, value }
    });
    xdebug.into_iter().chain(set).collect()
}

/// Directives for development in the php.ini files that a service mounts, or that its image copies.
fn directive_signs(
    service: &Value,
    (env, php_ini): (&BTreeMap<String, String>, &BTreeMap<String, String>),
) -> Vec<DevelopmentSign> {
    let mode = env.get("XDEBUG_MODE").or(php_ini.get("xdebug.mode")).map(String::as_str);
    let found = mounted_directives(service).into_iter().chain(copied_directives(service));
    let found =
        found.filter(|(_, name, _)| !php_ini.contains_key(name)).filter(|(_, name, value)| {
            match name.as_str() {
                "opcache.validate_timestamps" => is_on(value),
                "opcache.enable" => !is_on(value),
                "zend.assertions" => value == "1",
                "xdebug.mode" => value != "off" && mode.is_none(),
                "zend_extension" => value.contains("xdebug") && mode != Some("off"),
                _ => false,
            }
        });
    found
        .map(|(path, directive, value)| DevelopmentSign::Directive { path, directive, value })
        .collect()
}

/// The directives in the php.ini files that a service mounts, alone or with their directory: file, name and
/// value.
fn mounted_directives(service: &Value) -> Vec<(String, String, String)> {
    let mounts = service["volumes"].as_array().into_iter().flatten().filter_map(Mount::of);
    let sources =
        mounts.filter_map(|mount| mount.bind_source().map(|source| PathBuf::from(plain(source))));
    let files = sources.flat_map(|source| match source.is_dir() {
        false => vec![source],
        true => {
            let entries = fs::read_dir(source).into_iter().flatten().flatten();
            let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
            files.sort();
            files
        }
    });
    let files = files.filter(|file| file.extension().is_some_and(|end| end == "ini"));
    directives_of(files)
}

/// The same of the files that a service's Dockerfile copies, and of the php.ini for development of PHP's images.
fn copied_directives(service: &Value) -> Vec<(String, String, String)> {
    let Some(image) = dockerfile::built_image(service) else { return Vec::new() };
    let build = &service["build"];
    let context = build.as_str().or(build["context"].as_str()).unwrap_or_default();
    let place = |file: &String| Path::new(context).join(file.trim_start_matches('/'));
    let mut all = directives_of(image.ini_files.iter().map(place));
    if image.has_development_ini {
        // Source: php.ini-development of PHP.
        let of = |name: &str, value: &str| {
            ("php.ini-development".to_owned(), name.to_owned(), value.to_owned())
        };
        all.push(of("zend.assertions", "1"));
    }
    all
}

/// The directives of files.
fn directives_of(files: impl Iterator<Item = PathBuf>) -> Vec<(String, String, String)> {
    let mut all = Vec::new();
    for file in files.take(INI_FILES_MAX) {
        let is_short = fs::metadata(&file).is_ok_and(|found| found.len() <= INI_BYTES_MAX);
        let text =
            if is_short { fs::read_to_string(&file).unwrap_or_default() } else { String::new() };
        let path = file.display().to_string();
        let found = text.lines().filter_map(directive);
        all.extend(found.map(|(name, value)| (path.clone(), name.to_owned(), value.to_owned())));
    }
    all
}

/// The name and the value of a line of a php.ini file; `None`: it is a comment or a section.
fn directive(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split(';').next()?.split_once('=')?;
    Some((name.trim(), value.trim().trim_matches('"')))
}

/// The most php.ini files of a service that are read.
const INI_FILES_MAX: usize = 100;
/// The most bytes of one: php.ini-development has 70 KB.
const INI_BYTES_MAX: u64 = 256 << 10;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn signs(document: Value, env: &[(&str, &str)]) -> Vec<String> {
        let Value::Object(document) = document else { panic!("a map") };
        let project = Project { directory: "/srv".into(), name: "srv".to_owned(), document };
        let env: BTreeMap<String, String> =
            env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let of_image = |image: &str| match image {
            "shop:dev" => BTreeMap::from([("APP_ENV".to_owned(), "dev".to_owned())]),
            _ => BTreeMap::new(),
        };
        let changes =
            Overridden { beside: &["db".to_owned()], env: Some(&env), ..Overridden::default() };
        development_signs(&project, changes, of_image).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn variables_of_development_are_signs_unless_they_are_overridden() {
        let services = || {
            json!({"services": {
                "php": {"environment": {"APP_ENV": "dev", "APP_DEBUG": 1, "XDEBUG_MODE": "develop,debug", "A": null}},
                "web": {"environment": ["APP_ENV=local", "APP_DEBUG=false", "XDEBUG_MODE=off"]},
                "db": {"environment": {"APP_ENV": "development"}},
            }})
        };
        assert_eq!(
            signs(services(), &[]),
            ["APP_DEBUG=1", "APP_ENV=dev", "XDEBUG_MODE=develop,debug", "APP_ENV=local"]
        );
        let env = [("APP_ENV", "prod"), ("APP_DEBUG", "0"), ("XDEBUG_MODE", "off")];
        assert_eq!(signs(services(), &env), [""; 0]);
    }

    #[test]
    fn a_variable_that_two_services_have_from_one_file_is_one_sign() {
        let of = |variable: &str, value: &str| (variable.to_owned(), value.to_owned());
        let in_file = |(variable, value)| DevelopmentSign::OfFile {
            file: ".env".to_owned(),
            variable,
            value,
        };
        let given = |(variable, value)| DevelopmentSign::Variable { variable, value };
        assert!(is_same(&in_file(of("APP_ENV", "local")), &given(of("APP_ENV", "local"))));
        assert!(!is_same(&in_file(of("APP_ENV", "local")), &given(of("APP_ENV", "dev"))));
        assert!(!is_same(&in_file(of("APP_ENV", "1")), &given(of("APP_DEBUG", "1"))));
    }

    #[test]
    fn what_an_image_brings_is_a_sign_unless_the_service_says_otherwise() {
        let inline = "FROM php:8.4-fpm\nENV APP_DEBUG=1\nRUN pecl install xdebug\n";
        let services = |environment: Value| {
            json!({"services": {
                "php": {"build": {"context": ".", "dockerfile_inline": inline}, "environment": environment},
                "web": {"image": "shop:dev"},
            }})
        };
        let xdebug = "the image of service php has Xdebug";
        let debug = "APP_DEBUG=1 in the image of service php";
        let env = "APP_ENV=dev in the image of service web";
        assert_eq!(signs(services(json!({})), &[]), [xdebug, debug, env]);
        let off = json!({"XDEBUG_MODE": "off", "APP_DEBUG": 0});
        assert_eq!(signs(services(off), &[]), [env]);
        let flags = [("XDEBUG_MODE", "off"), ("APP_DEBUG", "0"), ("APP_ENV", "prod")];
        assert_eq!(signs(services(json!(null)), &flags), [""; 0]);
        // The flag that the note names wins over what the files say.
        let on = json!({"XDEBUG_MODE": "debug", "APP_DEBUG": 1});
        assert_eq!(signs(services(on), &flags), [""; 0]);
        let ini = tempfile::tempdir().unwrap();
        std::fs::write(ini.path().join("x.ini"), "xdebug.mode=off\n").unwrap();
        let mut mounted = services(json!({"APP_DEBUG": "0"}));
        mounted["services"]["php"]["volumes"] =
            json!([format!("{}:/usr/local/etc/php/conf.d", ini.path().display())]);
        assert_eq!(signs(mounted, &[]), [env]);
    }

    #[test]
    fn settings_that_an_image_copies_are_signs_unless_a_run_sets_them() {
        let place = tempfile::tempdir().unwrap();
        std::fs::write(place.path().join("dev.ini"), "opcache.validate_timestamps=1\n").unwrap();
        let inline = "FROM php:8.4-fpm AS base\nRUN mv $PHP_INI_DIR/php.ini-development $PHP_INI_DIR/php.ini\n\
                      COPY --link dev.ini $PHP_INI_DIR/conf.d/\nFROM base\nCOPY --from=base other.ini /\n";
        let build = json!({"context": place.path(), "dockerfile_inline": inline});
        let document = json!({"services": {"php": {"build": build}}});
        let Value::Object(document) = document else { panic!("a map") };
        let project = Project { directory: "/srv".into(), name: "srv".to_owned(), document };
        let of = |php_ini: &[&str]| -> Vec<String> {
            let php_ini = php_ini.iter().map(|name| ((*name).to_owned(), "0".to_owned())).collect();
            let changes = Overridden { php_ini: Some(&php_ini), ..Overridden::default() };
            let signs = development_signs(&project, changes, |_| BTreeMap::new());
            signs.iter().map(ToString::to_string).collect()
        };
        let file = place.path().join("dev.ini");
        let timestamps = format!("opcache.validate_timestamps=1 in {}", file.display());
        let assertions = "zend.assertions=1 in php.ini-development";
        assert_eq!(of(&[]), [timestamps.as_str(), assertions]);
        assert_eq!(of(&["opcache.validate_timestamps"]), [assertions]);
        assert_eq!(of(&["opcache.validate_timestamps", "zend.assertions"]), [""; 0]);
    }

    #[test]
    fn environment_files_count_unless_the_image_copies_the_code() {
        let place = tempfile::tempdir().unwrap();
        for (name, text) in [("artisan", ""), (".env", "APP_ENV=local\n")] {
            std::fs::write(place.path().join(name), text).unwrap();
        }
        let of = |dockerfile: &str, has_code_in_images: bool| -> Vec<String> {
            let build = json!({"context": "/srv", "dockerfile_inline": dockerfile});
            let mount = format!("{}:/app", place.path().display());
            let document = json!({"services": {"php": {"build": build, "volumes": [mount]}}});
            let Value::Object(document) = document else { panic!("a map") };
            let project = Project { directory: "/srv".into(), name: "srv".to_owned(), document };
            let changes = Overridden { has_code_in_images, ..Overridden::default() };
            let signs = development_signs(&project, changes, |_| BTreeMap::new());
            signs.iter().map(ToString::to_string).collect()
        };
        let mounted = format!("the code of service php is mounted from {}", place.path().display());
        let file = "APP_ENV=local in .env";
        assert_eq!(of("FROM php\nCOPY . /app\n", false), [file, &mounted]);
        assert_eq!(of("FROM php\nCOPY . /app\n", true), [""; 0]);
        assert_eq!(of("FROM php AS a\nADD [\"./\", \"/app\"]\nFROM a\n", true), [""; 0]);
        // What has only extensions gets a copy of the directory.
        assert_eq!(of("FROM php\nCOPY composer.json /app/\nCOPY --from=a . /app\n", true), [file]);
    }

    #[test]
    fn builds_and_mounted_settings_for_development_are_signs() {
        let place = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            std::fs::write(place.path().join(name), text).unwrap();
            place.path().join(name).display().to_string()
        };
        let ini = put(
            "php.ini",
            "[opcache]\nopcache.enable = 1\n; opcache.validate_timestamps=1\nopcache.validate_timestamps = On\n",
        );
        let xdebug = put("xdebug.ini", "zend_extension=xdebug\n");
        put("composer.json", "{}");
        put(".env", "APP_ENV=local\nAPP_DEBUG=true\nDB_HOST=db\n");
        put(".env.local", "APP_ENV=prod\n");
        let code = place.path().display();
        let services = json!({"services": {"php": {
            "build": {"context": ".", "target": "frankenphp_dev"},
            "volumes": [format!("{ini}:/etc/php.ini:ro"), format!("{xdebug}:/etc/xdebug.ini")],
        }, "app": {"build": {"target": "deliver"}, "volumes": [format!("{code}:/app")]}}});
        let shown = |env: &[(&str, &str)]| -> Vec<String> {
            let all = signs(services.clone(), env);
            all.into_iter().map(|sign| sign.replace(&format!("{code}/"), "")).collect()
        };
        let of_ini = "opcache.validate_timestamps=On in php.ini";
        let of_xdebug = "zend_extension=xdebug in xdebug.ini";
        let code = format!("the code of service app is mounted from {code}");
        let build = "service php is built with `target: frankenphp_dev`";
        let all = ["APP_DEBUG=true in .env", of_ini, of_xdebug, &code, build];
        let mut found = shown(&[]);
        found.sort_by_key(|sign| all.iter().position(|known| known == sign));
        found.dedup();
        assert_eq!(found, all);
        let env = [("XDEBUG_MODE", "off"), ("APP_DEBUG", "0")];
        let mut found = shown(&env);
        found.sort_by_key(|sign| all.iter().position(|known| known == sign));
        assert_eq!(found, [of_ini, &code, build]);
    }

    #[test]
    fn code_that_is_mounted_is_a_sign_and_other_mounts_are_not() {
        let code = tempfile::tempdir().unwrap();
        std::fs::write(code.path().join("composer.json"), "{}").unwrap();
        let other = tempfile::tempdir().unwrap();
        let mount = |path: &Path| json!({"services": {"php": {"volumes": [format!("{}:/app", path.display())]}}});
        let found = signs(mount(code.path()), &[]);
        assert_eq!(
            found,
            [format!("the code of service php is mounted from {}", code.path().display())]
        );
        assert_eq!(signs(mount(other.path()), &[]), [""; 0]);
    }
}
