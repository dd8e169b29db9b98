//! The lines in which two pages differ, for a reader who wants to see at once what it is: a time, a
//! host's name, or another page.

/// The most lines that are shown.
const LINES_MAX: usize = 6;
/// The most characters of a line that are shown.
const CHARS_MAX: usize = 110;
/// The characters before a difference that are shown of a long line.
const CHARS_BEFORE: usize = 40;
/// The most lines of a page that are compared line by line; the work grows with their square.
const COMPARED_MAX: usize = 1_500;
/// The length from which a line is split between its tags: a page may be one long line.
const LONG: usize = 120;

/// The first lines that differ: `- ` those of `reference`, `+ ` those of `one`. Empty: the texts are
/// equal, or one of them is not known.
pub(super) fn differing(reference: &str, one: &str) -> Vec<String> {
    if reference.is_empty() || one.is_empty() || reference == one {
        return Vec::new();
    }
    let (a, b) = (lines(reference), lines(one));
    let head = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let ends = a[head..].iter().rev().zip(b[head..].iter().rev());
    let tail = ends.take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[head..a.len() - tail], &b[head..b.len() - tail]);
    let blocks = match a.len().max(b.len()) <= COMPARED_MAX {
        true => blocks(a, b),
        false => vec![(a, b)],
    };
    limited(blocks.into_iter().flat_map(|(a, b)| shown(a, b)).collect())
}

/// The first of these lines, and the number of the others.
pub(super) fn limited(all: Vec<String>) -> Vec<String> {
    let more = all.len().saturating_sub(LINES_MAX);
    let mut found: Vec<String> = all.into_iter().take(LINES_MAX).collect();
    if more > 0 {
        found.push(format!("… {more} more"));
    }
    found
}

/// The lines of a page. Long ones are split between their tags.
fn lines(text: &str) -> Vec<&str> {
    split(text, LONG)
}

/// The lines of a page, each split between its tags: a line that changes may be long at times.
pub(super) fn between_tags(text: &str) -> Vec<&str> {
    split(text, 0)
}

/// The lines of a page. Those of more bytes than `long` are split between their tags.
fn split(text: &str, long: usize) -> Vec<&str> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut rest = line;
        if line.len() > long {
            while let Some(at) = rest.find("><") {
                found.push(&rest[..=at]);
                rest = &rest[at + 1..];
            }
        }
        found.push(rest);
    }
    found.retain(|line| !line.trim().is_empty());
    found
}

/// Lines of the reference and of the other page that stand in the same place and differ.
type Block<'a, 'b> = (&'a [&'b str], &'a [&'b str]);

/// The blocks that differ, by the longest common subsequence of lines.
fn blocks<'a, 'b>(a: &'a [&'b str], b: &'a [&'b str]) -> Vec<Block<'a, 'b>> {
    let width = b.len() + 1;
    let mut longest = vec![0_u16; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            longest[i * width + j] = match a[i] == b[j] {
                true => longest[(i + 1) * width + j + 1] + 1,
                false => longest[(i + 1) * width + j].max(longest[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let (mut from_i, mut from_j) = (0, 0);
    let mut found: Vec<Block<'a, 'b>> = Vec::new();
    while i < a.len() && j < b.len() {
        if a[i] == b[j] {
            found.push((&a[from_i..i], &b[from_j..j]));
            (i, j) = (i + 1, j + 1);
            (from_i, from_j) = (i, j);
        } else if longest[(i + 1) * width + j] >= longest[i * width + j + 1] {
            i += 1;
        } else {
            j += 1;
        }
    }
    found.push((&a[from_i..], &b[from_j..]));
    found.retain(|(a, b)| !a.is_empty() || !b.is_empty());
    found
}

/// The lines of a block. Of lines that stand for each other, the part with the difference is shown.
pub(super) fn shown(a: &[&str], b: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for place in 0..a.len().max(b.len()) {
        let (old, new) = (a.get(place).copied(), b.get(place).copied());
        let at = old.zip(new).map_or(0, |(old, new)| {
            old.trim().chars().zip(new.trim().chars()).take_while(|(a, b)| a == b).count()
        });
        found.extend(old.map(|line| format!("- {}", part(line.trim(), at))));
        found.extend(new.map(|line| format!("+ {}", part(line.trim(), at))));
    }
    found
}

/// The part of a line around the character `at`, without characters that a terminal would obey.
fn part(line: &str, at: usize) -> String {
    let is_long = line.chars().count() > CHARS_MAX;
    let from = if is_long { at.saturating_sub(CHARS_BEFORE) } else { 0 };
    let safe = |char: char| if char.is_control() { '·' } else { char };
    let part: String = line.chars().skip(from).take(CHARS_MAX).map(safe).collect();
    let has_more = line.chars().skip(from).nth(CHARS_MAX).is_some();
    let (before, after) = (if from > 0 { "…" } else { "" }, if has_more { "…" } else { "" });
    format!("{before}{part}{after}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn between(a: &str, b: &str) -> String {
        differing(a, b).join("\n")
    }

    #[test]
    fn only_what_differs_is_shown() {
        assert_eq!(between("a\nb", "a\nb"), "");
        assert_eq!(between("", "a"), "", "nothing is known of one of them");
        insta::assert_snapshot!(
            between("200\n\n<h1>Shop</h1>\n<p>Users online: 3</p>\n<p>end", "200\n\n<h1>Shop</h1>\n<p>Users online: 4</p>\n<p>end"),
            @r"
        - <p>Users online: 3</p>
        + <p>Users online: 4</p>
        "
        );
        insta::assert_snapshot!(between("200\ncontent-type: text/html\n\nx", "404\ncontent-type: text/plain\n\nx"), @r"
        - 200
        + 404
        - content-type: text/html
        + content-type: text/plain
        ");
        insta::assert_snapshot!(between("a\nb\nc\nd\ne", "a\nc\nd\nx\ne"), @r"
        - b
        + x
        ");
    }

    #[test]
    fn of_a_page_in_one_long_line_the_element_that_differs_is_shown() {
        let page = |host: &str| {
            let items = "<li>product</li>".repeat(50);
            format!("<html><body><ul>{items}</ul><footer>served by {host}</footer></body></html>")
        };
        insta::assert_snapshot!(between(&page("web-1"), &page("web-2")), @r"
        - <footer>served by web-1</footer>
        + <footer>served by web-2</footer>
        ");
        let long = |end: &str| "word ".repeat(100) + end;
        let found = between(&long("one"), &long("two"));
        assert!(
            found.contains("- …") && found.contains("one\n+ …") && found.len() < 300,
            "{found}"
        );
    }

    #[test]
    fn many_lines_are_counted_and_control_characters_are_not_printed() {
        let page = |text: &str| vec![text; 20].join("\n");
        assert!(between(&page("a"), &page("b")).ends_with("… 34 more"));
        assert_eq!(between("x\u{1b}[2J1", "x\u{1b}[2J2"), "- x·[2J1\n+ x·[2J2");
        let big =
            |end: &str| (0..4_000).fold(String::new(), |page, n| page + &format!("{n}{end}\n"));
        assert!(between(&big("a"), &big("b")).ends_with("… 7994 more"));
    }
}
