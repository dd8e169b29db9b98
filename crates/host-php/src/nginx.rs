//! Reads nginx's configuration: the tokens of its syntax, its includes, and what holds for each site.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::setting::{Place, Setting, Settings};
use crate::tree::Tree;

/// A site of nginx: a `server` block.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Site {
    /// Where it begins.
    pub at: Place,
    /// Its names.
    pub names: Vec<String>,
    /// The directory of its public files.
    pub root: Option<String>,
    /// Where PHP listens, as written: `unix:/run/php/php8.2-fpm.sock`, or what an upstream names.
    pub php: Option<String>,
    /// Whether it is the one for hosts that no site names.
    pub is_default: bool,
    /// What is in force for it: its own directives, then those of `http`, by name.
    pub settings: Settings,
}

/// What nginx is set up for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Nginx {
    /// Directives outside of `http`: `worker_processes`, `worker_connections`.
    pub settings: Settings,
    /// What is in force for all sites.
    pub http: Settings,
    /// The sites that pass requests to PHP by FastCGI.
    pub sites: Vec<Site>,
}

/// A directive with its arguments and its block.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Directive {
    name: String,
    args: Vec<String>,
    block: Vec<Directive>,
    at: Place,
}

/// The directives that change how fast a site is, or what it lets through.
const WATCHED: [&str; 28] = [
    "access_log",
    "client_body_buffer_size",
    "client_max_body_size",
    "fastcgi_buffer_size",
    "fastcgi_buffering",
    "fastcgi_buffers",
    "fastcgi_busy_buffers_size",
    "fastcgi_cache",
    "fastcgi_keep_conn",
    "fastcgi_read_timeout",
    "fastcgi_request_buffering",
    "fastcgi_send_timeout",
    "gzip",
    "keepalive_requests",
    "keepalive_timeout",
    "large_client_header_buffers",
    "open_file_cache",
    "open_file_cache_errors",
    "open_file_cache_min_uses",
    "open_file_cache_valid",
    "output_buffers",
    "postpone_output",
    "reset_timedout_connection",
    "root",
    "sendfile",
    "sendfile_max_chunk",
    "tcp_nodelay",
    "tcp_nopush",
];
/// Those of compression, besides its switch.
pub(crate) const GZIP: [&str; 8] = [
    "gzip_buffers",
    "gzip_comp_level",
    "gzip_disable",
    "gzip_http_version",
    "gzip_min_length",
    "gzip_proxied",
    "gzip_types",
    "gzip_vary",
];

fn is_watched(name: &str) -> bool {
    WATCHED.contains(&name) || GZIP.contains(&name)
}
/// The most blocks inside each other, and files that include each other.
const DEPTH_MAX: u32 = 20;
/// The directory of relative includes.
const PREFIXES: [&str; 2] = ["/etc/nginx", "/usr/local/nginx/conf"];

/// Reads nginx's configuration; `None`: there is none.
pub(crate) fn nginx(tree: &Tree) -> Option<Nginx> {
    let prefix = PREFIXES.iter().find(|prefix| tree.is_file(&format!("{prefix}/nginx.conf")))?;
    let all = file(tree, prefix, &format!("{prefix}/nginx.conf"), 0);
    let mut nginx = Nginx::default();
    let mut upstreams = BTreeMap::new();
    for directive in &all {
        match directive.name.as_str() {
            "worker_processes" => keep(&mut nginx.settings, directive),
            "events" => directive
                .block
                .iter()
                .filter(|inner| inner.name == "worker_connections")
                .for_each(|inner| keep(&mut nginx.settings, inner)),
            "http" => http(directive, &mut nginx, &mut upstreams),
            _ => {}
        }
    }
    for site in &mut nginx.sites {
        let Some(php) = site.php.take() else { continue };
        let upstream: Option<&Upstream> = upstreams.get(php.as_str());
        if let Some(keepalive) = upstream.and_then(|upstream| upstream.keepalive.clone()) {
            site.settings.insert("upstream keepalive".to_owned(), keepalive);
        }
        site.php = upstream.map_or(Some(php), |upstream| upstream.server.clone());
    }
    nginx.sites.retain(|site| site.php.is_some());
    Some(nginx)
}

/// Servers with a name.
#[derive(Default)]
struct Upstream {
    server: Option<String>,
    keepalive: Option<Setting>,
}

