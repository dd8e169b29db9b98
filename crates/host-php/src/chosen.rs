//! Chooses, of all that serves PHP on a machine, what serves one app.

use std::path::Path;

use serde::Serialize;

use crate::nginx::Site;
use crate::php::{PhpSetup, Sapi};
use crate::pool::Pool;
use crate::setting::{Setting, Settings};
use crate::{HostPhp, Nginx};

/// What serves PHP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Server {
    /// nginx, PHP-FPM behind it.
    NginxFpm,
    /// Apache, PHP-FPM behind it.
    ApacheFpm,
    /// Apache with PHP inside.
    ApacheModphp,
}

impl Server {
    /// The runtime of stampede's catalogue that is built alike.
    pub fn runtime(self) -> &'static str {
        match self {
            Server::NginxFpm => "nginx-fpm",
            Server::ApacheFpm => "apache-fpm",
            Server::ApacheModphp => "apache-modphp",
        }
    }

    /// The title for people.
    pub fn title(self) -> &'static str {
        match self {
            Server::NginxFpm => "nginx + PHP-FPM as on this machine",
            Server::ApacheFpm => "Apache + PHP-FPM as on this machine",
            Server::ApacheModphp => "Apache + mod_php as on this machine",
        }
    }
}

/// What serves an app on this machine.
#[derive(Clone, Copy, Debug)]
pub struct Chosen<'a> {
    /// What serves it.
    pub server: Server,
    /// Its PHP.
    pub php: &'a PhpSetup,
    /// PHP-FPM's pool; `None`: PHP is inside Apache, or no pool is defined.
    pub pool: Option<&'a Pool>,
    /// The site; `None`: the web server has none with PHP.
    pub site: Option<&'a Site>,
    /// All that was read.
    pub host: &'a HostPhp,
}

/// How well a site fits an app.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// Its root is the app's public directory.
    Root,
    /// It is the one for all hosts.
    Default,
    /// Another site with PHP.
    Other,
}

impl HostPhp {
    /// What serves the app whose public directory is `docroot`: the site with this root, else the
    /// default site, else any that has PHP. nginx comes before Apache. `None`: nothing here is set up
    /// to serve PHP.
    pub fn choose(&self, docroot: Option<&Path>) -> Option<Chosen<'_>> {
        let mut candidates: Vec<(Fit, Chosen<'_>)> = Vec::new();
        for site in self.nginx.iter().flat_map(|nginx| &nginx.sites) {
            let found = self.behind(Server::NginxFpm, site.php.as_deref(), Some(site));
            candidates.extend(found.map(|chosen| (fit(site, docroot), chosen)));
        }
        if let Some(apache) = &self.apache {
            for site in &apache.sites {
                let found = match site.php.as_deref().or(apache.fpm.as_deref()) {
                    Some(fpm) => self.behind(Server::ApacheFpm, Some(fpm), Some(site)),
                    None if apache.has_modphp() => self.inside(Some(site)),
                    None => None,
                };
                candidates.extend(found.map(|chosen| (fit(site, docroot), chosen)));
            }
        }
        // The first of equals wins.
        let best = candidates.into_iter().min_by_key(|(fit, _)| *fit).map(|(_, chosen)| chosen);
        best.or_else(|| self.without_site())
    }

    /// PHP is set up, and no site uses it: as in an image of PHP-FPM alone.
    fn without_site(&self) -> Option<Chosen<'_>> {
        let is_modphp = self.apache.as_ref().is_some_and(crate::Apache::has_modphp);
        let inside = || self.inside(None);
        match is_modphp && self.nginx.is_none() {
            true => inside(),
            false => self.behind(Server::NginxFpm, None, None).or_else(inside),
        }
    }

    /// The PHP-FPM that listens at `address`; if none does, the first one.
    fn behind<'a>(
        &'a self,
        server: Server,
        address: Option<&str>,
        site: Option<&'a Site>,
    ) -> Option<Chosen<'a>> {
        let fpms = || self.setups.iter().filter(|php| php.sapi == Sapi::Fpm);
        let listens = |pool: &&Pool| {
            address.is_some_and(|address| is_at(pool.get("listen").unwrap_or_default(), address))
        };
        let mut exact = fpms().filter_map(|php| Some((php, php.pools.iter().find(listens)?)));
        let (php, pool) = match exact.next() {
            Some((php, pool)) => (php, Some(pool)),
            None => fpms().next().map(|php| (php, php.pools.first()))?,
        };
        Some(Chosen { server, php, pool, site, host: self })
    }

    fn inside<'a>(&'a self, site: Option<&'a Site>) -> Option<Chosen<'a>> {
        let php = self.setups.iter().find(|php| php.sapi == Sapi::Apache)?;
        Some(Chosen { server: Server::ApacheModphp, php, pool: None, site, host: self })
    }
}

fn fit(site: &Site, docroot: Option<&Path>) -> Fit {
    let is_root = |root: &str| {
        let root = Path::new(root);
        // A deployment may be behind a link, such as `current`.
        docroot == Some(root) || root.canonicalize().is_ok_and(|root| docroot == Some(&root))
    };
    match &site.root {
        Some(root) if is_root(root.trim_end_matches('/')) => Fit::Root,
        _ if site.is_default => Fit::Default,
        _ => Fit::Other,
    }
}

/// Whether PHP-FPM's `listen` is the address that a web server names.
fn is_at(listen: &str, address: &str) -> bool {
    let plain = |text: &str| {
        let text = text.trim_start_matches("unix:").trim_end_matches(':');
        let text = text.replace("localhost:", "127.0.0.1:").replace("[::]:", "127.0.0.1:");
        match text.bytes().all(|byte| byte.is_ascii_digit()) {
            true => format!("127.0.0.1:{text}"),
            false => text.replace("0.0.0.0:", "127.0.0.1:").replace("/var/run/", "/run/"),
        }
    };
    plain(listen) == plain(address)
}

impl Chosen<'_> {
    /// The settings of PHP in force: php.ini, then the pool's or the site's.
    pub fn ini(&self) -> Settings {
        let mut ini = self.php.ini.clone();
        ini.extend(self.pool.into_iter().flat_map(|pool| pool.ini.clone()));
        if self.server == Server::ApacheModphp {
            ini.extend(self.host.apache.iter().flat_map(|apache| apache.php.clone()));
            let of_site = self.site.into_iter().flat_map(|site| &site.settings);
            ini.extend(of_site.filter_map(|(name, setting)| {
                Some((name.strip_prefix("php ")?.to_owned(), setting.clone()))
            }));
        }
        ini
    }

    /// A setting of the web server: the site's, else the whole server's.
    pub fn web(&self, name: &str) -> Option<&Setting> {
        let of_site = self.site.and_then(|site| site.settings.get(name));
        let of_server = || match self.server {
            Server::NginxFpm => self.nginx().and_then(|nginx| nginx.http.get(name)),
            _ => self.host.apache.as_ref().and_then(|apache| apache.settings.get(name)),
        };
        of_site.or_else(of_server)
    }

    /// nginx, if it is the server.
    pub fn nginx(&self) -> Option<&Nginx> {
        self.host.nginx.as_ref().filter(|_| self.server == Server::NginxFpm)
    }

    /// The files that were read for it, the php.ini first.
    pub fn files(&self) -> Vec<String> {
        let mut files: Vec<String> = self.php.files.iter().take(1).cloned().collect();
        files.extend(self.pool.map(|pool| pool.at.file.clone()));
        files.extend(self.site.map(|site| site.at.file.clone()));
        files
    }
}
