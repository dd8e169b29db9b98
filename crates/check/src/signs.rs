//! Computes signs, which distinguish two findings about the same subject. They are the same in
//! every check of an app: they do not depend on users, tokens, numbers and varying parts.

use std::collections::BTreeSet;

use super::harness::StepResult;
use super::headers;
use super::natural::{TokenKind, tokens};
use super::nondeterminism::Difference;

/// Words that identify a finding, each with its kind: `+Fehler`, `status 500`, `header location`.
pub type Signs = BTreeSet<String>;

/// Returns the signs of a different answer: its status, the headers that differ, and the words that
/// only one side has.
pub fn of_answer(difference: &Difference, reference: &StepResult, actual: &StepResult) -> Signs {
    let words = [("-", &difference.missing), ("+", &difference.extra)].into_iter();
    let words = words.flat_map(|(mark, words)| {
        let stable = words.iter().filter(|word| is_stable(word));
        stable.map(move |word| format!("{mark}{word}"))
    });
    let mut signs: Signs = words.collect();
    if reference.status() != actual.status() {
        signs.insert(format!("status {}", actual.status()));
    }
    let names: BTreeSet<String> = [reference, actual].into_iter().flat_map(header_names).collect();
    for line in difference.text.lines() {
        let line = line.trim_start_matches(['-', '+', ' ']);
        let name = line.split_once(": ").map(|(name, _)| name);
        if let Some(name) = name.filter(|name| names.contains(*name)) {
            signs.insert(format!("header {name}"));
        }
    }
    signs
}

fn header_names(actual: &StepResult) -> Vec<String> {
    actual.answer().map_or_else(
        |_| Vec::new(),
        |answer| {
            headers::compared_headers(&answer.headers).into_iter().map(|(name, _)| name).collect()
        },
    )
}

/// Returns the signs of growth: the code names in the names of what grew.
pub fn of_growth<'a>(names: impl IntoIterator<Item = &'a str>) -> Signs {
    let words = names.into_iter().flat_map(str::split_whitespace);
    words.filter(|word| word.contains('$') || word.contains("::")).map(str::to_owned).collect()
}

/// Returns whether other checks would have this word too: it is no number, no id and no user's
/// token.
fn is_stable(word: &str) -> bool {
    let is_plain =
        |token: &super::natural::Token| matches!(token.kind, TokenKind::Word | TokenKind::Mark);
    !word.chars().any(|c| c.is_ascii_digit()) && tokens(word).iter().all(is_plain)
}

/// Returns a fingerprint without what is random in each check, such as an id in a request's query.
pub fn stable_fingerprint(fingerprint: &str) -> String {
    let Some((path, query)) = fingerprint.split_once('?') else { return fingerprint.to_owned() };
    let query = tokens(query).iter().fold(String::new(), |joined, token| {
        let is_plain = matches!(token.kind, TokenKind::Word | TokenKind::Mark | TokenKind::Space);
        joined + if is_plain { token.of(query) } else { "…" }
    });
    format!("{path}?{query}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use stampede_stack::Answer;

    use super::*;
    use crate::nondeterminism::Nondeterminism;
    use crate::users::{TokenPlace, token};

    fn actual(status: u16, headers: &[(&str, &str)], body: String) -> StepResult {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let headers = headers.iter().map(own).collect();
        StepResult::of(1, Ok(Answer::of_text(status, headers, body)), Vec::new())
    }

    fn signs(one: &StepResult, other: &StepResult) -> Signs {
        let difference =
            Nondeterminism::new().difference(&one.text(), &other.text()).expect("another");
        of_answer(&difference, one, other)
    }

    fn page(words: &str) -> StepResult {
        actual(200, &[("content-type", "text/html")], format!("<h1>Shop</h1>\n<p>{words}</p>\n"))
    }

    proptest! {
        #[test]
        fn the_same_deviation_has_the_same_signs_in_another_check(
            seeds in [0..u64::MAX, 0..u64::MAX],
            users in [0..5_u32, 0..5_u32],
            counts in [0..100_000_u32, 0..100_000_u32],
        ) {
            let all: Vec<Signs> = (0..2).map(|at| {
                let token = token(seeds[at], users[at], TokenPlace::Cookie);
                let nobody = page("Hello nobody, visit 0, id 00000000000000000000000000000000");
                let id = format!("{:032x}", u128::from(seeds[at]) * 0x9e37_79b9_7f4a_7c15);
                signs(&nobody, &page(&format!("Hello {token}, visit {}, id {id}", counts[at] + 1)))
            }).collect();
            prop_assert_eq!(&all[0], &all[1]);
            prop_assert!(all[0].contains("-nobody"), "{:?}", all[0]);
        }

        #[test]
        fn different_words_are_different_signs(words in ["[a-z]{3,7}", "[a-z]{3,7}"]) {
            prop_assume!(words[0] != words[1] && !words.iter().any(|word| word == "shop"));
            let [one, other] = words.map(|word| signs(&page("nothing"), &page(&word)));
            prop_assert_ne!(one, other);
        }
    }

    #[test]
    fn status_header_and_text_give_different_signs() {
        let text = |status, place: &str, body: &str| {
            actual(status, &[("location", place), ("x-lang", "en")], body.to_owned())
        };
        let plain = text(200, "/a", "Hello\n");
        let joined =
            |other: &StepResult| signs(&plain, other).into_iter().collect::<Vec<_>>().join(", ");
        assert_eq!(joined(&text(500, "/a", "Hello\n")), "status 500");
        assert_eq!(joined(&text(200, "/b", "Hello\n")), "+b, -a, header location");
        assert_eq!(joined(&text(200, "/a", "Hallo\n")), "+Hallo, -Hello");
        assert_eq!(joined(&text(200, "/a", "Hello 12\n")), "", "a number is another in each check");
    }

    #[test]
    fn growth_has_the_names_of_what_grew_as_signs() {
        let names = ["App\\Log::$lines", "$_SESSION", "files of a cache"];
        assert_eq!(
            of_growth(names),
            Signs::from(["$_SESSION", "App\\Log::$lines"].map(str::to_owned))
        );
    }

    #[test]
    fn ids_in_a_query_are_no_part_of_a_fingerprint() {
        let of = |id: &str| stable_fingerprint(&format!("answer get /list?page=2&at={id}"));
        let [one, other] =
            ["0f8fad5b-d9cb-469f-a165-70867728950e", "7c9e6679-7425-40de-944b-e07fc1f90ae7"]
                .map(of);
        assert_eq!(one, other);
        assert!(one.starts_with("answer get /list?page=2&at="), "{one}");
        assert_eq!(stable_fingerprint("kept App\\Cart::$user"), "kept App\\Cart::$user");
    }
}
