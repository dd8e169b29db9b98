//! The lines of a page that stay the same in every answer of one runtime. A page with a random token
//! or a counter is compared by these: what changes by itself leaves out its own place, not the page.
//!
//! Lines are compared as a set, without their order: between them may stand a list whose length
//! changes, and an alignment would take its items for differences.

use std::collections::HashSet;

use super::lines;

/// The sign for a changing part of a line. A page hardly ever has it: it is Unicode's "object
/// replacement character".
const CHANGING: char = '\u{fffc}';
/// The sign before a line that only some answers have: the beginning of an annotation.
const SOMETIMES: char = '\u{fff9}';
/// The most lines kept that only some answers have.
const SOMETIMES_MAX: usize = 1_000;
/// The most pairs of characters that are looked at to compare two lines which both change. Longer ones
/// count as equal.
const PAIRS_MAX: usize = 1 << 20;

/// The text by which a page that changes by itself is compared: the lines that all answers have, those
/// of which only a part changes, with a sign in place of that part, and at last those that only some
/// answers have, each with a sign before it.
pub fn constant_lines(first: &str, others: &[String]) -> String {
    let texts = std::iter::once(first).chain(others.iter().map(String::as_str));
    let answers: Vec<Vec<&str>> = texts.map(lines::between_tags).collect();
    let sets: Vec<HashSet<&str>> =
        answers.iter().map(|answer| answer.iter().copied().collect()).collect();
    let is_in_all = |line: &&str| sets.iter().all(|set| set.contains(line));
    let rest: Vec<Vec<&str>> = answers
        .iter()
        .map(|answer| answer.iter().copied().filter(|line| !is_in_all(line)).collect())
        .collect();
    let mut patterns = patterns(&rest).into_iter();
    let (mut kept, mut sometimes) = (Vec::new(), Vec::new());
    let mut known = HashSet::new();
    for line in &answers[0] {
        if is_in_all(line) {
            kept.push((*line).to_owned());
        } else if let Some(pattern) = patterns.next().flatten() {
            kept.push(pattern);
        } else if known.insert(*line) {
            sometimes.push(format!("{SOMETIMES}{line}"));
        }
    }
    let others = rest[1..].iter().flatten().filter(|line| known.insert(line));
    sometimes.extend(others.map(|line| format!("{SOMETIMES}{line}")));
    sometimes.truncate(SOMETIMES_MAX);
    kept.extend(sometimes);
    kept.join("\n")
}

/// What the lines of the first answer have in common with those in the same place of the others, as far
/// as all answers have as many; `None`: nothing.
fn patterns(rest: &[Vec<&str>]) -> Vec<Option<String>> {
    let is_alike = rest.iter().all(|lines| lines.len() == rest[0].len());
    let of_place = |place: usize| {
        let begin = rest[0][place].to_owned();
        let pattern = rest[1..].iter().fold(begin, |pattern, lines| common(&pattern, lines[place]));
        pattern.chars().any(char::is_alphanumeric).then_some(pattern)
    };
    (0..rest[0].len()).map(|place| is_alike.then(|| of_place(place)).flatten()).collect()
}

/// What two lines have in common, with a sign in place of each word that differs. Lines of different
/// words have a beginning and an end in common.
fn common(a: &str, b: &str) -> String {
    let (a, b) = (words(a), words(b));
    if a.len() == b.len() {
        let sign = CHANGING.to_string();
        return a.iter().zip(&b).map(|(a, b)| if a == b { a } else { sign.as_str() }).collect();
    }
    let head = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let ends = a[head..].iter().rev().zip(b[head..].iter().rev());
    let tail = ends.take_while(|(a, b)| a == b).count();
    format!("{}{CHANGING}{}", a[..head].concat(), a[a.len() - tail..].concat())
}

/// The words of a line; each character between them is one by itself.
fn words(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let word = rest.find(|char: char| !char.is_alphanumeric()).unwrap_or(rest.len());
        let (word, after) = rest.split_at(if word == 0 { first.len_utf8() } else { word });
        found.push(word);
        rest = after;
    }
    found
}

/// Whether something is known of the changing parts of this text: earlier versions kept the first
/// answer as it was.
pub(super) fn is_known(text: &str) -> bool {
    text.contains([CHANGING, SOMETIMES])
}

/// The first lines that one of two pages always has and the other one never: `- ` those of
/// `reference`, `+ ` those of `one`. Empty: there are none.
pub(super) fn differing(reference: &str, one: &str) -> Vec<String> {
    let (a, b) = (Known::of(reference), Known::of(one));
    lines::limited(lines::shown(&a.lines_not_in(&b), &b.lines_not_in(&a)))
        .into_iter()
        .map(|line| line.replace(CHANGING, "~"))
        .collect()
}

