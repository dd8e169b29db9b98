//! Reads what this machine is set up to serve PHP with: php.ini, pools, web servers.
//!
//! stampede's own runtimes read none of these files, so what they set has no part in a comparison.
//! This crate says what they set ([`read`]), which of it differs from a run's own settings
//! ([`differences`]), and what a variant takes over to be as on this machine ([`take_over`]).
//!
//! Only files are read, never a program is started. What cannot be read is part of the result and no
//! error.

mod apache;
mod chosen;
mod defaults;
mod differences;
mod ini;
mod nginx;
mod php;
mod pool;
mod setting;
mod taken;
mod tree;

#[cfg(test)]
mod tests;

use std::path::Path;

use serde::Serialize;

pub use apache::Apache;
pub use chosen::{Chosen, Server};
pub use differences::{Difference, RunSettings, differences};
pub use nginx::{Nginx, Site};
pub use php::{Extension, PhpSetup, Sapi};
pub use pool::Pool;
pub use setting::{Place, Setting, Settings, shown};
pub use taken::{NotTaken, Taken, TakenOver, WhyNot, take_over};
pub use tree::Unreadable;

/// What a machine is set up to serve PHP with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostPhp {
    /// The PHPs, those of PHP-FPM first.
    pub setups: Vec<PhpSetup>,
    /// nginx; `None`: it has no configuration here.
    pub nginx: Option<Nginx>,
    /// Apache; `None`: it has no configuration here.
    pub apache: Option<Apache>,
    /// Files that are there and could not be read.
    pub unreadable: Vec<Unreadable>,
}

/// Where the files are looked for, for people.
pub const LOOKED_FOR: &[&str] =
    &["/etc/php/VERSION", "/usr/local/etc/php", "/etc/php.ini", "/etc/opt/remi"];

/// Reads the configuration below `root`: `/`, or a made-up tree in a test.
pub fn read(root: &Path) -> HostPhp {
    let tree = tree::Tree::new(root);
    let (setups, nginx, apache) = (php::setups(&tree), nginx::nginx(&tree), apache::apache(&tree));
    HostPhp { setups, nginx, apache, unreadable: tree.into_unreadable() }
}
