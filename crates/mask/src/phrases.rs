//! Finds secrets that stand at a known place of a sentence, a command, a call or a tag.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::names::{is_weak, secrecy_of};
use super::value::{ends_in_one, is_public, is_token};

/// A quoted text, or a word.
const WORD: &str = r#"("[^"]*"|'[^']*'|[^\s"'|;&,.)][^\s"'|;&]*)"#;

/// A pattern, and the parts of which a line has one if the pattern may match it. Most lines have none,
/// and are read faster so.
struct Phrase {
    parts: &'static [&'static str],
    pattern: Regex,
}

impl Phrase {
    fn new(parts: &'static [&'static str], pattern: &str) -> Phrase {
        Phrase { parts, pattern: Regex::new(pattern).expect("it is well-formed") }
    }

    fn find<'l>(&'l self, line: &'l str) -> impl Iterator<Item = Captures<'l>> {
        let may_match = self.parts.iter().any(|part| line.contains(part));
        may_match.then(|| self.pattern.captures_iter(line)).into_iter().flatten()
    }
}

/// Phrases whose first group is the secret.
static PHRASES: LazyLock<Vec<Phrase>> = LazyLock::new(|| {
    let same_command = r"\b[^\n|;]*?\s";
    let url = r#"([^\s"'<>]+)"#;
    vec![
        // Flags of commands, which have no name of their own.
        Phrase::new(
            &["mysql", "mariadb"],
            &format!(r"\b(?:mysql|mariadb)[\w-]*{same_command}-p{WORD}"),
        ),
        Phrase::new(
            &["curl", "wget", "http", "ab ", "hey "],
            &format!(
                r#"\b(?:curl|wget|https?|ab|hey){same_command}(?:-u|-A|-P|--user|--proxy-user)[\s=]?["']?([^\s:"']+:[^\s"']+)"#
            ),
        ),
        Phrase::new(
            &["redis-cli", "sshpass", "ldap", "login", "openssl"],
            &format!(
                r"\b(?:redis-cli{same_command}-a|sshpass{same_command}-p|ldap\w+{same_command}-w|(?:docker|podman) login{same_command}-p|openssl{same_command}-pass(?:in|out)?)\s*{WORD}"
            ),
        ),
        Phrase::new(
            &["--login", "--user", "--http-basic"],
            r#"--(?:login|user|http-basic)[ =]["']?([^\s:"'/]+:[^\s"']+)"#,
        ),
        Phrase::new(
            &["http-basic.", "github-oauth.", "gitlab-token.", "bearer."],
            r"\b(?:http-basic\.\S+\s+\S+|(?:github-oauth|gitlab-token|bearer)\.\S+)\s+(\S+)",
        ),
        // Redis
        Phrase::new(&["requirepass", "masterauth"], r"^\s*(?:requirepass|masterauth)\s+(\S+)"),
        // ~/.netrc
        Phrase::new(&["password"], r"\b(?:login|account)\s+\S+\s+password\s+(\S+)"),
        Phrase::new(
            &["dentified", "DENTIFIED"],
            r#"(?i)\bidentified\s+(?:with\s+\S+\s+)?(?:by|as)\s+(?:password\s+)?('[^']*'|"[^"]*")"#,
        ),
        Phrase::new(
            &["assw", "ASSW", "assphrase"],
            r#"(?i)\b(?:password|passwort|passwd|passphrase)\s+(?:is\s+|was\s+|of\s+)?("[^"]+"|'[^']+'|`[^`]+`)"#,
        ),
        // A DSN without a scheme: `root:hunter2@tcp(db:3306)/shop`.
        Phrase::new(
            &["@tcp(", "@udp(", "@unix("],
            r#"(?:^|[\s"'=,(])[\w.%+-]+:([^\s@"']+)@(?:tcp|udp|unix)\("#,
        ),
        // Addresses that nobody may know.
        Phrase::new(
            &["hooks.slack.com"],
            &format!(r"\bhooks\.slack\.com/(?:services|workflows|triggers)/{url}"),
        ),
        Phrase::new(&["/webhooks/"], &format!(r"\bdiscord(?:app)?\.com/api/webhooks/{url}")),
        Phrase::new(&["api.telegram.org"], r"\bapi\.telegram\.org/bot(\d+:[\w-]+)"),
        Phrase::new(&["webhook.office"], &format!(r"\bwebhook\.office\.com/{url}")),
    ]
});