/// What is known of a page.
struct Known<'a> {
    /// The lines that all answers have, in their order; a part of them may change.
    always: Vec<&'a str>,
    /// Those of them in which nothing changes, and the lines that only some answers have.
    whole: HashSet<&'a str>,
    /// Those in which a part changes.
    patterns: Vec<&'a str>,
}

impl<'a> Known<'a> {
    fn of(text: &'a str) -> Known<'a> {
        let all = lines::between_tags(text);
        let (sometimes, always): (Vec<&str>, Vec<&str>) =
            all.into_iter().partition(|line| line.starts_with(SOMETIMES));
        let (patterns, whole): (Vec<&str>, Vec<&str>) =
            always.iter().copied().partition(|line| line.contains(CHANGING));
        let sometimes = sometimes.into_iter().map(|line| line.trim_start_matches(SOMETIMES));
        Known { always, whole: whole.into_iter().chain(sometimes).collect(), patterns }
    }

    /// The lines that all answers of this page have and no answer of the other one.
    fn lines_not_in(&self, other: &Known<'_>) -> Vec<&'a str> {
        self.always.iter().copied().filter(|line| !other.may_have(line)).collect()
    }

    fn may_have(&self, line: &str) -> bool {
        self.whole.contains(line)
            || self.patterns.iter().any(|pattern| matches(pattern, line))
            || (line.contains(CHANGING) && self.whole.iter().any(|whole| matches(line, whole)))
    }
}

/// Whether two lines can be the same, where a sign in either stands for any text.
fn matches(a: &str, b: &str) -> bool {
    let fixed = |line: &str| {
        let (head, tail) = (line.find(CHANGING), line.rfind(CHANGING));
        let head = head.map_or(line, |at| &line[..at]).to_owned();
        (head, tail.map_or(line, |at| &line[at + CHANGING.len_utf8()..]).to_owned())
    };
    let ((head_a, tail_a), (head_b, tail_b)) = (fixed(a), fixed(b));
    let heads = head_a.starts_with(&head_b) || head_b.starts_with(&head_a);
    let tails = tail_a.ends_with(&tail_b) || tail_b.ends_with(&tail_a);
    heads && tails && can_be_equal(a, b)
}

/// The same, character by character: whether both ends can be reached together.
fn can_be_equal(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.len().saturating_mul(b.len()) > PAIRS_MAX {
        return true;
    }
    let mut row = vec![false; b.len() + 1];
    row[0] = true;
    for i in 0..=a.len() {
        let sign_a = a.get(i) == Some(&CHANGING);
        let mut next = vec![false; b.len() + 1];
        for j in 0..=b.len() {
            if !row[j] {
                continue;
            }
            let sign_b = b.get(j) == Some(&CHANGING);
            let (more_a, more_b) = (i < a.len(), j < b.len());
            // A sign may end here, or take in a character of the other line.
            if more_b && (sign_b || sign_a) {
                row[j + 1] = true;
            }
            if more_a && (sign_a || sign_b) {
                next[j] = true;
            }
            if more_a && more_b && a[i] == b[j] {
                next[j + 1] = true;
            }
        }
        if i == a.len() {
            return row[b.len()];
        }
        row = next;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(parts: &[&str]) -> String {
        let head = ["200", "content-type: text/html", "", "<html><title>Shop</title>"];
        [&head[..], parts, &["</html>"]].concat().join("\n")
    }

    /// The text of a page that gave these answers.
    fn of(answers: &[&[&str]]) -> String {
        let answers: Vec<String> = answers.iter().map(|parts| page(parts)).collect();
        constant_lines(&answers[0], &answers[1..])
    }

    fn between(a: &str, b: &str) -> String {
        differing(a, b).join("\n")
    }

    #[test]
    fn a_changing_part_leaves_out_itself_alone() {
        let one = of(&[
            &["<p>token 81f3a</p><p>from the front page</p>"],
            &["<p>token 77b2c</p><p>from the front page</p>"],
        ]);
        let same = of(&[
            &["<p>token 11aaa</p><p>from the front page</p>"],
            &["<p>token 22bbb</p><p>from the front page</p>"],
        ]);
        assert!(is_known(&one), "{one:?}");
        assert_eq!(between(&one, &same), "");
        let other = of(&[
            &["<p>token 11aaa</p><p>from the admin page</p>"],
            &["<p>token 22bbb</p><p>from the admin page</p>"],
        ]);
        insta::assert_snapshot!(between(&one, &other), @r"
        - <p>from the front page</p>
        + <p>from the admin page</p>
        ");
    }

    #[test]
    fn the_rest_of_a_changing_line_is_compared() {
        let of = |name: &str| {
            of(&[
                &[&format!("<p>Hello {name}, visit 17 at noon</p>")],
                &[&format!("<p>Hello {name}, visit 18 at noon</p>")],
                &[&format!("<p>Hello {name}, visit 23 at noon</p>")],
            ])
        };
        assert_eq!(between(&of("Ada"), &of("Ada")), "");
        insta::assert_snapshot!(between(&of("Ada"), &of("Eve")), @r"
        - <p>Hello Ada, visit ~ at noon</p>
        + <p>Hello Eve, visit ~ at noon</p>
        ");
    }

    /// Four products of many, another number of them each time.
    #[test]
    fn a_list_whose_length_changes_is_no_difference() {
        let one = of(&[
            &["<ul><li>fig</li><li>kiwi</li></ul><p>end</p>"],
            &["<ul><li>plum</li></ul><p>end</p>"],
            &["<ul><li>kiwi</li><li>lime</li><li>pear</li></ul><p>end</p>"],
        ]);
        let other = of(&[
            &["<ul><li>apple</li></ul><p>end</p>"],
            &["<ul><li>date</li><li>lime</li><li>nut</li><li>fig</li></ul><p>end</p>"],
        ]);
        assert_eq!(between(&one, &other), "");
        let without_end =
            of(&[&["<ul><li>apple</li></ul>"], &["<ul><li>date</li><li>lime</li></ul>"]]);
        assert_eq!(between(&one, &without_end), "- <p>end</p>");
    }

    /// A banner that happens to be in all answers of one runtime, and in some of the other.
    #[test]
    fn a_line_that_the_other_runtime_has_at_times_is_no_difference() {
        let always = of(&[&["<p>sale!</p>", "<i>1</i>"], &["<p>sale!</p>", "<i>2</i>"]]);
        let at_times = of(&[&["<i>3</i>"], &["<p>sale!</p>", "<i>4</i>"]]);
        assert_eq!(between(&always, &at_times), "");
        assert_eq!(between(&at_times, &always), "");
        let never = of(&[&["<i>3</i>"], &["<i>4</i>"]]);
        assert_eq!(between(&never, &always), "+ <p>sale!</p>");
    }

    #[test]
    fn a_page_without_changes_is_compared_with_one_that_changes() {
        let plain = page(&["<p>fixed</p><p>n 5</p>"]);
        let changing = of(&[&["<p>fixed</p><p>n 7</p>"], &["<p>fixed</p><p>n 8</p>"]]);
        assert_eq!(between(&plain, &changing), "");
        assert!(!is_known(&plain));
    }

    #[test]
    fn a_page_in_which_all_changes_has_nothing_to_compare() {
        let text = constant_lines("a1", &["b2 c3".to_owned()]);
        assert_eq!(differing(&text, "other"), ["+ other"]);
        let both = constant_lines("x", &["y, z".to_owned()]);
        assert_eq!(differing(&text, &both), [] as [&str; 0]);
    }

    #[test]
    fn lines_match_where_their_signs_can_stand_for_the_rest() {
        for (a, b, expected) in [
            ("a\u{fffc}c", "abc", true),
            ("a\u{fffc}c", "ac", true),
            ("a\u{fffc}c", "abd", false),
            ("\u{fffc}", "anything", true),
            ("a \u{fffc} front \u{fffc} z", "a 1 front 2 z", true),
            ("a \u{fffc} front \u{fffc} z", "a 1 admin 2 z", false),
            ("a \u{fffc} front", "a 1 \u{fffc}", true),
            ("a \u{fffc} front", "a 1 \u{fffc} back", false),
            ("plain", "plain", true),
            ("plain", "plainer", false),
        ] {
            assert_eq!(matches(a, b), expected, "{a} {b}");
            assert_eq!(matches(b, a), expected, "{b} {a}");
        }
    }

    proptest::proptest! {
        /// Whatever a runtime answers, it does not differ from itself.
        #[test]
        fn the_same_answers_never_differ(answers in proptest::collection::vec("[ab<> 12\n]{0,40}", 2..5)) {
            let text = constant_lines(&answers[0], &answers[1..]);
            proptest::prop_assert_eq!(differing(&text, &text), Vec::<String>::new());
            // An answer of its own is one that the page may have.
            proptest::prop_assert_eq!(
                differing(&text, &answers[0]).iter().filter(|line| line.starts_with('-')).count(), 0);
        }
    }
}
