//! Secrets out of text that people may publish with their results.

/// `text` with what looks like a secret replaced by `***`: values of names like
/// `DB_PASSWORD`, `api-key` or `access_token` (`name=value`, `name: value`,
/// `'name' => 'value'`, `env[NAME] = "value"`, `--name value`), everything behind
/// `Authorization:` and `Cookie:`, the word behind `Bearer` and `Basic`, what stands before
/// the `@` of a URL, and private keys in PEM. A guess: it errs towards masking, and a secret
/// under an innocent name stays.
pub fn mask_secrets(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut inside_key = ends_a_key_that_it_does_not_begin(text);
    for line in text.split_inclusive('\n') {
        let (line, end) = match line.strip_suffix('\n') {
            Some(line) => (line, "\n"),
            None => (line, ""),
        };
        inside_key |= line.contains("-----BEGIN") && line.contains("PRIVATE KEY-----");
        if inside_key {
            masked.push_str(MASK);
            inside_key = !is_key_end(line);
        } else {
            masked.push_str(&mask_values(&mask_userinfo(line)));
        }
        masked.push_str(end);
    }
    masked
}

/// A log that was cut from the front may begin inside a key.
fn ends_a_key_that_it_does_not_begin(text: &str) -> bool {
    let begin = text.find("-----BEGIN");
    text.lines()
        .find(|line| is_key_end(line))
        .and_then(|line| text.find(line))
        .is_some_and(|end| begin.is_none_or(|begin| begin > end))
}

fn is_key_end(line: &str) -> bool {
    line.contains("-----END") && line.contains("PRIVATE KEY-----")
}

/// `scheme://user:word@host` → `scheme://***@host` (RFC 3986 section 3.2.1).
fn mask_userinfo(line: &str) -> String {
    let mut masked = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find("://") {
        let (before, authority) = rest.split_at(at + 3);
        masked.push_str(before);
        let ends = |c: char| c.is_whitespace() || "/?#\"'<>`".contains(c);
        let length = authority.find(ends).unwrap_or(authority.len());
        rest = authority;
        if let Some(userinfo) = authority[..length].rfind('@') {
            masked.push_str(MASK);
            rest = &authority[userinfo..];
        }
    }
    masked + rest
}

/// Masks the values of names that sound secret.
fn mask_values(line: &str) -> String {
    let mut masked = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find(is_name_part) {
        let length = rest[start..].find(|c| !is_name_part(c)).unwrap_or(rest.len() - start);
        let (before, behind) = rest.split_at(start + length);
        masked.push_str(before);
        rest = behind;
        let Some(secrecy) = secrecy_of(&before[start..]) else { continue };
        let Some(value_at) = value_start(behind, secrecy, &before[start..]) else { continue };
        let (separator, value) = behind.split_at(value_at);
        masked.push_str(separator);
        let length = value_length(value, secrecy);
        if length > 0 {
            masked.push_str(MASK);
        }
        rest = &value[length..];
    }
    masked + rest
}

/// How far a secret value reaches, and what leads to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Secrecy {
    /// One word or one quoted text behind `=`, `:` or `=>`.
    Value,
    /// All to the end of the line, or of the quoted text: headers hold blanks.
    Line,
    /// The next word: `Bearer abc`.
    NextWord,
}

fn secrecy_of(name: &str) -> Option<Secrecy> {
    let plain: String =
        name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    if ["bearer", "basic"].contains(&plain.as_str()) {
        return Some(Secrecy::NextWord);
    }
    if ["authorization", "cookie"].iter().any(|word| plain.ends_with(word)) {
        return Some(Secrecy::Line);
    }
    SECRET_WORDS.iter().any(|word| plain.contains(word)).then_some(Secrecy::Value)
}

/// Where the value begins behind a name; `None` when no value follows.
fn value_start(behind: &str, secrecy: Secrecy, name: &str) -> Option<usize> {
    let blank = |c: char| c == ' ' || c == '\t';
    let closed = behind.trim_start_matches(['\\', '"', '\'', ']', ')']).trim_start_matches(blank);
    let separated = match closed.strip_prefix("=>").or_else(|| closed.strip_prefix(['=', ':'])) {
        Some(separated) => separated,
        None if secrecy == Secrecy::NextWord || name.starts_with("--") => {
            behind.strip_prefix(blank)?
        }
        None => return None,
    };
    Some(behind.len() - separated.trim_start_matches(blank).len())
}

