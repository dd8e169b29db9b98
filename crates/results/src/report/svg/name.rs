//! Makes file names: only ASCII letters, digits, dots and dashes, and no two the same.

/// A part of a file name, made of any text in a plan.
pub fn part(text: &str) -> String {
    let mut name = String::new();
    for letter in text.chars() {
        match letter {
            letter if letter.is_ascii_alphanumeric() => name.push(letter),
            '.' if !name.is_empty() => name.push('.'),
            _ if !name.is_empty() && !name.ends_with('-') => name.push('-'),
            _ => {}
        }
    }
    name.truncate(LETTERS);
    let name = name.trim_end_matches(['-', '.']);
    if name.is_empty() { "x".to_owned() } else { name.to_owned() }
}

/// A name that is not taken, even on a file system that ignores case.
pub fn unique(stem: &str, taken: &[(String, String)]) -> String {
    let is_taken = |name: &str| taken.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
    let numbered = (2..).map(|number| format!("{stem}-{number}.svg"));
    let mut names = std::iter::once(format!("{stem}.svg")).chain(numbered);
    names.find(|name| !is_taken(name)).expect("there are more numbers than files")
}

/// Long enough to distinguish loads, and short enough for every file system with two parts in one
/// name.
const LETTERS: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_safe_in_a_path_and_a_shell() {
        let cases = [
            ("hello", "hello"),
            ("line(1,100,60s) const(100,5m)", "line-1-100-60s-const-100-5m"),
            ("../../etc/passwd", "etc-passwd"),
            ("</script>", "script"),
            ("v1.2", "v1.2"),
            ("日本", "x"),
            ("", "x"),
        ];
        for (text, name) in cases {
            assert_eq!(part(text), name);
        }
        assert_eq!(part(&"a".repeat(999)).len(), LETTERS);
    }

    #[test]
    fn names_are_unique() {
        let taken =
            [("a-cpu.svg", ""), ("A-cpu-2.svg", "")].map(|(a, b)| (a.to_owned(), b.to_owned()));
        assert_eq!(unique("a-cpu", &taken), "a-cpu-3.svg");
        assert_eq!(unique("b-cpu", &taken), "b-cpu.svg");
    }
}
