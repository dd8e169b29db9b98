//! Formats an amount of something that grows: bytes, or a number.

use stampede_model::words;

use super::model::GrowthOf;

/// Formats an amount, or the growth with each request: `1.24 MiB`, `12`, `0.013`.
pub fn amount(of: GrowthOf, value: f64) -> String {
    let size = match of {
        GrowthOf::Heap | GrowthOf::Memory => bytes(value.abs()),
        GrowthOf::Descriptors
        | GrowthOf::Connections
        | GrowthOf::TemporaryFiles
        | GrowthOf::Entries => number(value.abs()),
    };
    let is_none = size.trim_end_matches(" B").parse() == Ok(0.0);
    if value < 0.0 && !is_none { format!("-{size}") } else { size }
}

/// Shows tenths of a few bytes: with every request, they add up.
fn bytes(value: f64) -> String {
    match value {
        whole if whole.fract() < f64::EPSILON => words::bytes(whole),
        few if few < 9.95 => format!("{few:.1} B"),
        many => words::bytes(many),
    }
}

/// Shows fractions: less than one file with each request may still be many.
fn number(value: f64) -> String {
    match value {
        many if many >= 9.995 => format!("{many:.0}"),
        few => {
            let text = format!("{few:.3}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_few_digits_and_a_unit() {
        let bytes = |value| amount(GrowthOf::Heap, value);
        assert_eq!(bytes(0.0), "0 B");
        assert_eq!(bytes(0.46), "0.5 B");
        assert_eq!(bytes(7.0), "7 B");
        assert_eq!(bytes(508.3), "508 B");
        assert_eq!(bytes(2_560.0), "2.50 KiB");
        assert_eq!(bytes(-0.01), "0.0 B");
        assert_eq!(bytes(-3_145_728.0), "-3.00 MiB");
        let number = |value| amount(GrowthOf::Descriptors, value);
        assert_eq!(number(0.0), "0");
        assert_eq!(number(5.0), "5");
        assert_eq!(number(0.01349), "0.013");
        assert_eq!(number(1.5), "1.5");
        assert_eq!(number(1_024.4), "1024");
        assert_eq!(number(-0.0001), "0");
        assert_eq!(number(-0.25), "-0.25");
    }
}
