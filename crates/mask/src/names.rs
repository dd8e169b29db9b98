//! Decides which names have a secret as their value.
//!
//! A name is split into words: `_`, `-`, `.` and a change of case end a word. So `STRIPE_KEY`,
//! `stripeKey` and `stripe-key` contain the word `key`, and `MONKEY` does not. In doubt, a value is
//! masked. Keys of php.ini have a list of their own (`php_ini`).

use super::php_ini;

/// Words that by themselves mean a secret.
const WORDS: [&str; 53] = [
    "pass",
    "passw",
    "passe",
    "pword",
    "pswd",
    "psw",
    "mdp",
    "kennwort",
    "senha",
    "haslo",
    "clave",
    "parola",
    "wachtwoord",
    "nonce",
    "wpnonce",
    "jsessionid",
    "pw",
    "pwd",
    "passkey",
    "passwort",
    "key",
    "dsn",
    "auth",
    "oauth",
    "oauth2",
    "creds",
    "cred",
    "private",
    "salt",
    "pepper",
    "signature",
    "sig",
    "hmac",
    "jwt",
    "bearer",
    "cookie",
    "cookies",
    "authorization",
    "sid",
    "sess",
    "sessid",
    "phpsessid",
    "sessionid",
    "webhook",
    "webhooks",
    "csrf",
    "xsrf",
    "otp",
    "totp",
    "connectionstring",
    "connstr",
    "passwds",
    "psk",
];

/// Successive words that mean a secret.
const PAIRS: [(&str, &str); 6] = [
    ("session", "id"),
    ("connection", "string"),
    ("web", "hook"),
    ("session", "cookie"),
    ("saml", "response"),
    ("saml", "request"),
];

/// Parts of a name without its separators. No harmless name contains them.
const PARTS: [&str; 20] = [
    "passwrd",
    "motdepasse",
    "contrasen",
    "apikeys",
    "sharedaccess",
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "secret",
    "token",
    "credential",
    "apikey",
    "accesskey",
    "privatekey",
    "appkey",
    "encryptionkey",
    "secretkey",
    "authkey",
    "sessionid",
];

/// Last words of a name whose value is the id of a visitor. Before another word they name a setting:
/// `SESSION_DRIVER`, `session_table`.
const LAST: [&str; 2] = ["session", "sessions"];

/// Ends of a word, as in `dbpass`, `requirepass`, `redisauth`.
const ENDS: [&str; 5] = ["pass", "pwd", "dsn", "auth", "pw"];

/// Words with such an end or part that do not mean a secret.
const INNOCENT: [&str; 12] = [
    "compass",
    "bypass",
    "tokenize",
    "tokenized",
    "secretary",
    "trespass",
    "overpass",
    "underpass",
    "surpass",
    "encompass",
    "tokenizer",
    "multipass",
];

/// Last words of names that only describe a secret, such as its length or place. Also file endings
/// after which a line number follows: `Auth.php:12`.
const ABOUT: [&str; 123] = [
    "mode",
    "type",
    "driver",
    "prefix",
    "length",
    "size",
    "ttl",
    "lifetime",
    "timeout",
    "count",
    "limit",
    "algo",
    "algorithm",
    "method",
    "host",
    "port",
    "class",
    "provider",
    "version",
    "format",
    "domain",
    "path",
    "name",
    "samesite",
    "secure",
    "httponly",
    "enabled",
    "expires",
    "file",
    "dir",
    "table",
    "field",
    "guard",
    "header",
    "cost",
    "rounds",
    "expiration",
    "yaml",
    "yml",
    "php",
    "json",
    "xml",
    "ini",
    "conf",
    "txt",
    "log",
    "html",
    "js",
    "ts",
    "css",
    "twig",
    "md",
    "sh",
    "rs",
    "character",
    "tags",
    "hosts",
    "age",
    "adapter",
    "alive",
    "backend",
    "bits",
    "bytes",
    "charset",
    "check",
    "connection",
    "connections",
    "created",
    "deadline",
    "disabled",
    "divisor",
    "encoding",
    "endpoint",
    "exists",
    "expire",
    "expired",
    "expiry",
    "fields",
    "guards",
    "handler",
    "interval",
    "issuer",
    "iterations",
    "kind",
    "label",
    "lifespan",
    "limiter",
    "locale",
    "max",
    "maxlength",
    "min",
    "missing",
    "model",
    "models",
    "names",
    "options",
    "permitted",
    "policy",
    "position",
    "probability",
    "protection",
    "realm",
    "refresh",
    "regex",
    "required",
    "retries",
    "scheme",
    "scope",
    "scopes",
    "seconds",
    "storage",
    "store",
    "strategy",
    "strength",
    "supported",
    "tables",
    "timeouts",
    "usage",
    "valid",
    "validation",
    "verified",
    "views",
    "width",
];

