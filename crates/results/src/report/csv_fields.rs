//! Lines and fields of CSV (RFC 4180).

/// A number without an exponent: whole from 10⁶ on, else with up to six decimals.
pub fn number(value: f64) -> String {
    if value.abs() >= 1e6 {
        return format!("{value:.0}");
    }
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Text with a quote in front if a spreadsheet would take it for a formula.
pub fn guarded(text: &str) -> String {
    match text.chars().next() {
        Some('=' | '+' | '-' | '@' | '\t' | '\r') => format!("'{text}"),
        _ => text.to_owned(),
    }
}

/// Adds a line, with quotes where a field needs them.
pub fn line(fields: impl Iterator<Item = String>, out: &mut String) {
    for (place, field) in fields.enumerate() {
        if place > 0 {
            out.push(',');
        }
        if field.contains([',', '"', '\n', '\r']) {
            out.push('"');
            out.push_str(&field.replace('"', "\"\""));
            out.push('"');
        } else {
            out.push_str(&field);
        }
    }
    out.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_as_rfc_4180_says() {
        let mut out = String::new();
        line(["a", "b,c", "say \"so\"", "two\nlines"].map(str::to_owned).into_iter(), &mut out);
        assert_eq!(out, "a,\"b,c\",\"say \"\"so\"\"\",\"two\nlines\"\r\n");
    }

    #[test]
    fn nothing_is_taken_for_a_formula() {
        for text in ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1"] {
            assert_eq!(guarded(text), format!("'{text}"));
        }
        assert_eq!(guarded("nginx-fpm"), "nginx-fpm");
    }

    #[test]
    fn numbers_have_no_exponent() {
        let cases = [(0.25, "0.25"), (3_594_000.4, "3594000"), (1e18, "1000000000000000000")];
        for (value, text) in cases {
            assert_eq!(number(value), text);
        }
    }
}
