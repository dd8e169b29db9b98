//! Reads Apache's configuration: its modules, its limits, and its sites with PHP.

use serde::Serialize;

use crate::nginx::Site;
use crate::setting::{Place, Setting, Settings};
use crate::tree::Tree;

/// What Apache is set up for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Apache {
    /// The modules that are loaded, without `_module`: `mpm_event`, `php`.
    pub modules: Vec<String>,
    /// Limits and timeouts of the whole server.
    pub settings: Settings,
    /// `php_value` and its like, outside of a site.
    pub php: Settings,
    /// Its sites. [`Site::php`] is the address of PHP-FPM; `None`: PHP is inside Apache, or absent.
    pub sites: Vec<Site>,
    /// The address of PHP-FPM for all sites; `None`: there is none.
    pub fpm: Option<String>,
}

impl Apache {
    /// Whether PHP is inside Apache.
    pub fn has_modphp(&self) -> bool {
        self.modules.iter().any(|name| name.starts_with("php"))
    }
}

/// The main files of Debian and of Red Hat, with the directory of relative includes.
const FILES: [(&str, &str); 3] = [
    ("/etc/apache2/apache2.conf", "/etc/apache2"),
    ("/etc/httpd/conf/httpd.conf", "/etc/httpd"),
    ("/usr/local/apache2/conf/httpd.conf", "/usr/local/apache2"),
];
/// The directives, in lower case, that change how fast Apache is.
const WATCHED: [(&str, &str); 16] = [
    ("customlog", "CustomLog"),
    ("enablesendfile", "EnableSendfile"),
    ("hostnamelookups", "HostnameLookups"),
    ("keepalive", "KeepAlive"),
    ("keepalivetimeout", "KeepAliveTimeout"),
    ("maxconnectionsperchild", "MaxConnectionsPerChild"),
    ("maxkeepaliverequests", "MaxKeepAliveRequests"),
    ("maxrequestworkers", "MaxRequestWorkers"),
    ("maxspareservers", "MaxSpareServers"),
    ("maxsparethreads", "MaxSpareThreads"),
    ("minspareservers", "MinSpareServers"),
    ("minsparethreads", "MinSpareThreads"),
    ("serverlimit", "ServerLimit"),
    ("startservers", "StartServers"),
    ("threadlimit", "ThreadLimit"),
    ("threadsperchild", "ThreadsPerChild"),
];
/// The most files that include each other.
const DEPTH_MAX: u32 = 10;

/// Reads Apache's configuration; `None`: there is none.
pub(crate) fn apache(tree: &Tree) -> Option<Apache> {
    let (file, prefix) = FILES.iter().find(|(file, _)| tree.is_file(file))?;
    let mut reader = Reader { tree, prefix, apache: Apache::default(), site: None, skipped: 0 };
    // Modules come first: `<IfModule>` may stand before the line that loads one.
    reader.file(file, Pass::Modules, 0);
    reader.file(file, Pass::Settings, 0);
    Some(reader.apache)
}

/// What is read: a file is read twice.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pass {
    Modules,
    Settings,
}

struct Reader<'a> {
    tree: &'a Tree,
    prefix: &'a str,
    apache: Apache,
    site: Option<Site>,
    /// Open sections that do not hold here.
    skipped: u32,
}