/// Words before `pass` that make it an address of a web server: `proxy_pass http://…`.
const OF_NO_PASSWORD: [&str; 6] = ["proxy", "fastcgi", "uwsgi", "scgi", "grpc", "memcached"];

/// Words before `key` that make it the key of a table, a page or a sort order.
const OF_NO_LOCK: [&str; 32] = [
    "sort",
    "sorting",
    "page",
    "order",
    "group",
    "filter",
    "search",
    "cache",
    "primary",
    "foreign",
    "index",
    "row",
    "item",
    "partition",
    "lookup",
    "array",
    "unique",
    "hash",
    "range",
    "cluster",
    "composite",
    "natural",
    "surrogate",
    "routing",
    "translation",
    "message",
    "locale",
    "object",
    "dict",
    "map",
    "registry",
    "public",
];

/// Whether a name such as `key`, `sort_key` or `session` may have a secret or a plain word. The value decides.
pub fn is_weak(name: &str) -> bool {
    match words(name).as_slice() {
        [name] => ["key", "session", "sessions"].contains(&name.as_str()),
        [before, key] if key == "key" => OF_NO_LOCK.contains(&before.as_str()),
        [.., last] => last == KEYS,
        [] => false,
    }
}

/// Last word of names such as `STRIPE_KEYS`, and of counts: `expired_keys`.
const KEYS: &str = "keys";

/// How far a secret reaches after its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrecy {
    /// One word or one quoted text after `=`, `:` or `=>`.
    Value,
    /// Everything up to the end of the line or of the quoted text, because headers contain blanks.
    Line,
    /// The next word, as in `Bearer abc`.
    NextWord,
}

/// Returns how far the secret after `name` reaches; `None`: the value is not secret.
pub fn secrecy_of(name: &str) -> Option<Secrecy> {
    if let Some(is_secret) = php_ini::is_secret(name) {
        return is_secret.then_some(Secrecy::Value);
    }
    let words = words(name);
    let last = words.last().map(String::as_str)?;
    if words.len() == 1 && ["bearer", "basic"].contains(&last) {
        return Some(Secrecy::NextWord);
    }
    if ["authorization", "cookie"].contains(&last) {
        return Some(Secrecy::Line);
    }
    is_secret(&words, last).then_some(Secrecy::Value)
}

fn is_secret(words: &[String], last: &str) -> bool {
    if words.len() > 1 && ABOUT.contains(&last) || is_of_web_server(words, last) {
        return false;
    }
    let words: Vec<&str> =
        words.iter().map(String::as_str).filter(|word| !INNOCENT.contains(word)).collect();
    let ends =
        |word: &&str| ENDS.iter().any(|end| word.len() > end.len() + 1 && word.ends_with(end));
    let joined = words.concat();
    words.iter().any(|word| WORDS.contains(word) || ends(word))
        || LAST.contains(&last)
        || is_of_keys(&words, last)
        || words.windows(2).any(|two| PAIRS.contains(&(two[0], two[1])))
        || PARTS.iter().any(|part| joined.contains(part))
}

