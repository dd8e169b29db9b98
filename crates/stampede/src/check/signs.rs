//! Computes signs, which distinguish two findings about the same subject. They are the same in
//! every check of an app: they do not depend on users, tokens, numbers and varying parts.

use std::collections::BTreeSet;

use super::harness::StepResult;
use super::headers;
use super::natural::{Kind, tokens};
use super::nondeterminism::Difference;

/// Words that identify a finding, each with its kind: `+Fehler`, `status 500`, `header location`.
pub type Signs = BTreeSet<String>;

/// Returns the signs of a different answer: its status, the headers that differ, and the words that
/// only one side has.
pub fn of_answer(difference: &Difference, reference: &StepResult, seen: &StepResult) -> Signs {
    let words = [("-", &difference.missing), ("+", &difference.extra)].into_iter();
    let words = words.flat_map(|(mark, words)| {
        let steady = words.iter().filter(|word| is_steady(word));
        steady.map(move |word| format!("{mark}{word}"))
    });
    let mut signs: Signs = words.collect();
    if reference.status() != seen.status() {
        signs.insert(format!("status {}", seen.status()));
    }
    let names: BTreeSet<String> = [reference, seen].into_iter().flat_map(header_names).collect();
    for line in difference.text.lines() {
        let line = line.trim_start_matches(['-', '+', ' ']);
        let name = line.split_once(": ").map(|(name, _)| name);
        if let Some(name) = name.filter(|name| names.contains(*name)) {
            signs.insert(format!("header {name}"));
        }
    }
    signs
}

fn header_names(seen: &StepResult) -> Vec<String> {
    seen.answer().map_or_else(
        |_| Vec::new(),
        |answer| headers::meant(&answer.headers).into_iter().map(|(name, _)| name).collect(),
    )
}

/// Returns the signs of growth: the code names in the names of what grew.
pub fn of_growth<'a>(names: impl IntoIterator<Item = &'a str>) -> Signs {
    let words = names.into_iter().flat_map(str::split_whitespace);
    words.filter(|word| word.contains('$') || word.contains("::")).map(str::to_owned).collect()
}

/// Returns whether other checks would have this word too: it is no number, no id and no user's
/// token.
fn is_steady(word: &str) -> bool {
    let is_plain = |token: &super::natural::Token| matches!(token.kind, Kind::Word | Kind::Mark);
    !word.chars().any(|c| c.is_ascii_digit()) && tokens(word).iter().all(is_plain)
}

/// Returns a fingerprint without what is random in each check, such as an id in a request's query.
pub fn steady(fingerprint: &str) -> String {
    let Some((path, query)) = fingerprint.split_once('?') else { return fingerprint.to_owned() };
    let query = tokens(query).iter().fold(String::new(), |told, token| {
        let is_plain = matches!(token.kind, Kind::Word | Kind::Mark | Kind::Space);
        told + if is_plain { token.of(query) } else { "…" }
    });
    format!("{path}?{query}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::check::nondeterminism::Nondeterminism;
    use crate::check::users::{Planted, token};
    use crate::runtime::Answer;

    fn seen(status: u16, headers: &[(&str, &str)], body: String) -> StepResult {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let headers = headers.iter().map(own).collect();
        StepResult::of(1, Ok(Answer { status, headers, body }), Vec::new())
    }

    fn signs(one: &StepResult, other: &StepResult) -> Signs {
        let difference =
            Nondeterminism::new().difference(&one.text(), &other.text()).expect("another");
        of_answer(&difference, one, other)
    }

    fn page(words: &str) -> StepResult {
        seen(200, &[("content-type", "text/html")], format!("<h1>Shop</h1>\n<p>{words}</p>\n"))
    }

    proptest! {
        #[test]
        fn another_check_of_the_same_has_the_same_signs(
            seeds in [0..u64::MAX, 0..u64::MAX],
            users in [0..5_u32, 0..5_u32],
            counts in [0..100_000_u32, 0..100_000_u32],
        ) {
            let all: Vec<Signs> = (0..2).map(|at| {
                let token = token(seeds[at], users[at], Planted::Cookie);
                let nobody = page("Hello nobody, visit 0, id 00000000000000000000000000000000");
                let id = format!("{:032x}", u128::from(seeds[at]) * 0x9e37_79b9_7f4a_7c15);
                signs(&nobody, &page(&format!("Hello {token}, visit {}, id {id}", counts[at] + 1)))
            }).collect();
            prop_assert_eq!(&all[0], &all[1]);
            prop_assert!(all[0].contains("-nobody"), "{:?}", all[0]);
        }

        #[test]
        fn another_word_is_another_sign(words in ["[a-z]{3,7}", "[a-z]{3,7}"]) {
            prop_assume!(words[0] != words[1] && !words.iter().any(|word| word == "shop"));
            let [one, other] = words.map(|word| signs(&page("nothing"), &page(&word)));
            prop_assert_ne!(one, other);
        }
    }

    #[test]
    fn a_status_a_header_and_a_text_are_told_apart() {
        let text = |status, place: &str, body: &str| {
            seen(status, &[("location", place), ("x-lang", "en")], body.to_owned())
        };
        let plain = text(200, "/a", "Hello\n");
        let told =
            |other: &StepResult| signs(&plain, other).into_iter().collect::<Vec<_>>().join(", ");
        assert_eq!(told(&text(500, "/a", "Hello\n")), "status 500");
        assert_eq!(told(&text(200, "/b", "Hello\n")), "+b, -a, header location");
        assert_eq!(told(&text(200, "/a", "Hallo\n")), "+Hallo, -Hello");
        assert_eq!(told(&text(200, "/a", "Hello 12\n")), "", "a number is another in each check");
    }

    #[test]
    fn what_grows_is_known_by_its_names() {
        let names = ["App\\Log::$lines", "$_SESSION", "files of a cache"];
        assert_eq!(
            of_growth(names),
            Signs::from(["$_SESSION", "App\\Log::$lines"].map(str::to_owned))
        );
    }

    #[test]
    fn ids_of_a_query_are_no_part_of_a_fingerprint() {
        let of = |id: &str| steady(&format!("answer get /list?page=2&at={id}"));
        let [one, other] =
            ["0f8fad5b-d9cb-469f-a165-70867728950e", "7c9e6679-7425-40de-944b-e07fc1f90ae7"]
                .map(of);
        assert_eq!(one, other);
        assert!(one.starts_with("answer get /list?page=2&at="), "{one}");
        assert_eq!(steady("kept App\\Cart::$user"), "kept App\\Cart::$user");
    }
}
