//! What is in an image, as far as a runtime needs it: programs with their versions, PHP's extensions,
//! modules of web servers. And the image that adds what is missing.
//!
//! An image is asked by a script for its own shell, which prints a line for each thing that it finds.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::error::ComposeError;

/// Something that is looked for in an image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WantedNeed {
    /// The name of the need.
    pub name: String,
    /// Names of programs; `*` stands for digits and dots.
    pub programs: Vec<String>,
    /// Absolute paths, likewise.
    pub files: Vec<String>,
    /// Arguments by which a program prints its version; `None`: it prints none.
    pub version: Option<Vec<String>>,
    /// The text in a file that precedes the version.
    pub version_in_file: Option<String>,
    /// The PHP extension that it is.
    pub extension: Option<String>,
}

/// A need that an image has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundNeed {
    /// The path in the image.
    pub path: PathBuf,
    /// The version as the program prints it; empty: it prints none.
    pub version: String,
}

/// What was found in an image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ImageContent {
    /// By the need's name, in the order in which they were found.
    pub needs: BTreeMap<String, Vec<FoundNeed>>,
    /// The directory of PHP's shared extensions; `None`: there is no PHP of the command line.
    pub extensions: Option<PathBuf>,
    /// Shared objects in that directory and beside the files that were looked for.
    pub objects: BTreeSet<PathBuf>,
    /// Extensions that are built into PHP, in lower case.
    pub built_in: BTreeSet<String>,
}

impl ImageContent {
    /// Whether PHP has an extension, built in or as a file.
    pub fn has_extension(&self, name: &str) -> bool {
        let file = |dir: &PathBuf| self.objects.contains(&dir.join(format!("{name}.so")));
        self.built_in.contains(&name.to_ascii_lowercase())
            || self.extensions.as_ref().is_some_and(file)
    }

    /// Adds what another image has.
    pub fn extend(&mut self, other: &ImageContent) {
        self.objects.extend(other.objects.iter().cloned());
        self.built_in.extend(other.built_in.iter().cloned());
        if self.extensions.is_none() {
            self.extensions.clone_from(&other.extensions);
        }
    }
}

