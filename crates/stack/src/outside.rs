//! Verifies a server from outside: by its answers alone, where nothing may be added to its app.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::Value;
use stampede_mask::mask_foreign;
use stampede_model::fact::Observation;
use stampede_model::record::ObservedState;
use stampede_plan::model::RequestSpec;

use crate::{Answer, AnswerContext, Pages, Site, sha256};

/// Verifies that a server answers correctly: its page by `page`, and each of `requests` once. PHP's
/// version and settings are known only if the answer contains them, since only requests of the plan
/// may be sent.
///
/// # Errors
/// The page's answer is wrong, or does not come.
pub(crate) fn verify<E>(
    site: &impl Site,
    context: &AnswerContext<'_>,
    page: impl Fn() -> Result<Answer, E>,
    requests: &[&RequestSpec],
) -> Result<ObservedState, E> {
    let begun = Instant::now();
    let answer = page()?;
    let mut seen = vec![context.shown(&answer), context.shown(&page()?)];
    let mut pages = Pages::ask(site, context, requests);
    std::thread::sleep(A_SECOND.saturating_sub(begun.elapsed()));
    seen.push(context.shown(&page()?));
    pages.request_again(site, context);
    let first = seen.swap_remove(0);
    let answer_changes = seen.iter().any(|again| *again != first);
    let mut notices = Vec::new();
    let stable = if answer_changes {
        notices.push(Observation::AnswerChanges { can_be_masked: false }.into());
        format!("{}, changing", answer.status)
    } else {
        first.clone()
    };
    let (php_version, ini) = php_version_and_ini(&answer);
    Ok(ObservedState {
        php_version,
        ini,
        answer_sha256: sha256(&stable),
        answer_changes,
        answer: mask_foreign(&first),
        pages: pages.records(),
        notices,
        ..ObservedState::default()
    })
}

/// PHP's version and values of php.ini, where an answer contains them: in `X-Powered-By`
/// (`expose_php`), or as JSON in the form of the app `hello`.
fn php_version_and_ini(answer: &Answer) -> (String, BTreeMap<String, String>) {
    let json: Value = serde_json::from_str(&answer.body).unwrap_or_default();
    let php = json["php"].as_object().cloned().unwrap_or_default();
    let texts = php.iter().filter_map(|(key, value)| Some((key, value.as_str()?)));
    let mut ini: BTreeMap<String, String> =
        texts.map(|(key, value)| (key.clone(), value.to_owned())).collect();
    let version = ini.remove("version");
    let powered = answer.header("x-powered-by").and_then(|by| by.strip_prefix("PHP/"));
    let version = version.or_else(|| powered.map(str::to_owned)).unwrap_or_default();
    match version.is_empty() {
        true => (version, BTreeMap::new()),
        false => (version, ini),
    }
}

/// More than a second: answers this far apart differ if they show the time.
const A_SECOND: Duration = Duration::from_millis(1050);

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(headers: &[(&str, &str)], body: &str) -> Answer {
        let headers = headers.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        Answer::of_text(200, headers.collect(), body)
    }

    #[test]
    fn php_version_and_ini_are_read_from_the_answer() {
        let body = r#"{"php":{"version":"8.2.1","memory_limit":"256M","n":1}}"#;
        let ini = BTreeMap::from([("memory_limit".to_owned(), "256M".to_owned())]);
        assert_eq!(php_version_and_ini(&answer(&[], body)), ("8.2.1".to_owned(), ini));
        let powered = php_version_and_ini(&answer(&[("x-powered-by", "PHP/8.4.3")], "<html>"));
        assert_eq!(powered, ("8.4.3".to_owned(), BTreeMap::new()));
        for silent in ["", "{}", r#"{"php":{"memory_limit":"1M"}}"#, "[1]"] {
            assert_eq!(php_version_and_ini(&answer(&[("x-powered-by", "Express")], silent)).0, "");
        }
    }
}
