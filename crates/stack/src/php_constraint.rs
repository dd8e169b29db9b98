//! Reads Composer's version constraints, for the version of PHP that a package requires.
//!
//! Source: <https://getcomposer.org/doc/articles/versions.md>. Stability flags and branches have no
//! meaning for PHP and are not understood.

/// The versions of PHP that an app requires.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhpRequirements {
    /// Package and Composer's constraint.
    pub of_packages: Vec<(String, String)>,
    /// Whether Composer's autoloader checks them, so that the app ends at once with another PHP.
    /// Otherwise it may run all the same.
    pub are_checked: bool,
}

impl PhpRequirements {
    /// What a plan asks for: `8.4` is any 8.4, `8.4.1` is that release.
    pub fn of_plan(version: &str) -> PhpRequirements {
        let constraint = match version.matches('.').count() {
            1 => format!("{version}.*"),
            _ => version.to_owned(),
        };
        PhpRequirements { of_packages: vec![("plan".to_owned(), constraint)], are_checked: true }
    }

    /// The first package that a PHP which prints `version` does not fit; `None`: it fits all, as far
    /// as they are understood.
    pub fn refused_by(&self, version: &str) -> Option<&(String, String)> {
        self.of_packages.iter().find(|(_, constraint)| allows(constraint, version) == Some(false))
    }
}

/// The number in what a PHP prints as its version: `8.2.29`, `PHP 8.2.29 (fpm-fcgi)`,
/// `FrankenPHP v1.12.4 PHP 8.4.2 Caddy v2.10`.
pub(super) fn number_in(printed: &str) -> &str {
    let mut named = printed.match_indices("PHP ").map(|(at, name)| &printed[at + name.len()..]);
    let is_number = |text: &&str| text.starts_with(|c: char| c.is_ascii_digit());
    let text = named.find(is_number).unwrap_or(printed);
    text.split(['-', '+', ' ']).next().unwrap_or(text)
}

/// Whether `constraint` allows the PHP that prints `version`; `None`: it is not understood.
fn allows(constraint: &str, version: &str) -> Option<bool> {
    let version = numbers(number_in(version))?;
    let mut is_allowed = false;
    for all in constraint.split("||").flat_map(|part| part.split('|')) {
        is_allowed |= allows_all(all.trim(), &version)?;
    }
    Some(is_allowed)
}

/// A version of up to four numbers; missing ones are 0.
type Version = [u64; 4];

/// Whether every constraint of a list without `||` allows `version`.
fn allows_all(constraints: &str, version: &Version) -> Option<bool> {
    if let Some((from, to)) = constraints.split_once(" - ") {
        // The upper end includes all versions that begin with it.
        let (_, above) = range(to.trim())?;
        return Some(*version >= padded(from.trim())? && *version < above);
    }
    // A blank may stand behind an operator: `>= 8.1`.
    let tidy = ["<=", ">=", "!=", "==", "<", ">", "=", "^", "~"]
        .iter()
        .fold(constraints.to_owned(), |text, sign| text.replace(&format!("{sign} "), sign));
    let mut is_allowed = true;
    for one in tidy.split([',', ' ']).filter(|one| !one.is_empty()) {
        is_allowed &= allows_one(one, version)?;
    }
    Some(is_allowed)
}

fn allows_one(constraint: &str, version: &Version) -> Option<bool> {
    let after = |sign: &str| constraint.strip_prefix(sign);
    if let Some(rest) = after(">=") {
        return Some(*version >= padded(rest)?);
    }
    if let Some(rest) = after("<=") {
        return Some(*version <= padded(rest)?);
    }
    if let Some(rest) = after("!=") {
        return Some(*version != padded(rest)?);
    }
    if let Some(rest) = after(">") {
        return Some(*version > padded(rest)?);
    }
    if let Some(rest) = after("<") {
        return Some(*version < padded(rest)?);
    }
    if let Some(rest) = after("^") {
        let low = padded(rest)?;
        // PHP has no version 0, whose minor releases would count as major ones.
        return Some(*version >= low && *version < [low[0] + 1, 0, 0, 0]);
    }
    if let Some(rest) = after("~") {
        let low = padded(rest)?;
        let given = rest.split('.').count();
        let high = match given {
            0..=2 => [low[0] + 1, 0, 0, 0],
            _ => [low[0], low[1] + 1, 0, 0],
        };
        return Some(*version >= low && *version < high);
    }
    let exact = after("==").or_else(|| after("=")).unwrap_or(constraint);
    if exact == "*" {
        return Some(true);
    }
    let is_wildcard = exact.ends_with(".*") || exact.ends_with(".x");
    let low = padded(exact.trim_end_matches(".*").trim_end_matches(".x"))?;
    match is_wildcard {
        true => {
            let (_, above) = range(exact.trim_end_matches(".*").trim_end_matches(".x"))?;
            Some(*version >= low && *version < above)
        }
        false => Some(*version == low),
    }
}