/// The begin of the script. It uses nothing but what Debian and Alpine both have.
const PRELUDE: &str = r#"
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
say() { printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4"; }
first() { "$@" 2>&1 </dev/null | grep -m1 .; }
fits() { case $1 in *[!0-9.]*) return 1 ;; esac; }
program() {
    name=$1 before=$2 after=$3
    shift 3
    for dir in $(echo "$PATH" | tr : ' '); do
        for file in "$dir/$before"*"$after"; do
            [ -f "$file" ] && [ -x "$file" ] || continue
            middle=${file#"$dir/$before"}
            fits "${middle%"$after"}" || continue
            version=
            [ $# -eq 0 ] || version=$(first "$file" "$@")
            say need "$name" "$file" "$version"
        done
    done
}
exact() {
    name=$1 own=$2
    shift 2
    for dir in $(echo "$PATH" | tr : ' '); do
        [ -f "$dir/$own" ] && [ -x "$dir/$own" ] || continue
        version=
        [ $# -eq 0 ] || version=$(first "$dir/$own" "$@")
        say need "$name" "$dir/$own" "$version"
    done
}
objects() {
    for file in "$1"/*.so; do
        [ -f "$file" ] && say object . "$file" .
    done
}
file() {
    name=$1 text=$3
    for file in $2; do
        [ -f "$file" ] || continue
        version=
        [ -z "$text" ] || version=$(grep -aom1 "$text[0-9A-Za-z.+~-]*" "$file")
        say need "$name" "$file" "${version#"$text"}"
        objects "${file%/*}"
    done
}
php=$(command -v php)
extensions=
if [ -n "$php" ]; then
    extensions=$("$php" -n -r 'echo ini_get("extension_dir");' </dev/null 2>/dev/null)
    say extensions . "$extensions" .
    objects "$extensions"
    "$php" -n -m </dev/null 2>/dev/null | while read -r module; do
        say module . "$module" .
    done
fi
extension() {
    show="echo phpversion('$2');"
    if [ -n "$extensions" ] && [ -f "$extensions/$2.so" ]; then
        say need "$1" "$extensions/$2.so" "$("$php" -n -d "extension=$2" -r "$show" 2>/dev/null)"
    elif [ -n "$php" ] && "$php" -n -r "exit((int) !extension_loaded('$2'));" 2>/dev/null; then
        say need "$1" "$php" "$("$php" -n -r "$show")"
    fi
}
"#;

/// A script for `sh` that prints what an image has of `wanted`, for [`ImageContent::parse`].
pub fn script(wanted: &[WantedNeed]) -> String {
    let quoted = |word: &str| shell_words::quote(word).into_owned();
    let mut script = PRELUDE.to_owned();
    for need in wanted {
        let name = quoted(&need.name);
        if let Some(extension) = &need.extension {
            let _ = writeln!(script, "extension {name} {}", quoted(extension));
        }
        for pattern in &need.programs {
            let version = need.version.iter().flatten().map(|word| quoted(word));
            let version = version.collect::<Vec<_>>().join(" ");
            let _ = match pattern.split_once('*') {
                Some((before, after)) => {
                    writeln!(
                        script,
                        "program {name} {} {} {version}",
                        quoted(before),
                        quoted(after)
                    )
                }
                None => writeln!(script, "exact {name} {} {version}", quoted(pattern)),
            };
        }
        for pattern in &need.files {
            let text = need.version_in_file.as_deref().unwrap_or_default();
            let _ = writeln!(script, "file {name} {} {}", quoted(pattern), quoted(text));
        }
    }
    script
}

impl ImageContent {
    /// Reads what the script printed. Lines of another form are skipped.
    pub fn parse(printed: &str) -> ImageContent {
        let mut found = ImageContent::default();
        for line in printed.lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let [kind, name, path, version] = fields.as_slice() else { continue };
            match *kind {
                "need" => {
                    let need = FoundNeed { path: path.into(), version: version.trim().to_owned() };
                    let all = found.needs.entry((*name).to_owned()).or_default();
                    if !all.iter().any(|known| known.path == need.path) {
                        all.push(need);
                    }
                }
                "object" => {
                    found.objects.insert(path.into());
                }
                "extensions" if Path::new(path).is_absolute() => {
                    found.extensions = Some(path.into());
                }
                // `[PHP Modules]` is a heading.
                "module" if !path.is_empty() && !path.starts_with('[') => {
                    // OPcache calls itself by another name than its file.
                    let name = path.to_ascii_lowercase();
                    found.built_in.insert(name.trim_start_matches("zend ").to_owned());
                }
                _ => {}
            }
        }
        found
    }
}

/// The image whose program installs extensions with the libraries that they need, on Debian and on
/// Alpine. PHP's official images name it as a way to do so.
const INSTALLER: &str = "mlocati/php-extension-installer:2";

/// Packages of the distributions that images are made of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Packages {
    /// Names in Debian, and so in Ubuntu.
    pub debian: Vec<String>,
    /// Names in Alpine; empty: it does not have them.
    #[serde(default)]
    pub alpine: Vec<String>,
    /// Whether PHP is the distribution's, too, and so are its extensions.
    #[serde(default)]
    pub with_php: bool,
}

/// The releases of Debian that images may be made of, and the PHP that each has.
const DEBIANS: [(&str, &str); 3] = [("13", "8.4"), ("12", "8.2"), ("11", "7.4")];

/// The package of Debian that has an extension of PHP; `None`: it comes with PHP.
fn debian_package(extension: &str) -> Option<String> {
    let name = match extension {
        "pdo_mysql" | "mysqli" | "mysqlnd" => "mysql",
        "pdo_pgsql" => "pgsql",
        "pdo_sqlite" => "sqlite3",
        "pdo_odbc" => "odbc",
        "pdo_dblib" => "sybase",
        "pdo_firebird" => "interbase",
        "dom" | "simplexml" | "xmlreader" | "xmlwriter" | "xsl" => "xml",
        "calendar" | "ctype" | "date" | "exif" | "ffi" | "fileinfo" | "filter" | "ftp"
        | "gettext" | "hash" | "iconv" | "libxml" | "opcache" | "openssl" | "pcntl" | "pcre"
        | "pdo" | "phar" | "posix" | "session" | "shmop" | "sockets" | "sodium" | "spl"
        | "standard" | "sysvmsg" | "sysvsem" | "sysvshm" | "tokenizer" | "zlib" => return None,
        other => other,
    };
    Some(format!("php-{name}"))
}

impl Packages {
    /// The line of a Dockerfile that installs them.
    fn line(&self) -> String {
        let apt = format!(
            "apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends {} && \
             rm -rf /var/lib/apt/lists/*",
            self.debian.join(" ")
        );
        match self.alpine.is_empty() {
            true => format!("RUN {apt}"),
            false => format!(
                "RUN if command -v apk >/dev/null; then apk add --no-cache {}; else {apt}; fi",
                self.alpine.join(" ")
            ),
        }
    }
}

/// What is added to an image.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Additions {
    /// Packages of its distribution.
    pub packages: Option<Packages>,
    /// A file of another image, which is copied to `/usr/local/bin`: image and path.
    pub copy: Option<(String, String)>,
    /// Extensions of PHP.
    pub extensions: Vec<String>,
}

impl Additions {
    /// The images that they are taken from.
    pub fn sources(&self) -> Vec<&str> {
        let copied = self.copy.iter().map(|(image, _)| image.as_str());
        let installer = (!self.compiled().is_empty()).then_some(INSTALLER);
        copied.chain(installer).collect()
    }

    /// The extensions that are compiled for the image's PHP.
    fn compiled(&self) -> &[String] {
        let is_packaged = self.packages.as_ref().is_some_and(|packages| packages.with_php);
        if is_packaged { &[] } else { &self.extensions }
    }

    /// The packages, with those of the extensions.
    fn packaged(&self) -> Option<Packages> {
        let mut packages = self.packages.clone()?;
        if packages.with_php {
            let of_extensions = self.extensions.iter().filter_map(|name| debian_package(name));
            packages.debian.extend(of_extensions.collect::<BTreeSet<String>>());
        }
        Some(packages).filter(|packages| !packages.debian.is_empty())
    }

    /// The Dockerfile that adds them to `base`. `None`: there is nothing to add.
    pub fn dockerfile(&self, base: &str) -> Option<String> {
        let mut text = format!("FROM {base}\nUSER root\n");
        let bare = text.len();
        if let Some(packages) = self.packaged() {
            let _ = writeln!(text, "{}", packages.line());
        }
        if let Some((image, path)) = &self.copy {
            let _ = writeln!(text, "COPY --from={image} {path} /usr/local/bin/");
        }
        if !self.compiled().is_empty() {
            let _ = writeln!(
                text,
                "COPY --from={INSTALLER} /usr/bin/install-php-extensions /usr/local/bin/\n\
                 RUN install-php-extensions {}",
                self.compiled().join(" ")
            );
        }
        (text.len() > bare).then_some(text)
    }
}

/// The name of an image with the version of PHP in place of `{php}`, and Debian's release that has this PHP in
/// place of `{debian}`.
///
/// # Errors
/// No release of Debian has it.
pub fn with_php(image: &str, version: &str) -> Result<String, ComposeError> {
    let named = image.replace("{php}", version);
    if !named.contains(DEBIAN) {
        return Ok(named);
    }
    let release = DEBIANS.iter().find(|(_, php)| *php == version);
    let known = || DEBIANS.map(|(_, php)| php.to_owned()).to_vec();
    let none = || ComposeError::NoDebian { php: version.to_owned(), known: known() };
    release.map(|(release, _)| named.replace(DEBIAN, release)).ok_or_else(none)
}

/// Whether an image can have this version of PHP.
pub fn can_have_php(image: &str, version: &str) -> bool {
    !image.contains(DEBIAN) || DEBIANS.iter().any(|(_, php)| *php == version)
}

/// Stands for the release of Debian in the name of an image.
const DEBIAN: &str = "{debian}";

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    fn need(name: &str, programs: &[&str], version: &[&str]) -> WantedNeed {
        WantedNeed {
            name: name.to_owned(),
            programs: programs.iter().map(|&one| one.to_owned()).collect(),
            version: Some(version.iter().map(|&one| one.to_owned()).collect()),
            ..WantedNeed::default()
        }
    }

    /// What this machine's shell finds in `place`, as an image's shell does in the image.
    fn found_in(place: &Path, wanted: &[WantedNeed]) -> ImageContent {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", &script(wanted)]).env("PATH", place);
        // The script adds the directories of the system, of which `tr` and `grep` are needed.
        let output = command.output().expect("a shell");
        ImageContent::parse(&String::from_utf8_lossy(&output.stdout))
    }

    #[test]
    fn the_shell_of_an_image_finds_programs_and_their_versions() {
        let place = tempfile::tempdir().expect("a directory");
        let write = |name: &str, text: &str, mode: u32| {
            use std::os::unix::fs::PermissionsExt as _;
            let path = place.path().join(name);
            std::fs::write(&path, text).expect("a file");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("a mode");
            path
        };
        let stderr = "#!/bin/sh\necho >&2\necho \"engine $1 1.29\" >&2\n";
        let engine = write("own-engine", stderr, 0o755);
        write("own-engine-debug", "#!/bin/sh\nexit 1\n", 0o755);
        let old = write("own-fpm8.2", "#!/bin/sh\necho 'PHP 8.2.29 (fpm-fcgi)'\n", 0o755);
        write("own-fpm8.4", "no program", 0o644);
        write("own-fpm-config", "#!/bin/sh\necho config\n", 0o755);
        let module = write("libown8.2.so", "\0X-Powered-By: PHP/8.2.29\0", 0o644);
        let other = write("mod_rewrite.so", "", 0o644);
        let library = WantedNeed {
            name: "mod_own".to_owned(),
            files: vec![format!("{}/libown*.so", place.path().display())],
            version_in_file: Some("X-Powered-By: PHP/".to_owned()),
            ..WantedNeed::default()
        };
        let wanted = [
            need("engine", &["own-engine"], &["-v"]),
            need("fpm", &["own-fpm*"], &["-v"]),
            library,
        ];
        let found = found_in(place.path(), &wanted);
        let of = |name: &str| -> Vec<(PathBuf, String)> {
            let all = found.needs.get(name).into_iter().flatten();
            all.map(|one| (one.path.clone(), one.version.clone())).collect()
        };
        assert_eq!(of("engine"), [(engine, "engine -v 1.29".to_owned())]);
        assert_eq!(of("fpm"), [(old, "PHP 8.2.29 (fpm-fcgi)".to_owned())]);
        assert_eq!(of("mod_own"), [(module.clone(), "8.2.29".to_owned())]);
        assert!(found.objects.contains(&module) && found.objects.contains(&other), "{found:?}");
    }

    #[test]
    fn extensions_are_known_as_files_and_built_in() {
        let printed = "extensions\t.\t/usr/lib/php/20220829\t.\nobject\t.\t/usr/lib/php/20220829/intl.so\t.\n\
            module\t.\t[PHP Modules]\t.\nmodule\t.\tCore\t.\nmodule\t.\tZend OPcache\t.\nnoise\n\
            need\tphp\t/usr/bin/php\tPHP 8.2.29 (cli)\nneed\tphp\t/usr/bin/php\tPHP 8.2.29 (cli)\n";
        let found = ImageContent::parse(printed);
        assert!(found.has_extension("intl") && found.has_extension("core"));
        assert!(found.has_extension("OPcache") && !found.has_extension("gd"));
        assert_eq!(found.needs["php"].len(), 1, "{found:?}");
        let mut web = ImageContent::parse("object\t.\t/usr/lib/apache2/modules/mod_php.so\t.\n");
        web.extend(&found);
        assert!(web.has_extension("intl") && web.objects.len() == 2);
    }

    #[test]
    fn a_dockerfile_adds_what_is_missing_and_nothing_else() {
        assert_eq!(Additions::default().dockerfile("php:8.4-fpm"), None);
        let all = Additions {
            packages: None,
            copy: Some(("ghcr.io/roadrunner-server/roadrunner:2025".into(), "/usr/bin/rr".into())),
            extensions: vec!["intl".to_owned(), "sockets".to_owned()],
        };
        insta::assert_snapshot!(all.dockerfile("php:8.4-cli").expect("a file"), @r"
        FROM php:8.4-cli
        USER root
        COPY --from=ghcr.io/roadrunner-server/roadrunner:2025 /usr/bin/rr /usr/local/bin/
        COPY --from=mlocati/php-extension-installer:2 /usr/bin/install-php-extensions /usr/local/bin/
        RUN install-php-extensions intl sockets
        ");
        assert_eq!(all.sources().len(), 2);
        let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let of = |alpine: &[&str]| {
            let debian = words(&["apache2", "libapache2-mod-fcgid"]);
            let packages = Packages { debian, alpine: words(alpine), with_php: false };
            let added = Additions { packages: Some(packages), ..Additions::default() };
            added.dockerfile("php:8.4-cli").expect("a file")
        };
        assert!(of(&[]).ends_with("rm -rf /var/lib/apt/lists/*\n"), "{}", of(&[]));
        let both = of(&["apache2", "apache2-mod-fcgid"]);
        assert!(
            both.contains("apk add --no-cache apache2 apache2-mod-fcgid; else apt-get update"),
            "{both}"
        );
        assert_eq!(with_php("php:{php}-fpm", "8.4").expect("a name"), "php:8.4-fpm");
    }

    #[test]
    fn a_php_of_the_distribution_gets_extensions_of_the_distribution() {
        let debian = vec!["uwsgi-plugin-php".to_owned()];
        let packages = Packages { debian, alpine: Vec::new(), with_php: true };
        let extensions = ["intl", "pdo_mysql", "mysqli", "ctype", "dom", "redis"];
        let extensions = extensions.map(str::to_owned).to_vec();
        let all = Additions { packages: Some(packages), copy: None, extensions };
        let text = all.dockerfile("debian:13").expect("a file");
        assert!(
            text.contains(" uwsgi-plugin-php php-intl php-mysql php-redis php-xml && "),
            "{text}"
        );
        assert!(!text.contains("install-php-extensions") && all.sources().is_empty(), "{text}");
        // What comes with PHP needs no package.
        let none = Packages { with_php: true, ..Packages::default() };
        let extensions = vec!["ctype".to_owned()];
        let all = Additions { packages: Some(none), copy: None, extensions };
        assert_eq!(all.dockerfile("debian:13"), None);
        let of = |version: &str| with_php("debian:{debian}", version);
        assert_eq!(
            (of("8.4").ok(), of("8.2").ok()),
            (Some("debian:13".into()), Some("debian:12".into()))
        );
        let refused = of("8.3").expect_err("no release").to_string();
        assert!(refused.contains("8.3") && refused.contains("8.4"), "{refused}");
        assert!(can_have_php("php:{php}", "8.3") && !can_have_php("debian:{debian}", "8.3"));
    }
}
