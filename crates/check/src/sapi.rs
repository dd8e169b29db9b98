//! Compares answers without PHP's interface to its server. Each runtime has another interface, so
//! an app that shows its name does not show a worker's memory.

use super::nondeterminism::{Difference, Nondeterminism};

/// `PHP_SAPI` of runtimes that forget.
const FORGETTING: [&str; 5] = ["fpm-fcgi", "apache2handler", "cgi-fcgi", "cli-server", "litespeed"];
/// `PHP_SAPI` of worker runtimes.
const KEEPING: [&str; 5] = ["cli", "frankenphp", "embed", "cli-server", "unit"];

/// Returns the difference from the reference's answer, as [`Nondeterminism::difference`]; `None` if
/// only the name of the interface differs.
pub fn difference(
    nondeterminism: &Nondeterminism,
    reference: &str,
    actual: &str,
) -> Option<Difference> {
    let difference = nondeterminism.difference(reference, actual)?;
    let names = FORGETTING.iter().filter(|name| reference.contains(**name));
    let mut renamed =
        names.flat_map(|own| KEEPING.iter().map(move |other| reference.replace(*own, other)));
    renamed.all(|text| nondeterminism.difference(&text, actual).is_some()).then_some(difference)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differs(reference: &str, actual: &str) -> bool {
        difference(&Nondeterminism::new(), reference, actual).is_some()
    }

    #[test]
    fn a_different_name_of_the_sapi_is_no_difference() {
        let of = |name: &str, rest: &str| format!("<p>PHP by {name}</p><p>{rest}</p>");
        for name in KEEPING {
            assert!(!differs(&of("fpm-fcgi", "x"), &of(name, "x")), "{name}");
        }
        assert!(differs(&of("fpm-fcgi", "x"), &of("cli", "y")));
        assert!(differs(&of("fpm-fcgi", "x"), &of("ann", "x")));
        assert!(differs("<p>cli</p>", "<p>frankenphp</p>"), "of a page that does not say it");
        assert!(!differs("same", "same"));
    }
}
