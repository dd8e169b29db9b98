//! Finds the PHPs of this machine and what their php.ini, `conf.d` and pools say.
//!
//! Three layouts are known: Debian's (`/etc/php/8.2/fpm`), that of the official Docker images
//! (`/usr/local/etc/php`), and that of Red Hat and Remi (`/etc/php.ini`, `/etc/php.d`;
//! `/etc/opt/remi/php83`).

use serde::Serialize;

use crate::ini::{Entry, parse};
use crate::pool::{Pool, pools};
use crate::setting::{Place, Setting, Settings, learn};
use crate::tree::Tree;

/// What runs PHP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sapi {
    /// PHP-FPM.
    Fpm,
    /// PHP inside Apache.
    Apache,
    /// The command line. It serves nobody.
    Cli,
}

/// An extension that PHP loads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Extension {
    /// Its name without `.so`, or its whole path where the line has one.
    pub name: String,
    /// Whether it is one of the engine, as OPcache and Xdebug are.
    pub is_zend: bool,
    /// The line that loads it.
    pub at: Place,
}

/// A PHP for one SAPI.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PhpSetup {
    /// What runs it.
    pub sapi: Sapi,
    /// The version as the layout has it, such as `8.2`; `None`: the paths do not say.
    pub version: Option<String>,
    /// The settings of php.ini and `conf.d`.
    pub ini: Settings,
    /// The extensions in the order of the lines. Those that are built in are not known.
    pub extensions: Vec<Extension>,
    /// The files that were read, in their order.
    pub files: Vec<String>,
    /// Files with the line at which PHP stops reading them.
    pub broken: Vec<Place>,
    /// PHP-FPM's pools.
    pub pools: Vec<Pool>,
    /// The program of PHP-FPM or the module of Apache, where it is at its usual place.
    pub program: Option<String>,
}

/// Where the files of one PHP are.
struct Layout {
    sapi: Sapi,
    version: Option<String>,
    ini: String,
    scan: String,
    /// PHP-FPM's own file.
    fpm: Option<String>,
    programs: Vec<String>,
}

/// The name of the extension from a line `extension = redis.so`.
fn extension_name(value: &str) -> String {
    let value = value.trim();
    let name = value.strip_suffix(".so").unwrap_or(value);
    // A path outside of the compiled-in directory must stay one.
    if value.starts_with('/') { value.to_owned() } else { name.to_owned() }
}

/// All PHPs, Debian's highest version first, PHP-FPM before the others.
pub(crate) fn setups(tree: &Tree) -> Vec<PhpSetup> {
    let mut layouts = debian(tree);
    layouts.extend(docker());
    layouts.extend(red_hat(tree));
    layouts.into_iter().filter_map(|layout| setup(tree, layout)).collect()
}

fn debian(tree: &Tree) -> Vec<Layout> {
    let is_version = |name: &String| name.starts_with(|c: char| c.is_ascii_digit());
    let mut versions: Vec<String> = tree.names("/etc/php").into_iter().filter(is_version).collect();
    versions.sort_by_key(|version| std::cmp::Reverse(numbers(version)));
    let of = |version: &String, (sapi, name): (Sapi, &str)| {
        let directory = format!("/etc/php/{version}/{name}");
        Layout {
            sapi,
            version: Some(version.clone()),
            ini: format!("{directory}/php.ini"),
            scan: format!("{directory}/conf.d"),
            fpm: (sapi == Sapi::Fpm).then(|| format!("{directory}/php-fpm.conf")),
            programs: match sapi {
                Sapi::Fpm => vec![format!("/usr/sbin/php-fpm{version}")],
                Sapi::Apache => vec![format!("/usr/lib/apache2/modules/libphp{version}.so")],
                Sapi::Cli => Vec::new(),
            },
        }
    };
    let sapis = [(Sapi::Fpm, "fpm"), (Sapi::Apache, "apache2"), (Sapi::Cli, "cli")];
    sapis.iter().flat_map(|sapi| versions.iter().map(move |version| of(version, *sapi))).collect()
}

/// The images have one PHP: `php:8.3-fpm`, `php:8.3-apache` or `php:8.3-cli`.
fn docker() -> Vec<Layout> {
    let layout = |sapi, fpm: Option<&str>, programs: &[&str]| Layout {
        sapi,
        version: None,
        ini: "/usr/local/etc/php/php.ini".to_owned(),
        scan: "/usr/local/etc/php/conf.d".to_owned(),
        fpm: fpm.map(str::to_owned),
        programs: programs.iter().map(|path| (*path).to_owned()).collect(),
    };
    vec![
        layout(Sapi::Fpm, Some("/usr/local/etc/php-fpm.conf"), &["/usr/local/sbin/php-fpm"]),
        layout(Sapi::Apache, None, &["/usr/lib/apache2/modules/libphp.so"]),
        layout(Sapi::Cli, None, &[]),
    ]
}