/// A user and a password before a host, without a scheme.
static USER_AT_HOST: LazyLock<Phrase> = LazyLock::new(|| {
    let host = r"(?:localhost|\d+\.\d+\.\d+\.\d+|[\w-]+(?:\.[\w-]+)*\.[a-z]+)(?::\d+)?";
    let begin = r#"(?:^|[\s"'=,(]|^//|[\s"'=,(]//)"#;
    Phrase::new(&["@"], &format!(r#"{begin}([\w.%+-]+):([^\s:@/"']{{3,}})@{host}(?:[/\s"',;)]|$)"#))
});
/// Words before such a host that are no user: schemes without slashes.
const NO_USERS: [&str; 9] =
    ["mailto", "xmpp", "sip", "sips", "ssh", "git", "acct", "local", "kubernetes"];

/// Phrases whose first group is a name, and whose second group is its value.
static NAMED: LazyLock<Vec<Phrase>> = LazyLock::new(|| {
    let name = "[A-Za-z0-9_.-]+";
    let quoted = r#"("(?:[^"\\]|\\.)*"|'[^']*'|[^\s,;}\])>"']+)"#;
    let key = r#"["']?(?:name|key|header|property)["']?"#;
    vec![
        // `{"name": "X-Api-Key", "value": "…"}`, `name="password" value="…"`.
        Phrase::new(
            &["value", "content"],
            &format!(
                r#"\b{key}\s*[:=]\s*["']?({name})["']?\s*[,;]?\s*(?:["']?\w+["']?\s*:\s*["']?[\w/ -]*["']?\s*,\s*){{0,3}}["']?(?:value|content)["']?\s*[:=]\s*{quoted}"#
            ),
        ),
        // What `print_r` and `var_dump` show of a property.
        Phrase::new(&["=>"], &format!(r#"\[["']?({name})["']?:[^\]\s]*\]\s*=>\s*(\S.*)$"#)),
        // What `serialize()` writes.
        Phrase::new(&["s:"], &format!(r#"s:\d+:\\?"({name})\\?";s:\d+:(\\?"[^"]*")"#)),
        // A row of a table, as phpinfo() has it, and an entry of a property list.
        Phrase::new(
            &["</"],
            &format!(
                r#"({name})(?:\\?['"]\])?\s*(?:</\w+>\s*)+<(?:td|dd|string|value|code|pre|samp)\b[^>]*>\s*([^<]+)"#
            ),
        ),
        Phrase::new(&["|"], &format!(r"\|\s*[`*]*({name})[`*]*\s*\|\s*([^|\s]+)\s*\|")),
        // Columns: `DB_PASSWORD    hunter2`.
        Phrase::new(&["\t", "  "], r"^\s*([A-Z0-9]+_[A-Z0-9_]+)(?:\t+| {2,})(\S.*?)\s*$"),
    ]
});

/// Calls with a password among their arguments, as stack traces show them. The first group: those
/// whose first argument is a host or a DSN.
static CALLS: LazyLock<Regex> = LazyLock::new(|| {
    let with_host = "PDO(?:->|::)__construct|new \\\\?(?:PDO|mysqli)|\
                     mysqli?(?:->|::|_)(?:__construct|p?connect|real_connect)|\
                     pg_p?connect|ldap_bind|ftp_login|ssh2_auth_password|imap_open|odbc_connect|oci_p?connect";
    let others = "(?:->|::)(?:login|signIn|authenticate|auth|bind|basicAuth)|\
                  hash_hmac|crypt|openssl_(?:en|de)crypt|[A-Za-z_]*(?i:passw(?:or)?d)[A-Za-z_]*";
    Regex::new(&format!(r"(?:({with_host})|{others})\s*\(")).expect("they are well-formed")
});

/// A tag with its attributes and the text behind it.
static TAG: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"<([A-Za-z][\w:.-]*)((?:\s(?:[^<>"']|"[^"]*"|'[^']*')*)?)>([^<]*)"#)
        .expect("it is well-formed")
});
static ATTRIBUTE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"([\w:.-]+)\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+)"#).expect("it is well-formed")
});