impl Reader<'_> {
    fn file(&mut self, path: &str, pass: Pass, depth: u32) {
        let Some(text) = self.tree.text(path).filter(|_| depth < DEPTH_MAX) else { return };
        let (mut whole, mut begin) = (String::new(), 0);
        for (number, line) in (1..).zip(text.lines()) {
            if whole.is_empty() {
                begin = number;
            }
            // A backslash continues the line.
            if let Some(part) = line.trim().strip_suffix('\\') {
                whole = whole + part + " ";
                continue;
            }
            let line = std::mem::take(&mut whole) + line.trim();
            let words = words(&line);
            let Some((name, args)) = words.split_first() else { continue };
            if name.starts_with('#') {
                continue;
            }
            let at = Place { file: path.to_owned(), line: begin };
            self.line(&name.to_ascii_lowercase(), args, at, pass, depth);
        }
    }

    fn line(&mut self, name: &str, args: &[String], at: Place, pass: Pass, depth: u32) {
        if name.starts_with("</") {
            self.close(name, pass);
        } else if let Some(section) = name.strip_prefix('<') {
            self.open(section, args, at, pass);
        } else if self.skipped > 0 {
            // Nothing inside holds.
        } else if name == "include" || name == "includeoptional" {
            let Some(pattern) = args.first() else { return };
            let pattern = match pattern.starts_with('/') {
                true => pattern.clone(),
                false => format!("{}/{pattern}", self.prefix),
            };
            for path in self.tree.glob(&pattern) {
                self.file(&path, pass, depth + 1);
            }
        } else if name == "loadmodule" && pass == Pass::Modules {
            let module = args.first().map(|name| name.trim_end_matches("_module").to_owned());
            self.apache.modules.extend(module);
        } else if pass == Pass::Settings {
            self.set(name, args, at);
        }
    }

    /// A section that does not hold is counted until its end, with those inside it.
    fn open(&mut self, section: &str, args: &[String], at: Place, pass: Pass) {
        let argument = args.first().map_or("", |arg| arg.trim_end_matches('>'));
        let holds = match section {
            "ifmodule" => self.has_module(argument),
            "ifdefine" => argument.starts_with('!'),
            _ => true,
        };
        if self.skipped > 0 || !holds {
            // Only conditions are counted: other sections change nothing.
            self.skipped += u32::from(section.starts_with("if"));
        } else if section == "virtualhost" && pass == Pass::Settings {
            let is_default = self.apache.sites.is_empty();
            self.site = Some(Site { at, is_default, ..Site::default() });
        }
    }

    fn close(&mut self, name: &str, pass: Pass) {
        if self.skipped > 0 {
            self.skipped -= u32::from(name.starts_with("</if"));
        } else if name.starts_with("</virtualhost") && pass == Pass::Settings {
            self.apache.sites.extend(self.site.take());
        }
    }

    /// `mpm_event_module`, `mod_rewrite.c`, `!mod_php.c`.
    fn has_module(&self, name: &str) -> bool {
        let (is_not, name) = match name.strip_prefix('!') {
            Some(name) => (true, name),
            None => (false, name),
        };
        let plain = name.trim_end_matches(".c").trim_end_matches("_module");
        let plain = plain.strip_prefix("mod_").unwrap_or(plain);
        // Debian builds these in; Red Hat loads them.
        let built_in =
            ["core", "so", "http", "http_core", "unixd", "log_config", "version", "watchdog"];
        let plain = match plain {
            "prefork" | "worker" | "event" => format!("mpm_{plain}"),
            other => other.to_owned(),
        };
        let is_in = self.apache.modules.contains(&plain) || built_in.contains(&plain.as_str());
        is_in != is_not
    }

    fn set(&mut self, name: &str, args: &[String], at: Place) {
        let value = args.join(" ");
        let is_known = !value.contains("${");
        let first = args.first().cloned().unwrap_or_default();
        match name {
            "documentroot" => {
                let root = first.trim_end_matches('/').to_owned();
                match &mut self.site {
                    Some(site) => site.root = Some(root),
                    None => {
                        // The main server is a site, too.
                        let site = Site { at, root: Some(root), ..Site::default() };
                        self.apache.sites.push(site);
                    }
                }
            }
            "servername" | "serveralias" => {
                if let Some(site) = &mut self.site {
                    site.names.extend(args.iter().cloned());
                }
            }
            "sethandler" | "proxypassmatch" | "proxypass" => {
                if let Some(address) = args.iter().find_map(|arg| fpm_address(arg)) {
                    match &mut self.site {
                        Some(site) => site.php = Some(address),
                        None => self.apache.fpm = Some(address),
                    }
                }
            }
            "php_value" | "php_admin_value" | "php_flag" | "php_admin_flag" => {
                let value = args.get(1..).unwrap_or_default().join(" ");
                let value = flag(name, value);
                crate::setting::learn(&first, &value);
                let setting = Setting { value, at, is_known };
                match &mut self.site {
                    Some(site) => site.settings.insert(format!("php {first}"), setting),
                    None => self.apache.php.insert(first, setting),
                };
            }
            _ => {
                let Some((_, name)) = WATCHED.iter().find(|(lower, _)| *lower == name) else {
                    return;
                };
                let settings = match &mut self.site {
                    Some(site) => &mut site.settings,
                    None => &mut self.apache.settings,
                };
                settings.insert((*name).to_owned(), Setting { value, at, is_known });
            }
        }
    }
}

/// `php_flag` takes `on` and `off`; PHP has 1 and 0.
fn flag(name: &str, value: String) -> String {
    match (name.contains("flag"), value.to_ascii_lowercase().as_str()) {
        (true, "on" | "1" | "true" | "yes") => "1".to_owned(),
        (true, _) => "0".to_owned(),
        _ => value,
    }
}

