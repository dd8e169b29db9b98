//! Reads the files of an app's public directory together.

use crate::access;
use crate::parse::{Directive, directives};
use crate::pattern::Pattern;
use crate::rewrite;
use crate::rule::{Access, Action, Part, Place, Rule, Target};
use crate::{Left, Why};

/// An `.htaccess` file.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its directory, relative to the public directory: empty, or `sub/dir`.
    pub directory: String,
    /// The file, relative to the app's directory.
    pub file: String,
    /// Its text.
    pub text: String,
}

/// A file that was read.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub source: Source,
    pub directives: Vec<Directive>,
}

impl File {
    /// `/`, or `/sub/dir/`.
    pub fn prefix(&self) -> String {
        match self.source.directory.as_str() {
            "" => "/".to_owned(),
            directory => format!("/{directory}/"),
        }
    }

    pub fn place(&self, directive: &Directive) -> Place {
        let Directive { line, text, .. } = directive;
        Place { file: self.source.file.clone(), line: *line, text: text.clone() }
    }

    fn has_rewrites(&self) -> bool {
        self.directives.iter().any(|one| one.name.starts_with("rewrite"))
    }
}

/// What an app's `.htaccess` files say.
#[derive(Clone, Debug, Default)]
pub struct Directory {
    pub(crate) files: Vec<File>,
    pub(crate) access: Vec<Access>,
    pub(crate) rules: Vec<Rule>,
    /// What no server but Apache is told.
    pub(crate) left: Vec<Left>,
    /// PHP's settings in the file of the public directory itself.
    pub(crate) php: Vec<(Place, String, String)>,
}

/// Directives that change answers, and have no counterpart elsewhere. In lower case.
const ELSEWHERE: [(&str, Why); 14] = [
    ("addhandler", Why::Handler),
    ("sethandler", Why::Handler),
    ("action", Why::Handler),
    ("removehandler", Why::Handler),
    ("authtype", Why::Login),
    ("authuserfile", Why::Login),
    ("setenv", Why::ApacheOnly),
    ("addtype", Why::ApacheOnly),
    ("forcetype", Why::ApacheOnly),
    ("errordocument", Why::ApacheOnly),
    ("directoryindex", Why::ApacheOnly),
    ("fallbackresource", Why::ApacheOnly),
    ("php_admin_value", Why::SystemOnly),
    ("php_admin_flag", Why::SystemOnly),
];

impl Directory {
    /// Reads these files, of which those of upper directories come first. `index` is the front
    /// controller in the public directory.
    pub fn read(sources: Vec<Source>, index: &str) -> Directory {
        let read = |source: Source| File { directives: directives(&source.text), source };
        let files: Vec<File> = sources.into_iter().map(read).collect();
        let mut all = Directory { files: files.clone(), ..Directory::default() };
        let own: Vec<String> =
            files.iter().filter(|file| file.has_rewrites()).map(File::prefix).collect();
        for file in &files {
            all.add_redirects(file);
        }
        for file in &files {
            access::read(file, &mut all.access, &mut all.left);
            all.add_others(file, index);
            let prefix = file.prefix();
            let below = own.iter().filter(|one| **one != prefix && one.starts_with(&prefix));
            let (rules, left) = rewrite::read(file, index, &below.cloned().collect::<Vec<_>>());
            all.rules.extend(rules);
            all.left.extend(left);
        }
        // Rules at the end that lead where each path leads anyway are no rules, unless one before them
        // ends the search: without them nothing would differ.
        while all.rules.last().is_some_and(|rule| rule.is_default) {
            all.rules.pop();
        }
        if !all.rules.iter().any(|rule| !rule.is_default && rule.action != Action::Keep) {
            all.rules.clear();
        }
        all.left.sort_by(|a, b| (&a.place.file, a.place.line).cmp(&(&b.place.file, b.place.line)));
        all
    }

    fn add_redirects(&mut self, file: &File) {
        for one in &file.directives {
            let is_match = one.name == "redirectmatch";
            let fixed = match one.name.as_str() {
                "redirect" | "redirectmatch" => None,
                "redirectpermanent" => Some(301),
                "redirecttemp" => Some(302),
                _ => continue,
            };
            let place = file.place(one);
            match redirect(one, fixed, is_match) {
                Ok((pattern, action)) if one.within.is_empty() => self.rules.push(Rule {
                    place,
                    prefix: String::new(),
                    not_below: Vec::new(),
                    pattern,
                    negated: false,
                    conditions: Vec::new(),
                    action,
                    is_last: true,
                    is_default: false,
                }),
                Ok(_) => self.left.push(Left::new(place, Why::Section)),
                Err(why) => self.left.push(Left::new(place, why)),
            }
        }
    }

