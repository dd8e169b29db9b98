//! Renders templates: minijinja with strict names, four filters of our own, and files that a
//! template includes.

use std::path::Path;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior, Value};
use stampede_model::ini_text::{IniTextError, ini_text};

use super::error::RuntimeError;

/// Renders `text`; `file` is its name in errors.
///
/// # Errors
/// A wrong template, or an unknown name: no name is silently empty.
pub fn render(file: &str, text: &str, values: &Value) -> Result<String, RuntimeError> {
    render_including(file, text, values, |_| None)
}

/// The same for a template that may include others: `included` gives the text of each by its name.
/// `None`: there is no such template.
///
/// # Errors
/// As `render`. The error names the included template if the mistake is there.
pub(super) fn render_including(
    file: &str,
    text: &str,
    values: &Value,
    included: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
) -> Result<String, RuntimeError> {
    let mut environment = Environment::new();
    environment.set_loader(move |name| Ok(included(name)));
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let wrong = |source: minijinja::Error| {
        let file = innermost_template(&source).unwrap_or(file).to_owned();
        RuntimeError::Template { file, source }
    };
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .keep_trailing_newline(true)
        .build()
        .map_err(wrong)?;
    environment.set_syntax(syntax);
    // The files are configuration files: each template escapes for its own format.
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment.add_filter("ini", ini);
    environment.add_filter("php", php);
    environment.add_filter("dirname", dirname);
    environment.add_filter("sh", |word: &str| shell_words::quote(word).into_owned());
    environment.add_template(file, text).map_err(wrong)?;
    environment.get_template(file).and_then(|template| template.render(values)).map_err(wrong)
}

/// The template that an error is in. An error in an included template is the cause of one in the
/// template that includes it. `None`: the error is in no template.
fn innermost_template(error: &minijinja::Error) -> Option<&str> {
    std::iter::successors(Some(error), |error| {
        std::error::Error::source(*error)?.downcast_ref::<minijinja::Error>()
    })
    .filter_map(minijinja::Error::name)
    .last()
}

/// A value of php.ini.
fn ini(value: &str) -> Result<String, minijinja::Error> {
    let refused = |why: IniTextError| {
        minijinja::Error::new(minijinja::ErrorKind::InvalidOperation, why.to_string())
    };
    ini_text(value).map_err(refused)
}

/// A PHP literal for this value; texts and paths are in single quotes.
fn php(value: &Value) -> String {
    use minijinja::value::ValueKind as Kind;
    let list = |texts: Vec<String>| format!("[{}]", texts.join(", "));
    let keys = || value.try_iter().into_iter().flatten();
    match value.kind() {
        Kind::Bool => if value.is_true() { "true" } else { "false" }.into(),
        Kind::Number => value.to_string(),
        Kind::None | Kind::Undefined => "null".into(),
        Kind::Seq | Kind::Iterable => list(keys().map(|one| php(&one)).collect()),
        Kind::Map => {
            let item = |key: &Value| value.get_item(key).unwrap_or_default();
            list(keys().map(|key| format!("{} => {}", php(&key), php(&item(&key)))).collect())
        }
        _ => format!("'{}'", value.to_string().replace('\\', "\\\\").replace('\'', "\\'")),
    }
}

fn dirname(path: &str) -> String {
    Path::new(path).parent().unwrap_or(Path::new("/")).display().to_string()
}

#[cfg(test)]
mod tests {
    use minijinja::context;
    use minijinja::value::Serde;

    use super::*;

    #[test]
    fn an_unknown_name_is_an_error() {
        let error = render("x.conf", "a {{ nothing }} b", &context! {}).expect_err("strict");
        insta::assert_snapshot!(error, @"template `x.conf` cannot be rendered");
    }

    #[test]
    fn an_included_template_has_the_values_of_the_one_that_includes_it() {
        let included = |name: &str| (name == "common/a.conf").then(|| "a {{ x }} {{ y }}\n".into());
        let text = "{% set y = 2 %}\n{% include \"common/a.conf\" %}\nb\n";
        let rendered = render_including("own/x.conf", text, &context! { x => 1 }, included);
        assert_eq!(rendered.expect("rendered"), "a 1 2\nb\n");
    }

    #[test]
    fn a_mistake_is_reported_in_the_template_that_has_it() {
        let included = |name: &str| (name == "common/a.conf").then(|| "a\n{{ nothing }}\n".into());
        let wrong = |text: &str| {
            let wrong = render_including("own/x.conf", text, &context! {}, included);
            let error = wrong.expect_err("wrong");
            let causes =
                std::iter::successors(std::error::Error::source(&error), |one| (*one).source());
            let last = causes.last().map(ToString::to_string).unwrap_or_default();
            format!("{error}: {last}")
        };
        insta::assert_snapshot!(wrong("{% include \"common/a.conf\" %}"), @"template `common/a.conf` cannot be rendered: undefined value: `nothing` is undefined (in common/a.conf:2)");
        insta::assert_snapshot!(wrong("b\n{% include \"common/b.conf\" %}"), @"template `own/x.conf` cannot be rendered: template not found: tried to include non-existing template 'common/b.conf' (in own/x.conf:2)");
    }

    #[test]
    fn php_texts_are_quoted() {
        let php = |value: serde_json::Value| php(&Value::from(Serde(value)));
        assert_eq!(php("a $b".into()), "'a $b'");
        assert_eq!(php("it's \\ so".into()), "'it\\'s \\\\ so'");
        let all = serde_json::json!({"a": 1, "b'": [true, null, "x"], "c": {"d": 1.5}});
        assert_eq!(php(all), "['a' => 1, 'b\\'' => [true, null, 'x'], 'c' => ['d' => 1.5]]");
    }
}
