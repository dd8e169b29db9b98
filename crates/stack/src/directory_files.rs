//! Finds what an app's `.htaccess` and `.user.ini` say and no runtime here applies.

use stampede_mask::mask_secrets;
use stampede_model::fact::{DirectoryLine, Notice};

use super::app::App;

/// The most lines that a notice names.
const LINES_MAX: usize = 4;
/// The most characters of a line.
const CHARS_MAX: usize = 100;
/// Directives that change answers, besides `RewriteRule`. Names are in lower case.
const DIRECTIVES: [&str; 15] = [
    "addhandler",
    "addtype",
    "authtype",
    "errordocument",
    "forcetype",
    "php_admin_flag",
    "php_admin_value",
    "php_flag",
    "php_value",
    "redirect",
    "redirectmatch",
    "redirectpermanent",
    "redirecttemp",
    "setenv",
    "sethandler",
];
/// The most bytes of a file that are read.
const BYTES_MAX: u64 = 1 << 20;

impl App {
    /// The notice that the app has such lines; `None`: it has none.
    pub(super) fn directory_notice(&self) -> Option<Notice> {
        let below = |name: &str| match self.manifest.docroot.as_str() {
            "." => name.to_owned(),
            docroot => format!("{docroot}/{name}"),
        };
        let own = |name: &str| (self.manifest.docroot != ".").then(|| name.to_owned());
        let (htaccess, user_ini) = (".htaccess", ".user.ini");
        // PHP reads no `.user.ini` above the public directory.
        let files = [own(htaccess), Some(below(htaccess)), Some(below(user_ini))];
        let mut lines = Vec::new();
        for file in files.into_iter().flatten() {
            let Some(bytes) = self.foreign_file(&file, BYTES_MAX) else { continue };
            let text = String::from_utf8_lossy(&bytes);
            let found = match file.ends_with(htaccess) {
                true => of_htaccess(&text, &self.manifest.index, &self.manifest.docroot),
                false => of_user_ini(&text),
            };
            let named = found.into_iter().map(|(line, text)| {
                let text = mask_secrets(&text).chars().take(CHARS_MAX).collect();
                DirectoryLine { file: file.clone(), line, text }
            });
            lines.extend(named);
        }
        let count = lines.len() as u64;
        lines.truncate(LINES_MAX);
        (count > 0).then(|| Notice::DirectoryFiles { app: self.name.clone(), count, lines })
    }
}

/// The lines that change answers, and their numbers. A rule that leads to the front controller
/// without a parameter is applied: every runtime does the same.
fn of_htaccess(text: &str, index: &str, docroot: &str) -> Vec<(u32, String)> {
    let mut found = Vec::new();
    // What holds where mod_rewrite is missing is another way to the same pages.
    let mut is_without_rewrite = false;
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
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let directive = words.first().map(|word| word.to_ascii_lowercase()).unwrap_or_default();
        match directive.as_str() {
            "<ifmodule" if line.contains("!mod_rewrite") => is_without_rewrite = true,
            "</ifmodule>" => is_without_rewrite = false,
            _ => {}
        }
        let is_said = match directive.as_str() {
            _ if is_without_rewrite => false,
            "rewriterule" => words.get(2).is_some_and(|to| leads_elsewhere(to, index, docroot)),
            "directoryindex" => words.get(1).is_some_and(|first| *first != index),
            "fallbackresource" => {
                words.get(1).is_some_and(|to| to.trim_start_matches('/') != index)
            }
            other => DIRECTIVES.contains(&other),
        };
        if is_said {
            found.push((begin, words.join(" ")));
        }
    }
    found
}

/// Whether the target of a rule is another one than the front controller, with or without more of a
/// path, or the public directory. `-` is none. `%1` and `%{ENV:BASE}/$1` lead back to the same host
/// and path, as frameworks do to have one address for each page.
fn leads_elsewhere(target: &str, index: &str, docroot: &str) -> bool {
    let target = target.trim_matches('"');
    let own = target.strip_prefix("%{ENV:").and_then(|rest| Some(rest.split_once('}')?.1));
    let is_back = target.starts_with("%1") || own.is_some_and(|own| own.starts_with("/$"));
    let own = own.unwrap_or(target).trim_start_matches('/');
    let is_below = |of: &str| {
        own.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    target != "-" && !is_back && !is_below(index) && !is_below(docroot)
}

/// The settings, and the numbers of their lines.
fn of_user_ini(text: &str) -> Vec<(u32, String)> {
    let lines = (1..).zip(text.lines().map(str::trim));
    let settings = lines.filter(|(_, line)| line.contains('=') && !line.starts_with([';', '#']));
    settings.map(|(number, line)| (number, line.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_of_frameworks_are_what_every_runtime_does() {
        let symfony = "DirectoryIndex index.php\n<IfModule mod_rewrite.c>\nRewriteEngine On\n\
            RewriteCond %{REQUEST_URI}::$0 ^(/.+)/(.*)::\\2$\nRewriteRule .* - [E=BASE:%1]\n\
            RewriteRule ^index\\.php(?:/(.*)|$) %{ENV:BASE}/$1 [R=301,L]\n\
            RewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule ^ %{ENV:BASE}/index.php [L]\n</IfModule>\n\
            <IfModule !mod_rewrite.c>\n<IfModule mod_alias.c>\nRedirectMatch 307 ^/$ /index.php/\n</IfModule>\n</IfModule>";
        let wordpress = "RewriteRule ^index\\.php$ - [L]\nRewriteRule . /index.php [L]\n";
        let laravel = "RewriteCond %{REQUEST_URI} (.+)/$\nRewriteRule ^ %1 [L,R=301]\n\
            RewriteRule ^ \"index.php\" [L]\nFallbackResource /index.php";
        let codeigniter = "RewriteRule ^([\\s\\S]*)$ index.php/$1 [L,NC,QSA]";
        let cakephp = "RewriteRule ^(.*)$ webroot/$1 [L]";
        for text in [symfony, wordpress, laravel, codeigniter, cakephp, "# RewriteRule ^a$ b.php"] {
            assert_eq!(of_htaccess(text, "index.php", "webroot"), [], "{text}");
        }
    }

    #[test]
    fn lines_that_change_answers_are_found() {
        let text = "RewriteEngine on\nRewriteRule ^(.+)$ \\\n   index.php?page=$1 [QSA,L]\n\
            php_value memory_limit 512M\nDirectoryIndex home.php index.php\n\
            Redirect 301 /old /new\nRewriteRule ^ app.php [L]\nExpiresActive On\n\
            RewriteRule ^ %{REQUEST_FILENAME}.php [L]\n";
        let found = of_htaccess(text, "index.php", ".");
        let expected = [
            (2, "RewriteRule ^(.+)$ index.php?page=$1 [QSA,L]"),
            (4, "php_value memory_limit 512M"),
            (5, "DirectoryIndex home.php index.php"),
            (6, "Redirect 301 /old /new"),
            (7, "RewriteRule ^ app.php [L]"),
            (9, "RewriteRule ^ %{REQUEST_FILENAME}.php [L]"),
        ];
        assert_eq!(found, expected.map(|(line, text)| (line, text.to_owned())));
        assert_eq!(of_htaccess("RewriteRule ^ app.php [L]", "app.php", "."), []);
        let ini = of_user_ini("; memory_limit=1G\n[PHP]\nauto_prepend_file = waf.php\n");
        assert_eq!(ini, [(3, "auto_prepend_file = waf.php".to_owned())]);
    }
}