/// Length of a value, its quotes included.
fn value_length(value: &str, secrecy: Secrecy) -> usize {
    let escapes = value.len() - value.trim_start_matches('\\').len();
    let quote = value[escapes..].chars().next().filter(|c| "\"'".contains(*c));
    if let Some(quote) = quote {
        // An escaped quote opens inside quoted text (JSON in a log), and one closes it.
        let closing = format!("{}{quote}", &value[..escapes]);
        let open = closing.len();
        let mut from = open;
        while let Some(found) = value[from..].find(&closing) {
            let end = from + found;
            let doubled = value[end + open..].starts_with(&closing); // YAML and SQL
            let escaped = escapes == 0 && value[..end].ends_with('\\');
            if !doubled && !escaped {
                return end + open;
            }
            from = end + open + if doubled { open } else { 0 };
        }
        return value.len();
    }
    let ends = |c: char| match secrecy {
        Secrecy::Line => "\"'".contains(c),
        Secrecy::Value | Secrecy::NextWord => c.is_whitespace() || ",;&\"'<>)]}".contains(c),
    };
    value.find(ends).unwrap_or(value.len())
}

fn is_name_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '.'
}

/// What stands where a secret was.
pub const MASK: &str = "***";

/// Parts of secret names, without the `_`, `-` and `.` in between. `appkey`: Laravel's
/// `APP_KEY`.
const SECRET_WORDS: [&str; 13] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "credential",
    "apikey",
    "accesskey",
    "privatekey",
    "appkey",
    "encryptionkey",
    "sessionid",
];

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_looks_like_a_secret_is_masked() {
        let text = r#"env[DB_PASSWORD] = "hunter2 with blanks" ; and more
DATABASE_URL=mysql://root:hunter2@127.0.0.1:3306/shop?ssl=1
'api_key' => 'hunter2', 'name' => 'shop'
{"token":"hunter2","next":"a \"quoted\" name"}
{"message":"{\"access_token\":\"hunter2\",\"id\":7}"}
Authorization: Basic aHVudGVyMg==
"HTTP_COOKIE": "PHPSESSID=hunter2; other=hunter2", "method": "GET"
curl -H 'authorization: Bearer hunter2' http://127.0.0.1/?access_token=hunter2&page=2
mysql --password hunter2 --host db
the header was Bearer hunter2, it said
APP_KEY=base64:hunter2=
secret: 'it''s hunter2'
-----BEGIN RSA PRIVATE KEY-----
hunter2hunter2
-----END RSA PRIVATE KEY-----
PASSWORD="hunter2 \" hunter2" left
"#;
        let masked = mask_secrets(text);
        insta::assert_snapshot!(masked);
        assert!(!masked.contains("hunter2"), "{masked}");
    }

    #[test]
    fn what_is_harmless_stays() {
        for text in [
            "PHP Parse error: syntax error, unexpected token \"}\" in /srv/index.php on line 3",
            "127.0.0.1 - - [21/Nov/2026:03:51:51 +0000] \"GET /a@b HTTP/1.1\" 200 12",
            "NOTICE: fpm is running, pid 4711",
            "listen = /tmp/stampede/php.sock ; mail: root@localhost",
            "",
            "\n\n",
        ] {
            assert_eq!(mask_secrets(text), text);
        }
    }

    #[test]
    fn a_log_cut_inside_a_key_is_masked_from_its_first_line() {
        let text = "hunter2\nhunter2\n-----END PRIVATE KEY-----\nready\n";
        assert_eq!(mask_secrets(text), "***\n***\n***\nready\n");
    }

    proptest! {
        #[test]
        fn no_secret_survives_its_name(
            secret in "[A-Za-z0-9+/_.!-]{8,40}",
            name in "(DB_|my-)?(PASSWORD|password|Secret|api[_-]?key|token)(_MAIN|2)?",
            shape in 0..6,
            around in "[a-z ,;]{0,10}",
        ) {
            let line = match shape {
                0 => format!("{around} {name}={secret} {around}"),
                1 => format!("{around} {name}: \"{secret}\", {around}"),
                2 => format!("{around} '{name}' => '{secret}' {around}"),
                3 => format!("{{\"{name}\":\"{secret}\"}}{around}"),
                4 => format!("env[{name}] = {secret}"),
                _ => format!("{around} --{name} {secret}"),
            };
            prop_assert!(!mask_secrets(&line).contains(&secret), "{}", mask_secrets(&line));
        }

        #[test]
        fn lines_stay_lines_and_nothing_is_masked_twice(text in "(\\PC{0,30}\n?){0,8}") {
            let masked = mask_secrets(&text);
            prop_assert_eq!(masked.matches('\n').count(), text.matches('\n').count());
            prop_assert_eq!(mask_secrets(&masked), masked);
        }
    }
}
