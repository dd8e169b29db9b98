//! Makes the names of runs and of trial directories.

use jiff::Zoned;

use stampede_mask::mask_known;

/// Returns the id of a new run, such as `20261121-035151-3f9a`. It has the start time, and four hex
/// digits that distinguish runs started in the same second. Ids sort by time.
pub fn run_id(started: &Zoned) -> String {
    format!("{}-{:04x}", started.strftime("%Y%m%d-%H%M%S"), fastrand::u16(..))
}

/// Converts `text` to a file name. Only `[A-Za-z0-9._=-]` stay, and each sequence of other
/// characters becomes one `-`. The name is not hidden, not empty, and has at most 80 bytes.
pub fn file_name(text: &str) -> String {
    let mut name = String::new();
    for character in mask_known(text).chars() {
        match character {
            'A'..='Z' | 'a'..='z' | '0'..='9' | '.' | '_' | '=' => name.push(character),
            _ if name.ends_with('-') => {}
            _ => name.push('-'),
        }
        if name.len() >= LENGTH_MAX {
            break;
        }
    }
    let name = name.trim_matches(['-', '.']);
    if name.is_empty() { "unnamed".to_owned() } else { name.to_owned() }
}

/// Even with `<nnn>-` in front, the name stays far below the 255 bytes of Linux file systems.
const LENGTH_MAX: usize = 80;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_case_becomes_a_readable_name() {
        let name = |text| file_name(text);
        assert_eq!(name("nginx-fpm jit=tracing"), "nginx-fpm-jit=tracing");
        assert_eq!(name("const(200,60s)"), "const-200-60s");
        assert_eq!(name("../../etc/passwd"), "etc-passwd");
        assert_eq!(name(".."), "unnamed");
        assert_eq!(name("сто"), "unnamed");
    }

    #[test]
    fn ids_sort_by_time() {
        let at = |text: &str| text.parse::<Zoned>().expect("a moment");
        let earlier = run_id(&at("2026-11-21T03:51:51+00:00[UTC]"));
        let later = run_id(&at("2026-11-21T13:51:51+00:00[UTC]"));
        assert!(earlier.starts_with("20261121-035151-") && earlier.len() == 20, "{earlier}");
        assert!(earlier < later);
    }

    proptest! {
        #[test]
        fn any_text_becomes_one_safe_file_name(text in "\\PC{0,200}") {
            let name = file_name(&text);
            prop_assert!(!name.is_empty() && name.len() <= LENGTH_MAX);
            prop_assert!(!name.starts_with('.') && !name.starts_with('-'));
            let allowed = |c: char| c.is_ascii_alphanumeric() || "._=-".contains(c);
            prop_assert!(name.chars().all(allowed));
            prop_assert_eq!(file_name(&name), name);
        }
    }
}
