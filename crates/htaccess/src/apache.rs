//! What Apache is told once: the files' directives for sections of its configuration.

use crate::directory::File;
use crate::parse::{Directive, Section};
use crate::{Directory, Left, Why};

/// What Apache is told.
#[derive(Clone, Debug, Default)]
pub struct Apache {
    /// The files, those of upper directories first.
    pub files: Vec<Included>,
    /// Names of modules that they need, such as `rewrite`, sorted.
    pub modules: Vec<&'static str>,
    /// What Apache is not told.
    pub left: Vec<Left>,
}

/// The text for one directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Included {
    /// The directory, relative to the public one: empty, or `sub/dir`.
    pub directory: String,
    /// The file, relative to the app's directory.
    pub file: String,
    /// Its directives, each on the line that it has in the file.
    pub text: String,
}

/// The directives that Apache is told, and the module of each. In lower case.
const KNOWN: [(&str, &str); 53] = [
    ("acceptpathinfo", ""),
    ("addcharset", "mime"),
    ("adddefaultcharset", ""),
    ("addencoding", "mime"),
    ("addlanguage", "mime"),
    ("addtype", "mime"),
    ("allow", "access_compat"),
    ("browsermatch", "setenvif"),
    ("browsermatchnocase", "setenvif"),
    ("defaultlanguage", "mime"),
    ("deny", "access_compat"),
    ("directoryindex", "dir"),
    ("directoryslash", "dir"),
    ("errordocument", ""),
    ("expiresactive", "expires"),
    ("expiresbytype", "expires"),
    ("expiresdefault", "expires"),
    ("fallbackresource", "dir"),
    ("fileetag", ""),
    ("forcetype", ""),
    ("header", "headers"),
    ("indexignore", "autoindex"),
    ("indexoptions", "autoindex"),
    ("limitrequestbody", ""),
    ("modmimeusepathinfo", "mime"),
    ("options", ""),
    ("order", "access_compat"),
    ("passenv", "env"),
    ("php_flag", "php"),
    ("php_value", "php"),
    ("redirect", "alias"),
    ("redirectmatch", "alias"),
    ("redirectpermanent", "alias"),
    ("redirecttemp", "alias"),
    ("removecharset", "mime"),
    ("removeencoding", "mime"),
    ("removelanguage", "mime"),
    ("removetype", "mime"),
    ("requestheader", "headers"),
    ("require", "authz_host"),
    ("rewritebase", "rewrite"),
    ("rewritecond", "rewrite"),
    ("rewriteengine", "rewrite"),
    ("rewriteoptions", "rewrite"),
    ("rewriterule", "rewrite"),
    ("satisfy", "access_compat"),
    ("serversignature", ""),
    ("setenv", "env"),
    ("setenvif", "setenvif"),
    ("setenvifnocase", "setenvif"),
    ("unsetenv", "env"),
    ("cgipassauth", ""),
    ("defaulttype", ""),
];

/// The modules that may be needed.
pub const MODULES: [&str; 10] = [
    "access_compat",
    "alias",
    "authz_host",
    "autoindex",
    "env",
    "expires",
    "headers",
    "mime",
    "rewrite",
    "setenvif",
];

/// The words of `Options`.
const OPTIONS: [&str; 9] = [
    "all",
    "execcgi",
    "followsymlinks",
    "includes",
    "includesnoexec",
    "indexes",
    "multiviews",
    "none",
    "symlinksifownermatch",
];

impl Directory {
    /// What Apache is told; `has` says whether it has a module (`rewrite`), and `with_php` whether PHP
    /// is one of them. PHP's settings of the public directory itself are those of php.ini.
    pub fn apache(&self, has: impl Fn(&str) -> bool, with_php: bool) -> Apache {
        let mut apache = Apache::default();
        for file in &self.files {
            let mut writer = Writer {
                file,
                all: self,
                has: &has,
                with_php,
                modules: Vec::new(),
                left: Vec::new(),
            };
            let text = writer.text();
            apache.modules.extend(writer.modules);
            apache.left.extend(writer.left);
            let (directory, file) = (file.source.directory.clone(), file.source.file.clone());
            if !text.trim().is_empty() {
                apache.files.push(Included { directory, file, text });
            }
        }
        apache.modules.sort_unstable();
        apache.modules.dedup();
        apache
    }
}

struct Writer<'a> {
    file: &'a File,
    all: &'a Directory,
    has: &'a dyn Fn(&str) -> bool,
    with_php: bool,
    modules: Vec<&'static str>,
    left: Vec<Left>,
}