    fn add_others(&mut self, file: &File, index: &str) {
        let is_own = file.source.directory.is_empty();
        for one in &file.directives {
            let place = file.place(one);
            let (first, second) = (one.args.first(), one.args.get(1));
            match one.name.as_str() {
                "php_value" | "php_flag" => match (first, second) {
                    (Some(name), Some(value)) if is_own && one.within.is_empty() => {
                        let value = match (one.name.as_str(), value.to_ascii_lowercase().as_str()) {
                            ("php_flag", "on" | "true" | "yes" | "1") => "1".to_owned(),
                            ("php_flag", _) => "0".to_owned(),
                            _ => value.clone(),
                        };
                        self.php.push((place, name.clone(), value));
                    }
                    _ => self.left.push(Left::new(place, Why::ModPhpOnly)),
                },
                "directoryindex" if first.is_none_or(|first| first == index) => {}
                "fallbackresource"
                    if first.is_none_or(|to| to.trim_start_matches('/') == index) => {}
                "errordocument" if second.is_some_and(|to| to.trim_start_matches('/') == index) => {
                }
                name => {
                    let known = ELSEWHERE.iter().find(|(known, _)| *known == name);
                    if let Some((_, why)) = known {
                        self.left.push(Left::new(place, *why));
                    } else if one.within.iter().any(|section| {
                        !section.name.starts_with("<files") && !section.name.starts_with("<require")
                    }) && !name.starts_with("rewrite")
                    {
                        self.left.push(Left::new(place, Why::Section));
                    }
                }
            }
        }
    }
}

/// What a `Redirect` of Apache says.
fn redirect(one: &Directive, fixed: Option<u16>, is_match: bool) -> Result<(Pattern, Action), Why> {
    let mut args = one.args.as_slice();
    let mut status = fixed.unwrap_or(302);
    if let (None, [first, rest @ ..]) = (fixed, args) {
        let named = match first.to_ascii_lowercase().as_str() {
            "permanent" => Some(301),
            "temp" => Some(302),
            "seeother" => Some(303),
            "gone" => Some(410),
            word => word.parse().ok().filter(|status| (300..600).contains(status)),
        };
        if let Some(named) = named {
            (status, args) = (named, rest);
        }
    }
    let [from, rest @ ..] = args else { return Err(Why::Target) };
    let pattern = match is_match {
        true => Pattern::read(from, false),
        false => {
            Some(from).filter(|from| from.starts_with('/')).and_then(|from| Pattern::below(from))
        }
    };
    let pattern = pattern.ok_or(Why::Pattern)?;
    if !(300..400).contains(&status) {
        return Ok((pattern, Action::Status(status)));
    }
    let Some(to) = rest.first() else { return Err(Why::Target) };
    match crate::target::read(to, "/", pattern.groups, (false, false)) {
        crate::target::Read::To(Target { mut path, query, .. }) if to.starts_with('/') => {
            if !is_match {
                path.push(Part::Group(1));
            }
            // Apache puts the request's query behind the target's own.
            Ok((pattern, Action::Redirect(status, Target { path, query, appends: true })))
        }
        crate::target::Read::Elsewhere => Err(Why::OtherHost),
        _ => Err(Why::Target),
    }
}

impl Directory {
    /// Lets everybody see files of this name (an expression) in the public directory, whatever the rules
    /// refuse. It says nothing where they refuse nothing.
    pub fn allow(&mut self, name: &str) {
        let name = Pattern::read(name, false);
        if name.is_some() && !self.access.is_empty() {
            let place = Place::default();
            self.access.push(Access { place, prefix: "/".to_owned(), name, is_denied: false });
        }
    }

    /// The number of rules that servers are told.
    pub fn rules(&self) -> u64 {
        (self.access.len() + self.rules.len()) as u64
    }

    /// What no server but Apache is told, in the order of the files.
    pub fn left(&self) -> &[Left] {
        &self.left
    }