fn http(http: &Directive, nginx: &mut Nginx, upstreams: &mut BTreeMap<String, Upstream>) {
    let mut common = Settings::new();
    for directive in http.block.iter().filter(|one| is_watched(&one.name)) {
        keep(&mut common, directive);
    }
    nginx.http.clone_from(&common);
    for directive in &http.block {
        match (directive.name.as_str(), directive.args.first()) {
            ("upstream", Some(name)) => {
                let mut upstream = Upstream::default();
                for inner in &directive.block {
                    match inner.name.as_str() {
                        "server" if upstream.server.is_none() => {
                            upstream.server = inner.args.first().cloned();
                        }
                        "keepalive" => upstream.keepalive = Some(setting(inner)),
                        _ => {}
                    }
                }
                upstreams.insert(name.clone(), upstream);
            }
            ("server", _) => nginx.sites.push(site(directive, &common)),
            _ => {}
        }
    }
}

fn site(server: &Directive, common: &Settings) -> Site {
    let mut site = Site { at: server.at.clone(), settings: common.clone(), ..Site::default() };
    for directive in &server.block {
        match directive.name.as_str() {
            "server_name" => site.names.clone_from(&directive.args),
            "listen" => {
                site.is_default |=
                    directive.args.iter().any(|arg| arg == "default_server" || arg == "default");
            }
            "location" => location(directive, &mut site, 0),
            name if is_watched(name) => keep(&mut site.settings, directive),
            _ => {}
        }
    }
    site.root = site.settings.remove("root").map(|root| root.value);
    site
}

/// What the location says in which PHP is asked. Other locations do not matter.
fn location(location: &Directive, site: &mut Site, depth: u32) {
    let inner = |name: &str| location.block.iter().find(|directive| directive.name == name);
    if let Some(pass) = inner("fastcgi_pass").filter(|_| site.php.is_none()) {
        site.php = pass.args.first().cloned();
        for directive in &location.block {
            if is_watched(&directive.name) {
                keep(&mut site.settings, directive);
            }
        }
    }
    for directive in location.block.iter().filter(|inner| inner.name == "location") {
        if depth < DEPTH_MAX {
            self::location(directive, site, depth + 1);
        }
    }
}

fn setting(directive: &Directive) -> Setting {
    let value = directive.args.join(" ");
    let is_known = !value.contains('$');
    Setting { value, at: directive.at.clone(), is_known }
}

fn keep(settings: &mut Settings, directive: &Directive) {
    settings.insert(directive.name.clone(), setting(directive));
}

fn file(tree: &Tree, prefix: &str, path: &str, depth: u32) -> Vec<Directive> {
    let Some(text) = tree.text(path).filter(|_| depth < DEPTH_MAX) else { return Vec::new() };
    let mut tokens = Tokens { bytes: text.as_bytes(), at: 0, line: 1, file: path };
    let directives = tokens.block(0);
    included(tree, prefix, directives, depth)
}

/// Puts what a file includes in its place.
fn included(tree: &Tree, prefix: &str, directives: Vec<Directive>, depth: u32) -> Vec<Directive> {
    let mut all = Vec::new();
    for mut directive in directives {
        if directive.name != "include" {
            directive.block = included(tree, prefix, directive.block, depth);
            all.push(directive);
            continue;
        }
        let Some(pattern) = directive.args.first() else { continue };
        let pattern = match pattern.starts_with('/') {
            true => pattern.clone(),
            false => format!("{prefix}/{pattern}"),
        };
        for path in tree.glob(&pattern) {
            all.extend(file(tree, prefix, &path, depth + 1));
        }
    }
    all
}

struct Tokens<'a> {
    bytes: &'a [u8],
    at: usize,
    line: u32,
    file: &'a str,
}

/// A token of nginx's syntax.
enum Token {
    Word(String),
    Open,
    Close,
    End,
}