impl Writer<'_> {
    fn text(&mut self) -> String {
        let is_counted = |one: &Directive| {
            let flags = one.args.get(2).map(|flags| flags.to_ascii_lowercase()).unwrap_or_default();
            let mut flags = flags.trim_matches(['[', ']']).split(',').map(str::trim);
            flags.any(|flag| flag.starts_with("s=") || flag.starts_with("skip="))
        };
        let counts = self.file.directives.iter().any(is_counted);
        let mut out = Lines::default();
        let mut open: Vec<Section> = Vec::new();
        let mut conditions: Vec<&Directive> = Vec::new();
        for one in &self.file.directives {
            if one.name == "rewritecond" {
                conditions.push(one);
                continue;
            }
            let told = self.told(one);
            if let Err(why) = &told {
                if let Some(why) = why {
                    self.left.push(Left::new(self.file.place(one), *why));
                }
                if one.name == "rewriterule" {
                    conditions.clear();
                }
                // A skip counts rules.
                if one.name != "rewriterule" || !counts {
                    continue;
                }
            }
            let is_rule = one.name == "rewriterule";
            let mut lines: Vec<(u32, &str)> = Vec::new();
            if is_rule {
                lines.extend(
                    std::mem::take(&mut conditions).iter().map(|one| (one.line, one.raw.as_str())),
                );
            }
            lines.push((one.line, if told.is_ok() { one.raw.as_str() } else { "RewriteRule ^ -" }));
            out.enter(&mut open, &one.within);
            lines.into_iter().for_each(|(line, text)| out.add(line, text));
        }
        out.enter(&mut open, &[]);
        out.text
    }

    /// Nothing: Apache is told this. An error: it is not, and why, if that is worth a word.
    fn told(&mut self, one: &Directive) -> Result<(), Option<Why>> {
        let is_known = |section: &Section| {
            let is_one = matches!(
                section.name.as_str(),
                "<files" | "<filesmatch" | "<requireall" | "<requireany" | "<requirenone"
            );
            is_one && section.raw.ends_with('>') && is_line(&section.raw)
        };
        if one.within.iter().any(|section| !is_known(section)) {
            return Err(Some(Why::Section));
        }
        let words: Vec<String> = one.args.iter().map(|arg| arg.to_ascii_lowercase()).collect();
        let name_and_module = KNOWN.iter().find(|(name, _)| *name == one.name);
        let Some((name, module)) = name_and_module else {
            let handlers = ["addhandler", "sethandler", "action", "removehandler"];
            let logins = ["authtype", "authuserfile", "authname", "authgroupfile"];
            return Err(match one.name.as_str() {
                name if handlers.contains(&name) => Some(Why::Handler),
                name if logins.contains(&name) => Some(Why::Login),
                _ => None,
            });
        };
        if words.is_empty() || !is_line(&one.raw) {
            return Err(Some(Why::Target));
        }
        self.refused(name, one, &words)?;
        // What is part of each Apache here needs no module.
        if MODULES.contains(module) {
            if !(self.has)(module) {
                return Err(Some(Why::NoModule));
            }
            self.modules.push(module);
        }
        Ok(())
    }

    /// An error: a directive that Apache knows is not told to it, and why.
    fn refused(&self, name: &str, one: &Directive, words: &[String]) -> Result<(), Option<Why>> {
        let is_left = |why: Why| {
            self.all.left.iter().any(|left| {
                left.why == why
                    && left.place.file == self.file.source.file
                    && left.place.line == one.line
            })
        };
        let is_elsewhere = || one.args.iter().skip(1).any(|arg| arg.contains("://"));
        let asks_who =
            || matches!(words[0].as_str(), "valid-user" | "user" | "group" | "expr" | "not");
        match name {
            "php_value" | "php_flag" => match (
                self.file.source.directory.is_empty() && one.within.is_empty(),
                self.with_php,
            ) {
                (false, true) => {}
                _ => return Err(None),
            },
            "redirect" | "redirectmatch" | "redirectpermanent" | "redirecttemp"
            | "errordocument"
                if is_elsewhere() =>
            {
                return Err(Some(Why::OtherHost));
            }
            "rewriterule" if is_elsewhere() || is_left(Why::OtherHost) => {
                return Err(Some(Why::OtherHost));
            }
            "rewriterule" if has_flag(words, &["p", "proxy", "h", "handler", "t", "type"]) => {
                return Err(Some(Why::Flag));
            }
            "require" if asks_who() => return Err(Some(Why::Login)),
            "require" | "deny" | "allow" | "order" | "satisfy"
                if one.within.is_empty()
                    && self.file.source.directory.is_empty()
                    && self.refuses_all() =>
            {
                return Err(None);
            }
            "addtype" | "forcetype" if words.iter().any(|word| word.contains("php")) => {
                return Err(Some(Why::Handler));
            }
            "options" if !are_options(words) => return Err(None),
            _ => {}
        }
        Ok(())
    }

    fn refuses_all(&self) -> bool {
        let own = &self.file.source.file;
        self.all.left.iter().any(|left| left.why == Why::RefusesAll && left.place.file == *own)
    }
}

fn has_flag(words: &[String], names: &[&str]) -> bool {
    let flags = words.get(2).map(|flags| flags.trim_matches(['[', ']'])).unwrap_or_default();
    flags.split(',').any(|flag| names.contains(&flag.trim().split('=').next().unwrap_or_default()))
}

/// All words have a sign, or none has.
fn are_options(words: &[String]) -> bool {
    let signed = words.iter().filter(|word| word.starts_with(['+', '-'])).count();
    let known = |word: &String| OPTIONS.contains(&word.trim_start_matches(['+', '-']));
    (signed == 0 || signed == words.len()) && words.iter().all(known)
}

/// Whether a text stays one line and has no variable of Apache's configuration.
fn is_line(text: &str) -> bool {
    !text.contains(char::is_control)
        && !text.contains("${")
        && !text.ends_with('\\')
        && text.len() < 8000
}

/// Lines at their own numbers.
#[derive(Default)]
struct Lines {
    text: String,
    line: u32,
}

impl Lines {
    fn add(&mut self, line: u32, text: &str) {
        while self.line + 1 < line {
            self.line += 1;
            self.text.push('\n');
        }
        self.line += 1;
        self.text.push_str(text);
        self.text.push('\n');
    }

    /// Closes and opens sections, until those of `within` are open.
    fn enter(&mut self, open: &mut Vec<Section>, within: &[Section]) {
        let same = open.iter().zip(within).take_while(|(one, other)| one == other).count();
        for section in open.drain(same..).rev() {
            self.add(0, &format!("</{}>", &section.name[1..]));
        }
        for section in &within[same..] {
            self.add(section.line, &section.raw);
            open.push(section.clone());
        }
    }
}
