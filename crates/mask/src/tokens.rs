//! Finds tokens that are recognised by their form, whatever name they have.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// Forms of keys of AWS, Stripe, GitHub, GitLab, Slack and Google, and of JSON Web Tokens.
static FORMS: LazyLock<Regex> = LazyLock::new(|| {
    let forms = [
        "A(?:KIA|SIA)[0-9A-Z]{16}",
        "(?:sk|rk)_(?:live|test)_[0-9A-Za-z]{8,}",
        "gh[opsur]_[0-9A-Za-z]{20,}",
        "github_pat_[0-9A-Za-z_]{20,}",
        "glpat-[0-9A-Za-z_-]{16,}",
        "xox[abeoprs]-[0-9A-Za-z-]{8,}",
        "AIza[0-9A-Za-z_-]{35}",
        r"eyJ[0-9A-Za-z_-]{5,}\.eyJ[0-9A-Za-z_-]{5,}\.[0-9A-Za-z_-]*",
    ];
    // `%3D` and `\n` do not belong to the word that follows them.
    let begin = r"(?:^|[^0-9A-Za-z_]|%[0-9A-Fa-f]{2}|\\[nrt])";
    Regex::new(&format!("{begin}({})", forms.join("|"))).expect("they are well-formed")
});

/// A login code of OAuth. `state` is in the same URL, or the path shows it.
static CODE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("[?&;]code=([^&#;\\s\"'<>)\\\\]{6,})").expect("it is well-formed"));
const OF_OAUTH: [&str; 6] = ["oauth", "openid", "oidc", "callback", "/sso", "/authorize"];

/// Adds the places of tokens in `line`.
pub(super) fn places(line: &str, places: &mut Vec<Range<usize>>) {
    places.extend(FORMS.captures_iter(line).filter_map(|found| Some(found.get(1)?.range())));
    if !line.contains("code=") {
        return;
    }
    for code in CODE.captures_iter(line).filter_map(|found| found.get(1)) {
        let ends = |letter: char| letter.is_whitespace() || "\"'<>`".contains(letter);
        let begin = line[..code.start()].rfind(ends).map_or(0, |at| at + 1);
        let end = line[code.end()..].find(ends).map_or(line.len(), |at| code.end() + at);
        let url = line[begin..end].to_ascii_lowercase();
        let path = url.split('?').next().unwrap_or_default();
        let has_state = ["?state=", "&state=", ";state="].iter().any(|name| url.contains(name));
        if has_state || OF_OAUTH.iter().any(|part| path.contains(part)) {
            places.push(code.range());
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::known::masked;
    use crate::shapes::places;

    fn mask(text: &str) -> String {
        masked(text, places(text))
    }

    #[test]
    fn tokens_are_masked_whatever_their_name() {
        let letters = "Ab1".repeat(14);
        for token in [
            "AKIAIOSFODNN7EXAMPLE".to_owned(),
            format!("sk_live_{letters}"),
            format!("sk_test_{letters}"),
            format!("rk_live_{letters}"),
            format!("ghp_{letters}"),
            format!("gho_{letters}"),
            format!("ghs_{letters}"),
            format!("github_pat_{letters}_{letters}"),
            "glpat-Ab1_Ab1-Ab1Ab1Ab1Ab1".to_owned(),
            "xoxb-123456789012-Ab1Ab1Ab1".to_owned(),
            format!("AIza{}", &letters[..35]),
            format!("eyJ{letters}.eyJ{letters}.{letters}-_x"),
        ] {
            for (around, expected) in [
                (format!("NAME={token}"), "NAME=***"),
                (format!("{{\"x\": \"{token}\"}}"), "{\"x\": \"***\"}"),
                (format!("said\\n{token} and"), "said\\n*** and"),
                (format!("/a%3D{token}/b"), "/a%3D***/b"),
            ] {
                assert_eq!(mask(&around), expected, "{token}");
            }
        }
        assert_eq!(mask("-----BEGIN PGP PRIVATE KEY BLOCK-----\nabc"), "***\n***");
    }

    #[test]
    fn a_code_of_oauth_is_masked() {
        for (text, expected) in [
            ("GET /in?code=Ab1cdefgh&state=x HTTP", "GET /in?code=***&state=x HTTP"),
            ("/in?state=x&amp;code=Ab1cdefgh", "/in?state=x&amp;code=***"),
            ("\"/oauth/back?code=Ab1cdefgh\"", "\"/oauth/back?code=***\""),
            ("/shop?code=Ab1cdefgh", "/shop?code=Ab1cdefgh"),
            ("exit code=137137, state=idle", "exit code=137137, state=idle"),
            (
                "AKIAI sk_live_ ghp_x eyJhbGciOi eyJ.eyJ. task_live_abcdefghi",
                "AKIAI sk_live_ ghp_x eyJhbGciOi eyJ.eyJ. task_live_abcdefghi",
            ),
        ] {
            assert_eq!(mask(text), expected);
        }
    }
}