/// Adds the places of such secrets in `line`.
pub(super) fn places(line: &str, places: &mut Vec<Range<usize>>) {
    for phrase in PHRASES.iter() {
        places.extend(phrase.find(line).filter_map(|found| group(&found, 1)));
    }
    let is_user =
        |found: &Captures<'_>| !NO_USERS.contains(&found[1].to_ascii_lowercase().as_str());
    let users = USER_AT_HOST.find(line).filter(is_user);
    places.extend(users.filter_map(|found| group(&found, 2)));
    for phrase in NAMED.iter() {
        let secret = phrase.find(line).filter(|found| is_secret(&found[1], &found[2]));
        places.extend(secret.filter_map(|found| group(&found, 2)));
    }
    if line.contains('(') {
        for found in CALLS.captures_iter(line) {
            let begin = found.get(0).map_or(0, |whole| whole.end());
            let skipped = usize::from(found.get(1).is_some());
            let texts = quoted_arguments(&line[begin..]).skip(skipped);
            places.extend(texts.map(|place| place.start + begin..place.end + begin));
        }
    }
    if line.contains('<') {
        TAG.captures_iter(line).for_each(|tag| of_tag(&tag, places));
    }
}

fn group(found: &Captures<'_>, number: usize) -> Option<Range<usize>> {
    let group = found.get(number)?;
    let is_secret = !is_public(group.as_str()) && !ends_in_one(group.as_str());
    is_secret.then(|| group.range())
}

fn is_secret(name: &str, value: &str) -> bool {
    secrecy_of(name).is_some() && !is_public(value) && (!is_weak(name) || is_token(value))
}

/// The places of the quoted texts up to the bracket that closes the arguments.
fn quoted_arguments(arguments: &str) -> impl Iterator<Item = Range<usize>> {
    let mut places = Vec::new();
    let mut open: Option<(char, usize)> = None;
    let mut depth = 0_u32;
    let mut escaped = false;
    for (at, letter) in arguments.char_indices() {
        match (letter, open) {
            _ if escaped => escaped = false,
            ('\\', Some(_)) => escaped = true,
            ('"' | '\'', None) => open = Some((letter, at)),
            ('"' | '\'', Some((quote, begin))) if quote == letter => {
                // What a nested call gets is its own.
                places.extend((depth == 0).then_some(begin..at + 1));
                open = None;
            }
            ('(', None) => depth += 1,
            (')', None) if depth == 0 => break,
            (')', None) => depth -= 1,
            _ => {}
        }
    }
    places.into_iter()
}