/// The first version that begins with `text`, and the first above all of them.
fn range(text: &str) -> Option<(Version, Version)> {
    let low = padded(text)?;
    let given = text.split('.').count().min(low.len());
    let mut above = low;
    above[given - 1] += 1;
    Some((low, above))
}

/// The version, without a stability such as `-dev` behind it.
fn padded(text: &str) -> Option<Version> {
    numbers(text.split(['-', '@', '+']).next()?.trim_start_matches('v'))
}

fn numbers(text: &str) -> Option<Version> {
    let mut version = [0; 4];
    let parts: Vec<&str> = text.trim().split('.').collect();
    if parts.len() > version.len() {
        return None;
    }
    for (number, part) in version.iter_mut().zip(parts) {
        *number = part.parse().ok()?;
    }
    Some(version)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_number_is_found_in_what_programs_print() {
        for printed in [
            "8.2.29",
            "PHP 8.2.29 (fpm-fcgi) (built: Jul  3 2025 16:16:05)",
            "PHP 8.2.29-0+deb12u1 (cli)",
            "FrankenPHP v1.12.4 PHP 8.2.29 Caddy v2.10.0 h1:abc",
        ] {
            assert_eq!(super::number_in(printed), "8.2.29", "{printed}");
            assert_eq!(super::allows("^8.3", printed), Some(false), "{printed}");
        }
        assert_eq!(super::allows("^8.3", "nginx version"), None);
    }

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn constraints_allow_what_composer_allows() {
        for (constraint, version, expected) in [
            ("*", "8.2.1", true),
            ("^8.1", "8.4.0", true),
            ("^8.1", "8.0.30", false),
            ("^8.1", "9.0.0", false),
            ("~8.1.0", "8.1.9", true),
            ("~8.1.0", "8.2.0", false),
            ("~8.1", "8.9.0", true),
            ("~8", "8.9.0", true),
            (">=7.4", "8.2.29", true),
            (">= 7.4 < 8.2", "8.2.29", false),
            (">=7.4,<8.3", "8.2.29", true),
            ("^7.4 || ^8.0", "8.2.29", true),
            ("^5.6|^7.0", "8.2.29", false),
            ("8.*", "8.2.29", true),
            ("8.1.*", "8.2.29", false),
            ("8.0 - 8.2", "8.2.29", true),
            ("8.0 - 8.1.2", "8.1.2", true),
            ("8.0 - 8.1", "8.2.0", false),
            ("8.2.29", "8.2.29", true),
            ("!=8.2.29", "8.2.29", false),
            (">=8.1.0-dev", "8.2.29-1+deb12u1", true),
            ("<=8.2", "8.2.29", false),
        ] {
            assert_eq!(allows(constraint, version), Some(expected), "{constraint} {version}");
        }
        for unknown in ["dev-main", "eight", "", "^", "1.2.3.4.5"] {
            assert_eq!(allows(unknown, "8.2.1").filter(|_| !unknown.is_empty()), None, "{unknown}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_panic(constraint in ".{0,20}", version in ".{0,10}") {
            let _ = allows(&constraint, &version);
        }

        #[test]
        fn a_version_is_in_the_ranges_that_begin_with_it(a in 1_u64..10, b in 0_u64..30, c in 0_u64..50) {
            let version = format!("{a}.{b}.{c}");
            for allowed in [format!("^{a}.{b}"), format!("~{a}.{b}.{c}"), format!("{a}.{b}.*"), format!(">={version}")] {
                prop_assert_eq!(allows(&allowed, &version), Some(true), "{}", allowed);
            }
            for refused in [format!("<{version}"), format!("^{}.0", a + 1), format!("{a}.{}.*", b + 1)] {
                prop_assert_eq!(allows(&refused, &version), Some(false), "{}", refused);
            }
        }
    }
}
