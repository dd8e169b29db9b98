//! Reads what of a Dockerfile shows how the app will run: variables and Xdebug of the stages that an image
//! is built from. It is no interpreter: what is not understood is passed over.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::edit::variables;

/// The most bytes of a Dockerfile that is read.
const BYTES_MAX: u64 = 1 << 20;
/// The most stages that one stage is built from.
const DEPTH_MAX: usize = 32;

/// What is known of the image that a service is built as.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BuiltImage {
    /// The variables that it sets (`ENV`), with the values of its arguments put in.
    pub variables: BTreeMap<String, String>,
    /// Whether it installs Xdebug without a condition.
    pub has_xdebug: bool,
    /// The image that all begins with.
    pub base: String,
    /// Whether it brings a Caddyfile of its own.
    pub has_caddyfile: bool,
    /// The files of php.ini that it copies, as its Dockerfile names them.
    pub ini_files: Vec<String>,
    /// Whether it has the php.ini for development that comes with PHP's images.
    pub has_development_ini: bool,
    /// Whether it has a health check; `None`: as its base has.
    pub has_check: Option<bool>,
}

/// Reads the Dockerfile of a service with `build`; `None`: there is none on this machine.
pub fn built_image(service: &Value) -> Option<BuiltImage> {
    let build = &service["build"];
    let given = variables(&build["args"]);
    let given = given.into_iter().filter_map(|(name, value)| Some((name, text(&value)?))).collect();
    Some(read(&content(build)?, build["target"].as_str(), &given))
}

/// The stages with a name of the Dockerfile of a service, in their order; `None`: it is not built, or its
/// Dockerfile is not on this machine.
pub fn stage_names(service: &Value) -> Option<Vec<String>> {
    let stages = stages(&content(&service["build"])?);
    Some(stages.into_iter().map(|stage| stage.name).filter(|name| !name.is_empty()).collect())
}

/// Whether a stage of a service's Dockerfile copies the whole directory that it is built in.
pub fn copies_code(service: &Value) -> bool {
    let stages = content(&service["build"]).map(|content| stages(&content)).unwrap_or_default();
    let all = stages.iter().flat_map(|stage| &stage.instructions);
    let mut copies = all.filter(|(name, _)| name == "COPY" || name == "ADD");
    copies.any(|(_, rest)| sources(rest).iter().any(|one| [".", "./", "/"].contains(&one.as_str())))
}

/// What an instruction copies from the directory that is built in; none if it copies from elsewhere.
fn sources(rest: &str) -> Vec<String> {
    if rest.contains("--from=") {
        return Vec::new();
    }
    let rest = rest.replace(['[', ']', ',', '"'], " ");
    let mut words: Vec<&str> =
        rest.split_whitespace().filter(|word| !word.starts_with("--")).collect();
    words.pop();
    words.into_iter().map(str::to_owned).collect()
}

/// The text of the Dockerfile of a build.
fn content(build: &Value) -> Option<String> {
    if let Some(inline) = build["dockerfile_inline"].as_str() {
        return Some(inline.to_owned());
    }
    let context = build.as_str().or(build["context"].as_str())?;
    let file = Path::new(context).join(build["dockerfile"].as_str().unwrap_or("Dockerfile"));
    let is_short = fs::metadata(&file).is_ok_and(|found| found.len() <= BYTES_MAX);
    is_short.then(|| fs::read_to_string(&file).ok()).flatten()
}

pub(crate) fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Null => None,
        other => Some(other.to_string()),
    }
}

/// A stage, from its `FROM` on.
#[derive(Debug, Default)]
pub(crate) struct Stage {
    /// `base` in `FROM php:8.4-fpm AS base`; empty: it has none.
    pub(crate) name: String,
    base: String,
    instructions: Vec<(String, String)>,
}