    /// What a file above the public directory says of paths, which is not applied. A rule that leads
    /// into the public directory is none.
    pub fn above(&self, docroot: &str) -> Vec<Left> {
        let into = format!("/{docroot}");
        let leads_in = |rule: &&Rule| match &rule.action {
            Action::Rewrite(Target { path, .. }) => match path.first() {
                Some(Part::Text(text)) => text
                    .strip_prefix(&into)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/')),
                _ => false,
            },
            Action::Keep => true,
            _ => false,
        };
        let rules = self.rules.iter().filter(|rule| !leads_in(rule)).map(|rule| &rule.place);
        let php = self.php.iter().map(|(place, ..)| place);
        let left = self.left.iter().map(|left| &left.place);
        let mut all: Vec<&Place> = rules.chain(php).chain(left).collect();
        all.sort_by_key(|place| place.line);
        all.into_iter().map(|place| Left::new(place.clone(), Why::AbovePublic)).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Directory {
        let source =
            Source { directory: String::new(), file: ".htaccess".into(), text: text.into() };
        Directory::read(vec![source], "index.php")
    }

    #[test]
    fn front_controllers_need_no_rule_and_no_word() {
        let symfony = "DirectoryIndex index.php\n<IfModule mod_rewrite.c>\nRewriteEngine On\n\
            RewriteCond %{REQUEST_URI}::$0 ^(/.+)/(.*)::\\2$\nRewriteRule .* - [E=BASE:%1]\n\
            RewriteCond %{ENV:REDIRECT_STATUS} =\"\"\n\
            RewriteRule ^index\\.php(?:/(.*)|$) %{ENV:BASE}/$1 [R=301,L]\n\
            RewriteCond %{REQUEST_FILENAME} !-f\nRewriteRule ^ %{ENV:BASE}/index.php [L]\n</IfModule>\n\
            <IfModule !mod_rewrite.c>\nRedirectMatch 307 ^/$ /index.php/\n</IfModule>";
        let wordpress = "RewriteEngine On\nRewriteRule .* - [E=HTTP_AUTHORIZATION:%{HTTP:Authorization}]\n\
            RewriteBase /\nRewriteRule ^index\\.php$ - [L]\nRewriteCond %{REQUEST_FILENAME} !-f\n\
            RewriteCond %{REQUEST_FILENAME} !-d\nRewriteRule . /index.php [L]\n";
        let laravel = "RewriteEngine On\nRewriteCond %{REQUEST_FILENAME} !-d\nRewriteCond %{REQUEST_URI} (.+)/$\n\
            RewriteRule ^ %1 [L,R=301]\nRewriteRule ^ \"index.php\" [L]\nFallbackResource /index.php";
        for text in [symfony, wordpress, laravel] {
            let directory = read(text);
            assert_eq!(directory.rules(), 0, "{text}");
            assert_eq!(directory.left(), [], "{text}");
            assert_eq!(directory.apache(|_| true, false).left, [], "{text}");
        }
    }

    proptest! {
        /// Nothing of a hostile file is configuration of its own.
        #[test]
        fn no_text_becomes_configuration(pattern in "[^\n]{0,30}", to in "[^\n]{0,30}", other in ".{0,60}") {
            let text = format!(
                "RewriteEngine On\nRewriteCond %{{REQUEST_URI}} !{pattern}\nRewriteRule {pattern} {to} [QSA,L]\n\
                 RewriteRule ^x(.*)$ a{to}?b=$1 [L]\nRedirect 301 /{pattern} /{to}\n{other}\n\
                 <Files \"{pattern}\">\nDeny from all\n</Files>\n"
            );
            let directory = read(&text);
            for line in directory.nginx().what.lines() {
                let line = line.trim();
                prop_assert!(line.starts_with("if (") || line.starts_with("set $htaccess"), "{line}");
                prop_assert_eq!(line.matches('"').count() % 2, 0, "{}", line);
            }
            for line in directory.uwsgi().what.lines() {
                prop_assert!(line.starts_with("route") && !line.contains("$(") && !line.contains('%'), "{line}");
            }
            let caddy = directory.caddy().what;
            let parts = caddy.matchers + &caddy.route;
            let has_variable = parts.contains("{$") || parts.contains("{env");
            prop_assert!(!has_variable);
        }
    }
}