impl Tokens<'_> {
    fn next(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        self.line += u32::from(byte == b'\n');
        Some(byte)
    }

    fn token(&mut self) -> Option<Token> {
        loop {
            match self.next()? {
                b'#' => while self.next()? != b'\n' {},
                b';' => return Some(Token::End),
                b'{' => return Some(Token::Open),
                b'}' => return Some(Token::Close),
                quote @ (b'"' | b'\'') => return self.quoted(quote).map(Token::Word),
                byte if byte.is_ascii_whitespace() => {}
                first => return Some(Token::Word(self.word(first))),
            }
        }
    }

    fn word(&mut self, first: u8) -> String {
        let mut word = vec![first];
        while let Some(byte) = self.bytes.get(self.at).copied() {
            let is_variable = byte == b'{' && word.last() == Some(&b'$');
            if is_variable {
                while let Some(byte) = self.next() {
                    word.push(byte);
                    if byte == b'}' {
                        break;
                    }
                }
                continue;
            }
            if byte.is_ascii_whitespace() || b";{".contains(&byte) {
                break;
            }
            self.next();
            word.push(byte);
            if byte == b'\\' {
                word.extend(self.next());
            }
        }
        String::from_utf8_lossy(&word).into_owned()
    }

    fn quoted(&mut self, quote: u8) -> Option<String> {
        let mut text = Vec::new();
        loop {
            match self.next()? {
                byte if byte == quote => return Some(String::from_utf8_lossy(&text).into_owned()),
                b'\\' => match self.next()? {
                    byte @ (b'"' | b'\'' | b'\\') => text.push(byte),
                    byte => text.extend([b'\\', byte]),
                },
                byte => text.push(byte),
            }
        }
    }

    /// The directives up to the end of the block, or of the file.
    fn block(&mut self, depth: u32) -> Vec<Directive> {
        let mut all = Vec::new();
        let mut words: Vec<String> = Vec::new();
        let mut line = 1;
        while let Some(token) = self.token() {
            match token {
                Token::Word(word) => {
                    if words.is_empty() {
                        line = self.line;
                    }
                    words.push(word);
                }
                Token::Close => return all,
                Token::End | Token::Open => {
                    let is_open = matches!(token, Token::Open);
                    let mut words = std::mem::take(&mut words).into_iter();
                    let name = words.next().unwrap_or_default();
                    let block = match is_open {
                        // Code of Lua has other rules; it is left out.
                        true if name.ends_with("_by_lua_block") || depth >= DEPTH_MAX => {
                            self.skip_block();
                            Vec::new()
                        }
                        true => self.block(depth + 1),
                        false => Vec::new(),
                    };
                    let at = Place { file: self.file.to_owned(), line };
                    all.push(Directive { name, args: words.collect(), block, at });
                }
            }
        }
        all
    }

    fn skip_block(&mut self) {
        let mut open = 1;
        while let Some(byte) = self.next().filter(|_| open > 0) {
            open += i32::from(byte == b'{') - i32::from(byte == b'}');
            if open == 0 {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::tests::tree;

    #[test]
    fn what_is_in_force_for_a_site_comes_from_all_levels() {
        let root = tree(&[
            (
                "etc/nginx/nginx.conf",
                "user www-data;\nworker_processes auto;\nevents { worker_connections 768; }\nhttp {\n  sendfile on; keepalive_timeout 65;\n  include /etc/nginx/sites-enabled/*;\n}\n",
            ),
            (
                "etc/nginx/snippets/php.conf",
                "fastcgi_buffers 8 32k; # more\nfastcgi_split_path_info ^(.+\\.php)(/.+)$;\n",
            ),
            (
                "etc/nginx/sites-enabled/shop",
                "upstream app { server unix:/run/php/shop.sock; keepalive 8; }\nserver {\n  listen 80 default_server; server_name \"shop.test\" www.shop.test;\n  root /var/www/shop/public;\n  client_max_body_size 100M;\n  location ~ \\.php$ { include snippets/php.conf; fastcgi_pass app; fastcgi_keep_conn on; }\n}\nserver { root /srv/static; location / { return 200 'a;b{'; } }\n",
            ),
        ]);
        let nginx = nginx(&Tree::new(root.path())).expect("nginx");
        assert_eq!(nginx.settings["worker_connections"].value, "768");
        let [site] = nginx.sites.as_slice() else { panic!("{:?}", nginx.sites) };
        assert_eq!(site.names, ["shop.test", "www.shop.test"]);
        assert_eq!(site.root.as_deref(), Some("/var/www/shop/public"));
        assert_eq!(site.php.as_deref(), Some("unix:/run/php/shop.sock"));
        assert!(site.is_default);
        let value = |name: &str| site.settings[name].value.as_str();
        assert_eq!(value("fastcgi_buffers"), "8 32k");
        assert_eq!(value("keepalive_timeout"), "65");
        assert_eq!(value("client_max_body_size"), "100M");
        assert_eq!(value("upstream keepalive"), "8");
        let at = &site.settings["fastcgi_buffers"].at;
        assert_eq!((at.file.as_str(), at.line), ("/etc/nginx/snippets/php.conf", 1));
    }

    #[test]
    fn a_file_that_includes_itself_ends() {
        let root = tree(&[("etc/nginx/nginx.conf", "include nginx.conf; http { }")]);
        assert_eq!(nginx(&Tree::new(root.path())).expect("nginx").sites, []);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[a-z{};\"'\\\\#$ \n]{0,80}") {
            let mut tokens = Tokens { bytes: text.as_bytes(), at: 0, line: 1, file: "" };
            tokens.block(0);
        }
    }
}