fn read(content: &str, target: Option<&str>, given: &BTreeMap<String, String>) -> BuiltImage {
    let stages = stages(content);
    let is_it = |stage: &&Stage, name: &str| stage.name.eq_ignore_ascii_case(name);
    let last = match target {
        Some(target) => stages.iter().position(|stage| is_it(&stage, target)),
        None => stages.len().checked_sub(1),
    };
    let mut image = BuiltImage::default();
    let mut chain: Vec<&Stage> = Vec::new();
    let mut next = last;
    while let Some(index) = next.filter(|_| chain.len() < DEPTH_MAX) {
        chain.push(&stages[index]);
        next = stages[..index].iter().position(|stage| is_it(&stage, &stages[index].base));
    }
    image.base = chain.last().map_or_else(String::new, |stage| stage.base.clone());
    for stage in chain.into_iter().rev() {
        // An argument holds in the stage that declares it.
        let mut arguments: BTreeMap<String, String> = BTreeMap::new();
        for (instruction, rest) in &stage.instructions {
            match instruction.as_str() {
                "ARG" => {
                    for word in words(rest) {
                        let (name, default) = word.split_once('=').unwrap_or((word, ""));
                        let value = given.get(name).map_or_else(|| unquoted(default), Clone::clone);
                        arguments.insert(name.to_owned(), value);
                    }
                }
                "ENV" => {
                    for (name, value) in pairs(rest) {
                        let value = interpolated(&value, &arguments);
                        arguments.insert(name.clone(), value.clone());
                        image.variables.insert(name, value);
                    }
                }
                "HEALTHCHECK" => {
                    image.has_check = Some(!rest.trim().eq_ignore_ascii_case("none"));
                }
                "RUN" => {
                    image.has_xdebug |= installs_xdebug(rest);
                    image.has_development_ini |= rest.contains("php.ini-development");
                }
                "COPY" | "ADD" => {
                    image.has_caddyfile |= rest.to_ascii_lowercase().contains("caddyfile");
                    let copied = sources(rest).into_iter();
                    image.ini_files.extend(copied.filter(|file| file.ends_with(".ini")));
                }
                _ => {}
            }
        }
    }
    image
}

/// The stages, with the lines of an instruction joined.
pub(crate) fn stages(content: &str) -> Vec<Stage> {
    let mut stages: Vec<Stage> = Vec::new();
    let mut open = String::new();
    let mut lines = content.lines().map(str::trim);
    while let Some(line) = lines.next() {
        if line.starts_with('#') {
            continue;
        }
        let (part, goes_on) = line.strip_suffix('\\').map_or((line, false), |part| (part, true));
        open.push_str(part);
        open.push(' ');
        if goes_on {
            continue;
        }
        let mut whole = std::mem::take(&mut open);
        let end = here_document(&whole);
        if let Some(end) = end.filter(|end| lines.clone().any(|line| line == *end)) {
            for line in lines.by_ref().take_while(|line| *line != end) {
                whole = whole + line + "\n";
            }
        }
        let Some((instruction, rest)) = whole.trim().split_once(char::is_whitespace) else {
            continue;
        };
        let (instruction, rest) = (instruction.to_ascii_uppercase(), rest.trim().to_owned());
        match (instruction.as_str(), stages.last_mut()) {
            ("FROM", _) => {
                let words: Vec<&str> =
                    rest.split_whitespace().filter(|word| !word.starts_with("--")).collect();
                let name = words.get(2).filter(|_| words[1].eq_ignore_ascii_case("as"));
                stages.push(Stage {
                    name: name.map_or_else(String::new, |name| (*name).to_owned()),
                    base: words.first().map_or_else(String::new, |base| (*base).to_owned()),
                    instructions: Vec::new(),
                });
            }
            (_, Some(stage)) => stage.instructions.push((instruction, rest)),
            (_, None) => {}
        }
    }
    stages
}