/// Adds the value of a tag whose name, or whose attribute with a name, means a secret.
fn of_tag(tag: &Captures<'_>, places: &mut Vec<Range<usize>>) {
    let (Some(attributes), Some(text)) = (tag.get(2), tag.get(3)) else { return };
    let plain = |value: &str| value.trim_matches(['"', '\'']).to_owned();
    let named: Vec<(String, String)> = ATTRIBUTE
        .captures_iter(attributes.as_str())
        .map(|found| (found[1].to_ascii_lowercase(), plain(&found[2])))
        .collect();
    let of = |keys: &[&str]| -> Vec<&str> {
        let those = named.iter().filter(|(key, _)| keys.contains(&key.as_str()));
        those.map(|(_, name)| name.as_str()).collect()
    };
    let names = of(&["name", "key", "id", "property", "type"]);
    for found in ATTRIBUTE.captures_iter(attributes.as_str()) {
        let is_value = ["value", "content", "default"].contains(&&*found[1].to_ascii_lowercase());
        if is_value && names.iter().any(|name| is_secret(name, &found[2])) {
            let value = found.get(2).map(|value| value.range()).unwrap_or_default();
            places.push(value.start + attributes.start()..value.end + attributes.start());
        }
    }
    let is_closed = text.end() > text.start() && !text.as_str().trim().is_empty();
    let element = tag[1].rsplit(':').next().unwrap_or_default();
    let mut names = of(&["name", "key", "property"]).into_iter().chain([element]);
    let is_form = ["meta", "input", "select", "button", "a", "form", "img", "option"];
    let is_data = !is_form.contains(&tag[1].to_ascii_lowercase().as_str());
    if is_closed && is_data && names.any(|name| is_secret(name, text.as_str())) {
        places.push(text.range());
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
    fn secrets_at_known_places_are_masked() {
        for (text, expected) in [
            ("mysql -ujoe -phunter2 shop", "mysql -ujoe -p*** shop"),
            ("mysqldump --host db -p'hunter 2' x", "mysqldump --host db -p*** x"),
            ("curl -s -u joe:hunter2 http://a/", "curl -s -u *** http://a/"),
            ("redis-cli -h db -a hunter2 ping", "redis-cli -h db -a *** ping"),
            ("sshpass -p hunter2 ssh x", "sshpass -p *** ssh x"),
            ("machine a login joe password hunter2", "machine a login joe password ***"),
            ("CREATE USER a IDENTIFIED BY 'hunter2';", "CREATE USER a IDENTIFIED BY ***;"),
            ("the password 'hunter2' is wrong", "the password *** is wrong"),
            ("root:hunter2@tcp(db:3306)/shop", "root:***@tcp(db:3306)/shop"),
            ("db=joe:hunter2@db.test:3306/shop", "db=joe:***@db.test:3306/shop"),
            (
                "https://hooks.slack.com/services/T1/B1/abc now",
                "https://hooks.slack.com/services/*** now",
            ),
            ("{name: DB_PASS, value: hunter2}", "{name: DB_PASS, value: ***}"),
            ("<add key=\"ApiKey\" value=\"hunter2\"/>", "<add key=\"ApiKey\" value=***/>"),
            (
                "<input value=\"hunter2\" id=\"a\" type='password'>",
                "<input value=*** id=\"a\" type='password'>",
            ),
            (
                "<meta name=\"csrf-token\" content=\"hunter2\">",
                "<meta name=\"csrf-token\" content=***>",
            ),
            ("<password>hunter2</password>", "<password>***</password>"),
            (
                "<stringProp name=\"AuthManager.password\">hunter2</stringProp>",
                "<stringProp name=\"AuthManager.password\">***</stringProp>",
            ),
            (
                "<tr><td class=\"e\">DB_PASSWORD </td><td class=\"v\">hunter2 </td></tr>",
                "<tr><td class=\"e\">DB_PASSWORD </td><td class=\"v\">***</td></tr>",
            ),
            ("| DB_PASSWORD | hunter2 |", "| DB_PASSWORD | *** |"),
            ("  DB_PASSWORD\thunter2", "  DB_PASSWORD\t***"),
            ("[token:protected] => hunter2", "[token:***] => ***"),
            (
                "#0 /a.php(3): PDO->__construct('mysql:host=db', 'root', 'hunter2', Array)",
                "#0 /a.php(3): PDO->__construct('mysql:host=db', ***, ***, Array)",
            ),
            ("s:8:\"password\";s:7:\"hunter2\";", "s:8:\"password\";s:7:***;"),
            ("--login ann:hunter2 --json", "--login *** --json"),
            (
                "composer config http-basic.a.test joe hunter2",
                "composer config http-basic.a.test joe ***",
            ),
            ("requirepass hunter2", "requirepass ***"),
            ("User->setPassword('hunter2') at", "User->setPassword(***) at"),
            ("SET PASSWORD = PASSWORD('hunter2')", "SET PASSWORD = ******)"),
        ] {
            assert_eq!(mask(text), expected, "{text}");
        }
    }

    #[test]
    fn other_sentences_stay() {
        for text in [
            "mailto:joe@example.org and ssh:joe@host.test",
            "at 10:20@noon, ratio 3:4",
            "password is required, the password reset, unexpected token \"}\"",
            "Auth::user() in /srv/Auth.php:12, Auth::attempt($x), login(1)",
            "<label for=\"password\">Password</label> <input type=\"password\" name=\"password\">",
            "<div id=\"session\">Sign in to your account please</div> <a name=\"token\">x</a>",
            "mysql --port 3306 -P 3306 -v, php -p, curl -u",
            "| runtime | requests/s |\n| nginx-fpm | 1 157 |",
            "new PDO(getenv('DATABASE_DSN'), getenv('DATABASE_USER'))",
            "--login /login, --login 'NAME'",
            "image: php:8.2-fpm@sha256:abc",
        ] {
            assert_eq!(mask(text), text);
        }
    }
}
