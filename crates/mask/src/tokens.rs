//! Finds tokens that are recognised by their form, whatever name they have.

use std::ops::Range;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use regex::Regex;

/// Forms of keys and tokens: of AWS, Stripe, GitHub, GitLab, Slack, Google, SendGrid, npm, PyPI,
/// Docker, Vault, DigitalOcean, Shopify, OpenAI and Anthropic, Brevo, age, Laravel and CAS; JSON Web
/// Tokens; hashes of passwords; a PEM in Base64.
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
        r"eyJ[0-9A-Za-z_-]{12,}(?:\.[0-9A-Za-z_-]*){4}",
        r"ya29\.[0-9A-Za-z_-]{20,}",
        r"SG\.[0-9A-Za-z_-]{16,}\.[0-9A-Za-z_-]{16,}",
        "(?:npm|dop_v1|doo_v1|shp(?:at|ss|ca|pa)|whsec|dckr_pat|hf)_[0-9A-Za-z_-]{20,}",
        "pypi-[0-9A-Za-z_-]{20,}",
        r"hv[sb]\.[0-9A-Za-z_-]{20,}",
        "sk-(?:ant-|proj-)?[0-9A-Za-z_-]{20,}",
        "xkeysib-[0-9a-f]{32,}[0-9A-Za-z-]*",
        "AGE-SECRET-KEY-1[0-9A-Z]{20,}",
        "base64:[0-9A-Za-z+/]{43}=",
        "LS0tLS1CRUdJTi[0-9A-Za-z+/=]{8,}",
        r"(?:ST|TGT|PT|PGT)-\d+-[0-9A-Za-z._-]{12,}",
    ];
    // `%3D` and `\n` do not belong to the word that follows them.
    let begin = r"(?:^|[^0-9A-Za-z_]|%[0-9A-Fa-f]{2}|\\[nrt])";
    Regex::new(&format!("{begin}({})", forms.join("|"))).expect("they are well-formed")
});

/// Hashes of passwords: of crypt(3), `password_hash()`, Apache and LDAP.
static HASHES: LazyLock<Regex> = LazyLock::new(|| {
    let bcrypt = r"\$2[abxy]\$\d\d\$[0-9A-Za-z./]{53}";
    let crypt = r"\$(?:1|5|6|7|y|gy|apr1|argon2(?:id|i|d))\$[0-9A-Za-z./$=,+-]{16,}";
    Regex::new(&format!(r"{bcrypt}|{crypt}|\{{(?:S?SHA\d*|SMD5)\}}[0-9A-Za-z+/=]{{16,}}"))
        .expect("they are well-formed")
});

/// Whether a word is the hash of a password.
pub(super) fn is_hash(word: &str) -> bool {
    HASHES.find(word).is_some_and(|found| found.range() == (0..word.len()))
}

/// Whether a word is what follows `Basic` in a header: a name and a password, in Base64. Other words
/// can be read as Base64 too, but give no text.
pub(super) fn is_basic(word: &str) -> bool {
    let plain = STANDARD.decode(word).or_else(|_| STANDARD_NO_PAD.decode(word));
    plain.is_ok_and(|plain| {
        let is_text = std::str::from_utf8(&plain)
            .is_ok_and(|plain| plain.chars().all(|letter| !letter.is_control()));
        plain.contains(&b':') || word.len() >= BASIC_MIN && is_text
    })
}

/// A shorter word may be a word of a sentence.
const BASIC_MIN: usize = 8;

/// A login code of OAuth. `state` is in the same URL, or the path shows it.
static CODE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("[?&;]code=([^&#;\\s\"'<>)\\\\]{6,})").expect("it is well-formed"));
const OF_OAUTH: [&str; 6] = ["oauth", "openid", "oidc", "callback", "/sso", "/authorize"];

/// Adds the places of tokens in `line`.
pub(super) fn places(line: &str, places: &mut Vec<Range<usize>>) {
    places.extend(FORMS.captures_iter(line).filter_map(|found| Some(found.get(1)?.range())));
    places.extend(HASHES.find_iter(line).map(|found| found.range()));
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
            format!("eyJ{letters}..{letters}.{letters}.{letters}"),
            format!("SG.{letters}.{letters}"),
            format!("sk-ant-{letters}"),
            format!("npm_{letters}"),
            format!("base64:{}A=", letters),
            format!("$2y$10${letters}{}", "abcdefghijk"),
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
        for hash in ["$apr1$abcdefgh$abcdefghijklmnopqrstuv", "{SSHA}abcdefghijklmnopqrstuvwxyz=="]
        {
            assert_eq!(mask(&format!("joe:{hash}")), "joe:***");
        }
        assert_eq!(mask("-----BEGIN PGP PRIVATE KEY BLOCK-----\nabc"), "***\n***");
    }

    #[test]
    fn only_a_name_and_a_password_follow_basic() {
        for text in [
            "a Basic page, basic elements, Basic HTML5 page, basic settings",
            "WWW-Authenticate: Basic realm=\"shop\"",
            "send a Bearer token, WWW-Authenticate: Bearer realm=\"shop\"",
        ] {
            assert_eq!(mask(text), text);
        }
        for token in ["YTpi", "cm9vdDpyb290", "dXNlcjpw5A==", "aHVudGVyMg=="] {
            assert_eq!(mask(&format!("sent Basic {token} twice")), "sent Basic *** twice");
        }
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