/// The line that ends the text which an instruction brings: `EOF` of `RUN <<-"EOF"`; `None`: it brings none.
pub(crate) fn here_document(instruction: &str) -> Option<String> {
    let takes_text = ["RUN", "COPY", "ADD"].iter().any(|name| {
        instruction.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name))
    });
    let (_, rest) = instruction.split_once("<<").filter(|_| takes_text)?;
    let word = rest.trim_start_matches('-').split_whitespace().next()?;
    let end = unquoted(word.split(['>', '|', ';', ')', '&']).next()?);
    // `<<<` and shifts of numbers are none.
    end.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_').then_some(end)
}

/// The names and values of `ENV`: `A=1 B="two words"`, or the old form `A the rest`.
fn pairs(rest: &str) -> Vec<(String, String)> {
    let is_new = rest.split_whitespace().next().is_some_and(|first| first.contains('='));
    if !is_new {
        let one = rest.split_once(char::is_whitespace);
        return one.map(|(name, value)| (name.to_owned(), unquoted(value))).into_iter().collect();
    }
    let pairs = words(rest).filter_map(|word| word.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), unquoted(value))).collect()
}

/// The words of a text. White space in quotes separates none.
fn words(rest: &str) -> impl Iterator<Item = &str> {
    let mut quote = None;
    let words = rest.split(move |c: char| {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '"' || c == '\'' => quote = Some(c),
            _ => {}
        }
        quote.is_none() && c.is_whitespace()
    });
    words.filter(|word| !word.is_empty())
}

pub(crate) fn unquoted(text: &str) -> String {
    text.trim().trim_matches(['"', '\'']).to_owned()
}

/// A text with the values of arguments in place of `$NAME`, `${NAME}` and `${NAME:-default}`. What is not known and
/// has no default stays.
pub(crate) fn interpolated(text: &str, arguments: &BTreeMap<String, String>) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        filled += before;
        let braced = after.strip_prefix('{').and_then(|after| after.split_once('}'));
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = after.find(|c| !is_name(c)).unwrap_or(after.len());
        let (named, after) = braced.unwrap_or((&after[..end], &after[end..]));
        let (name, default) =
            named.split_once(":-").map_or((named, None), |(name, default)| (name, Some(default)));
        let known = arguments.get(name).map(String::as_str);
        let known = known.filter(|known| !known.is_empty() || default.is_none());
        match known.or(default) {
            Some(value) => filled += value,
            None => filled += &rest[before.len()..rest.len() - after.len()],
        }
        rest = after;
    }
    filled + rest
}