fn is_of_keys(words: &[&str], last: &str) -> bool {
    let before = words.len().checked_sub(2).map(|at| words[at]);
    last == KEYS && before.is_some_and(|before| !OF_NO_LOCK.contains(&before))
}

fn is_of_web_server(words: &[String], last: &str) -> bool {
    let before = words.len().checked_sub(2).map(|at| words[at].as_str());
    last == "pass" && before.is_some_and(|before| OF_NO_PASSWORD.contains(&before))
}

/// Splits a name into words in lower case. Digits at the end of a word, as in `PASSWORD2`, are
/// dropped.
fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (at, &letter) in letters.iter().enumerate() {
        if !letter.is_ascii_alphanumeric() {
            words.push(String::new());
            continue;
        }
        let before = at.checked_sub(1).map(|before| letters[before]);
        let next = letters.get(at + 1);
        // As in `apiKey` and `APIKey`.
        let begins = letter.is_ascii_uppercase()
            && before.is_some_and(|before| {
                before.is_ascii_lowercase()
                    || before.is_ascii_uppercase() && next.is_some_and(char::is_ascii_lowercase)
            });
        if begins {
            words.push(String::new());
        }
        words.last_mut().expect("there is a first").push(letter.to_ascii_lowercase());
    }
    let plain =
        words.iter().map(|word| word.trim_end_matches(|letter: char| letter.is_ascii_digit()));
    plain.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_recognised() {
        let secret = "DB_PASS DB_PASSWORD dbPassword db-password db.password PASSWD MYSQL_PWD dbpass requirepass \
                      PGPASSWORD API_KEY apiKey APIKey api-key STRIPE_KEY stripeKey APP_KEY AWS_SECRET_ACCESS_KEY \
                      AWS_SESSION_TOKEN MAILER_DSN SENTRY_DSN auth redis.auth AUTH_TOKEN OAUTH_CLIENT_SECRET \
                      credentials PRIVATE_PEM salt APP_SALT X-Signature sig PHPSESSID session_id sessionId sid \
                      SLACK_WEBHOOK_URL X-XSRF-TOKEN jwt mysqli.default_pw key PASSWORD2 DB2_PASS1 access_token \
                      Authorization Set-Cookie HTTP_COOKIE laravel_session_cookie passphrase secret1 laravel_session \
                      MY-SESSION session newrelic.license userPwd DB_PSK x.y.auth cookies HTTPProxyAuth \
                      STRIPE_KEYS api-keys mot_de_passe contrasena1 _wpnonce SAMLResponse JSESSIONID AWSAccessKeyId \
                      X-Amz-Signature SharedAccessKey AccountKey DB_PSWD";
        for name in secret.split_whitespace() {
            assert!(secrecy_of(name).is_some(), "{name}");
        }
    }

    #[test]
    fn harmless_names_are_not_secret() {
        let harmless = "KEYBOARD MONKEY AUTHOR AUTHORITY COMPASS_DIR compass BYPASS bypassCache cache_key_prefix \
                        tokenizer passive PASSENGER_COUNT KEYWORDS session.cookie_samesite session.use_strict \
                        session.name session.save_path session.trans_sid_tags donkey turkey hockey APP_ENV DATABASE_URL host \
                        opcache.validate_timestamps Auth.php append-as-a-key.yaml assign design AUTH_DRIVER TOKEN_TTL author authors keepalive keep_alive \
                        keepAlive session.gc_probability session.gc_maxlifetime SESSION_DRIVER session_table cookie_lifetime \
                        CacheKeyPrefix proxy_pass fastcgi_pass key_exists auth_required passengers passed key_length \
                        opcache.interned_strings_buffer password_max_age tokenized SESSION_LIFETIME sessionless monkeys \
                        monkey_patch authored passage keyed hotkeys";
        for name in harmless.split_whitespace() {
            assert_eq!(secrecy_of(name), None, "{name}");
        }
    }
}