/// `unix:/run/php/php8.2-fpm.sock` of `proxy:unix:/run/php/php8.2-fpm.sock|fcgi://localhost`, or
/// `127.0.0.1:9000` of `fcgi://127.0.0.1:9000/var/www`.
fn fpm_address(text: &str) -> Option<String> {
    let text = text.strip_prefix("proxy:").unwrap_or(text);
    if let Some((socket, rest)) = text.split_once('|') {
        return (rest.starts_with("fcgi:") && socket.starts_with("unix:"))
            .then(|| socket.to_owned());
    }
    let rest = text.strip_prefix("fcgi://")?;
    rest.split('/').next().filter(|host| !host.is_empty()).map(str::to_owned)
}

/// The words of a line; quotes keep blanks together.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut rest = line.trim();
    while let Some(first) = rest.chars().next() {
        let (word, after) = match first {
            '"' | '\'' => {
                let inner = &rest[1..];
                let end = inner.find(first).unwrap_or(inner.len());
                (&inner[..end], inner.get(end + 1..).unwrap_or_default())
            }
            _ => rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len())),
        };
        words.push(word.to_owned());
        rest = after.trim_start();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::tree;

    #[test]
    fn debian_with_modphp() {
        let root = tree(&[
            (
                "etc/apache2/apache2.conf",
                "KeepAlive On\nKeepAliveTimeout 5\nIncludeOptional mods-enabled/*.load\nIncludeOptional mods-enabled/*.conf\nIncludeOptional sites-enabled/*.conf\n<Directory />\n  Require all denied\n</Directory>\n",
            ),
            (
                "etc/apache2/mods-enabled/mpm_prefork.load",
                "LoadModule mpm_prefork_module /usr/lib/apache2/modules/mod_mpm_prefork.so\n",
            ),
            (
                "etc/apache2/mods-enabled/mpm_prefork.conf",
                "<IfModule mpm_prefork_module>\n StartServers 5\n MaxRequestWorkers\t  150\n</IfModule>\n<IfModule mpm_event_module>\n StartServers 9\n <IfModule !core>\n </IfModule>\n ThreadsPerChild 7\n</IfModule>\n",
            ),
            (
                "etc/apache2/mods-enabled/php8.2.load",
                "LoadModule php_module /usr/lib/apache2/modules/libphp8.2.so\n",
            ),
            (
                "etc/apache2/sites-enabled/shop.conf",
                "<VirtualHost *:80>\n ServerName shop.test\n DocumentRoot \"/var/www/shop/public/\"\n php_value memory_limit 512M\n php_admin_flag display_errors off\n CustomLog ${APACHE_LOG_DIR}/access.log combined\n</VirtualHost>\n",
            ),
        ]);
        let apache = apache(&Tree::new(root.path())).expect("apache");
        assert!(apache.has_modphp());
        let value = |name: &str| apache.settings.get(name).map(|setting| setting.value.as_str());
        assert_eq!(value("MaxRequestWorkers"), Some("150"));
        assert_eq!(value("StartServers"), Some("5"), "the other MPM's section does not hold");
        assert_eq!(value("ThreadsPerChild"), None);
        let [site] = apache.sites.as_slice() else { panic!("{:?}", apache.sites) };
        assert_eq!(site.root.as_deref(), Some("/var/www/shop/public"));
        assert_eq!(site.settings["php memory_limit"].value, "512M");
        assert_eq!(site.settings["php display_errors"].value, "0");
        assert_eq!(site.settings["php memory_limit"].at.line, 4);
    }

    #[test]
    fn php_fpm_is_found_behind_apache() {
        let root = tree(&[
            (
                "etc/httpd/conf/httpd.conf",
                "Include conf.d/*.conf\nDocumentRoot \"/var/www/html\"\n",
            ),
            (
                "etc/httpd/conf.d/php.conf",
                "<IfModule !mod_php.c>\n<FilesMatch \\.(php|phar)$>\n SetHandler \"proxy:unix:/run/php-fpm/www.sock|fcgi://localhost\"\n</FilesMatch>\n</IfModule>\n",
            ),
        ]);
        let apache = apache(&Tree::new(root.path())).expect("apache");
        assert_eq!(apache.fpm.as_deref(), Some("unix:/run/php-fpm/www.sock"));
        assert_eq!(apache.sites[0].root.as_deref(), Some("/var/www/html"));
        assert_eq!(
            fpm_address("fcgi://127.0.0.1:9000/var/www/html/$1").as_deref(),
            Some("127.0.0.1:9000")
        );
    }
}