/// Whether a command installs or switches on Xdebug. What depends on a condition is not known.
fn installs_xdebug(command: &str) -> bool {
    let command = command.to_ascii_lowercase();
    let Some((before, _)) = command.split_once("xdebug") else { return false };
    let has_condition = ["if ", "test ", "[ "].iter().any(|word| before.contains(word));
    let tools =
        ["pecl install", "docker-php-ext", "install-php-extensions", "apt-get", "apk ", "pie "];
    !has_condition && tools.iter().any(|tool| before.contains(tool))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of(content: &str, build: Value) -> BuiltImage {
        let mut build = build;
        build["context"] = json!("/srv");
        build["dockerfile_inline"] = json!(content);
        built_image(&json!({"build": build})).expect("a build")
    }

    const STAGES: &str = "\
# syntax=docker/dockerfile:1
ARG PHP_VERSION=8.4
FROM php:${PHP_VERSION}-fpm AS base
ENV APP_NAME shop
FROM --platform=linux/amd64 base as dev
ARG APP_ENV=dev
ENV APP_ENV=$APP_ENV \\
    # a comment between
    XDEBUG_MODE=\"develop,debug\" TITLE='My shop'
RUN set -eux; \\
    pecl install xdebug && \\
    docker-php-ext-enable xdebug
FROM base AS prod
ENV APP_ENV=prod APP_DEBUG=${DEBUG:-0}
";

    #[test]
    fn only_the_stages_of_the_target_count() {
        let dev = of(STAGES, json!({"target": "dev"}));
        let shown = |name: &str| dev.variables.get(name).map(String::as_str);
        assert_eq!(shown("APP_ENV"), Some("dev"));
        assert_eq!(shown("XDEBUG_MODE"), Some("develop,debug"));
        assert_eq!(shown("TITLE"), Some("My shop"));
        assert_eq!(shown("APP_NAME"), Some("shop"), "of the stage below");
        assert!(dev.has_xdebug);
        let prod = of(STAGES, json!({}));
        assert_eq!(prod.variables.get("APP_ENV").map(String::as_str), Some("prod"));
        assert_eq!(prod.variables.get("APP_DEBUG").map(String::as_str), Some("0"));
        assert!(!prod.has_xdebug);
        let two = of(
            "FROM php\nARG A=1 B='2 3' X\nENV C=$A D=$B E=${A}x$X\nENV F=$E:$PATH G=${Y}\n",
            json!({}),
        );
        let values: Vec<&str> = two.variables.values().map(String::as_str).collect();
        assert_eq!(values, ["1", "2 3", "1x", "1x:$PATH", "${Y}"]);
        let given = of(STAGES, json!({"target": "DEV", "args": {"APP_ENV": "test"}}));
        assert_eq!(given.variables.get("APP_ENV").map(String::as_str), Some("test"));
        assert_eq!(of(STAGES, json!({"target": "none"})).variables, BTreeMap::new());
    }

    #[test]
    fn texts_within_an_instruction_belong_to_it() {
        let text = "FROM php:8.4-fpm\nRUN <<-'EOF'\n\tapt-get update\n\tENV APP_ENV=dev\n\tinstall-php-extensions xdebug\n\tEOF\nENV A=1\n";
        let image = of(text, json!({}));
        assert!(image.has_xdebug);
        assert_eq!(image.variables.keys().collect::<Vec<_>>(), ["A"]);
        let none = of("FROM php\nRUN cat <<< x && echo $((1<<2)) $((1 <<n))\nENV A=1\n", json!({}));
        assert_eq!(none.variables.len(), 1);
        let to_file = of("FROM php\nRUN cat <<EOF>/etc/x\nENV B=1\nEOF\nENV A=1\n", json!({}));
        assert_eq!(to_file.variables.keys().collect::<Vec<_>>(), ["A"]);
        assert!(
            !of("FROM php\nRUN <<EOF\npecl install apcu\n", json!({})).has_xdebug,
            "it never ends"
        );
    }

    #[test]
    fn xdebug_counts_where_it_is_surely_installed() {
        let has = |run: &str| of(&format!("FROM php:8.4-fpm\nRUN {run}\n"), json!({})).has_xdebug;
        for run in [
            "install-php-extensions opcache xdebug",
            "apk add --no-cache php83-pecl-xdebug",
            "apt-get update && apt-get install -y php8.2-xdebug",
        ] {
            assert!(has(run), "{run}");
        }
        for run in [
            "if [ \"$INSTALL_XDEBUG\" = true ]; then pecl install xdebug; fi",
            "rm -f /usr/local/etc/php/conf.d/xdebug.ini",
            "echo no xdebug here",
        ] {
            assert!(!has(run), "{run}");
        }
    }

    #[test]
    fn what_is_no_build_or_no_dockerfile_is_passed_over() {
        assert_eq!(built_image(&json!({"image": "nginx"})), None);
        assert_eq!(built_image(&json!({"build": "/nowhere"})), None);
        assert_eq!(built_image(&json!({"build": "https://example.org/shop.git"})), None);
        for text in
            ["", "FROM", "ENV A=1", "FROM x\nENV\nENV A\nENV =\nRUN\n", "FROM a AS a\nFROM a AS a"]
        {
            let _ = of(text, json!({}));
        }
    }
}