/// The programs of a software collection, relative to its directory.
const OF_COLLECTION: &str = "root/usr";

fn red_hat(tree: &Tree) -> Vec<Layout> {
    let layout = |prefix: &str, version: Option<String>, sapi| {
        // A collection in `/etc/opt/NAME` has its programs in `/opt/NAME`.
        let root = match prefix.strip_prefix("/etc/opt") {
            Some(name) => format!("/opt{name}/{OF_COLLECTION}"),
            None => "/usr".to_owned(),
        };
        Layout {
            sapi,
            version,
            ini: format!("{prefix}/php.ini"),
            scan: format!("{prefix}/php.d"),
            fpm: (sapi == Sapi::Fpm).then(|| format!("{prefix}/php-fpm.conf")),
            programs: match sapi {
                Sapi::Fpm => vec![format!("{root}/sbin/php-fpm")],
                Sapi::Apache => vec![format!("{root}/lib64/httpd/modules/libphp.so")],
                Sapi::Cli => Vec::new(),
            },
        }
    };
    let collections = tree.glob("/etc/opt/remi/php[0-9]*");
    let of = |sapi: Sapi| {
        let own = std::iter::once(("/etc".to_owned(), None));
        let remi = collections.iter().rev().map(|path| {
            let digits = path.rsplit("php").next().unwrap_or_default();
            let version = digits.split_at_checked(1).map(|(a, b)| format!("{a}.{b}"));
            (path.clone(), version)
        });
        own.chain(remi).map(move |(prefix, version)| layout(&prefix, version, sapi))
    };
    [Sapi::Fpm, Sapi::Apache, Sapi::Cli].into_iter().flat_map(of).collect()
}

/// What a layout's files say; `None`: this SAPI is not set up here.
fn setup(tree: &Tree, layout: Layout) -> Option<PhpSetup> {
    let program = layout.programs.iter().find(|path| tree.is_file(path)).cloned();
    let is_there = match (&layout.fpm, layout.sapi) {
        (Some(fpm), _) => tree.is_file(fpm),
        // Where the layout has one directory for all SAPIs, the module tells.
        (None, Sapi::Apache) if !layout.ini.contains("/apache2/") => program.is_some(),
        (None, _) => tree.is_file(&layout.ini) || tree.is_dir(&layout.scan),
    };
    if !is_there {
        return None;
    }
    let mut setup = PhpSetup {
        sapi: layout.sapi,
        version: layout.version,
        ini: Settings::new(),
        extensions: Vec::new(),
        files: Vec::new(),
        broken: Vec::new(),
        pools: Vec::new(),
        program,
    };
    setup.read(tree, &layout.ini);
    for file in tree.glob(&format!("{}/*.ini", layout.scan)) {
        setup.read(tree, &file);
    }
    setup.pools = layout.fpm.map_or_else(Vec::new, |fpm| pools(tree, &fpm));
    Some(setup)
}

impl PhpSetup {
    fn read(&mut self, tree: &Tree, file: &str) {
        let Some(text) = tree.text(file) else { return };
        let parsed = parse(&text);
        self.files.push(file.to_owned());
        if let Some(line) = parsed.broken_at {
            self.broken.push(Place { file: file.to_owned(), line });
        }
        for entry in parsed.entries {
            self.set(file, entry);
        }
    }

    fn set(&mut self, file: &str, entry: Entry) {
        // These sections hold for one directory or one host only.
        let section = entry.section.as_deref().unwrap_or_default().to_ascii_uppercase();
        if section.starts_with("PATH=") || section.starts_with("HOST=") || entry.index.is_some() {
            return;
        }
        let Entry { key, value, is_known, line, .. } = entry;
        let at = Place { file: file.to_owned(), line };
        match key.as_str() {
            "extension" | "zend_extension" if !value.is_empty() => {
                let name = extension_name(&value);
                if !self.extensions.iter().any(|known| known.name == name) {
                    let is_zend = key == "zend_extension";
                    self.extensions.push(Extension { name, is_zend, at });
                }
            }
            _ => {
                learn(&key, &value);
                self.ini.insert(key, Setting { value, at, is_known });
            }
        }
    }

    /// Whether it serves requests: the command line does not.
    pub fn serves(&self) -> bool {
        self.sapi != Sapi::Cli
    }
}

/// The numbers of a version, to compare.
fn numbers(version: &str) -> Vec<u32> {
    version.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}
