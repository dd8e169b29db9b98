//! Property tests: no encoding of a secret survives, and nothing else changes.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use proptest::prelude::*;

use crate::KnownSecrets;
use crate::ordinary::is_distinctive;

/// The ways to write a text inside another one.
const WAYS: usize = 9;

fn encoded(text: &str, way: usize) -> String {
    let json = |text: &str| {
        let quoted = serde_json::Value::from(text).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    };
    let ascii = |text: &str| -> String {
        let mut units = [0; 2];
        let code = |letter: char| match letter.is_ascii() && letter != '<' {
            true => letter.to_string(),
            false => {
                let units = letter.encode_utf16(&mut units).iter();
                units.map(|unit| format!("\\u{unit:04X}")).collect()
            }
        };
        text.chars().map(code).collect()
    };
    let url = |text: &str, plain: &str| -> String {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || plain.as_bytes().contains(&byte);
        let code = |byte: u8| match is_plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        };
        text.bytes().map(code).collect()
    };
    let html = text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;");
    match way {
        0 => text.to_owned(),
        1 => json(text),
        2 => ascii(&json(text)).replace('/', "\\/"),
        3 => url(text, "-._~"),
        4 => lower_hex(&url(text, "-._~!$'()*,;:@/?")).replace("%20", "+"),
        5 => html,
        6 => html.replace('\'', "&#039;").replace('>', "&gt;"),
        7 => STANDARD.encode(text),
        _ => URL_SAFE_NO_PAD.encode(text),
    }
}

fn lower_hex(url: &str) -> String {
    let mut pieces = url.split('%');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |all, piece| all + "%" + &piece[..2].to_lowercase() + &piece[2..])
}

/// The parts of a Base64 text that `value` decides alone, at each place in a group of three bytes.
fn base64_parts(value: &str) -> Vec<String> {
    let part = |before: usize| {
        let text = STANDARD.encode(format!("{}{value}", "\0".repeat(before)));
        text[(before * 8).div_ceil(6)..(before + value.len()) * 8 / 6].to_owned()
    };
    (0..3).map(part).collect()
}

fn known(value: &str) -> KnownSecrets {
    let mut known = KnownSecrets::new();
    known.add(value);
    known
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn no_encoding_of_a_secret_survives(
        value in "[!-~äß€😀][ -~äß€😀]{6,20}[!-~äß€😀]",
        first in 0..WAYS,
        second in 0..WAYS,
        (before, behind) in ("[a-z ,]{0,4}", "[a-z ,]{0,4}"),
        (inner_before, inner_behind) in ("[a-z]{0,3}", "[a-z]{0,3}"),
    ) {
        prop_assume!(is_distinctive(&value));
        // Base64 hides what is done to the text inside, so it can only be the outer of two, or the
        // inner of one that keeps it.
        let inner = match second >= 7 {
            true => encoded(&format!("{inner_before}{value}{inner_behind}"), second),
            false => encoded(&format!("{inner_before}{}{inner_behind}", encoded(&value, first)), second),
        };
        let masked = known(&value).mask(&format!("{before}{inner}{behind}")).into_owned();
        prop_assert!(masked.contains("***"), "`{}` in `{}`", value, inner);
        prop_assert!(!masked.contains(&value));
        for way in 0..7 {
            let written = encoded(&value, way);
            prop_assert!(!masked.contains(&written), "`{}` in `{}`", written, masked);
        }
        for part in base64_parts(&value) {
            prop_assert!(!masked.contains(&part), "`{}` in `{}`", part, masked);
        }
    }

    #[test]
    fn text_without_secrets_is_unchanged(
        values in prop::collection::vec("[A-Z]{9}[0-9]{3}", 1..20),
        text in r#"[a-z0-9 ,.:=/+%&;\\"-]{0,90}|%2F|\\n|&amp;|…"#,
    ) {
        let mut known = KnownSecrets::new();
        values.iter().for_each(|value| known.add(value));
        prop_assert!(matches!(known.mask(&text), Cow::Borrowed(same) if same == text));
        prop_assert!(matches!(known.mask_foreign(&text), Cow::Borrowed(_)));
    }

    #[test]
    fn nothing_around_a_secret_changes(
        value in "[A-Za-z0-9+/_-]{8,30}",
        before in "[a-z ,.:\n]{0,40}",
        behind in "[a-z ,.:\n]{0,40}",
    ) {
        prop_assume!(is_distinctive(&value));
        let masked = known(&value).mask(&format!("{before}<{value}>{behind}")).into_owned();
        prop_assert_eq!(masked, format!("{before}<***>{behind}"));
    }
}
