//! Parses texts about the machine outside of `/proc`; all functions are pure.

/// Returns the choice in brackets: `madvise` of `always [madvise] never`.
pub fn bracketed_choice(text: &str) -> Option<&str> {
    Some(text.split_once('[')?.1.split_once(']')?.0)
}

/// Returns a value of `/etc/os-release` without its quotes.
pub fn os_value(text: &str, key: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
    Some(value.trim().trim_matches(['"', '\'']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_stands_in_brackets() {
        assert_eq!(bracketed_choice("always [madvise] never\n"), Some("madvise"));
        assert_eq!(bracketed_choice("none\n"), None);
    }

    #[test]
    fn values_of_the_distribution_have_no_quotes() {
        let os = "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n";
        assert_eq!(os_value(os, "PRETTY_NAME").unwrap(), "Debian GNU/Linux 12 (bookworm)");
        assert_eq!(os_value(os, "NAME").unwrap(), "Debian");
    }
}
