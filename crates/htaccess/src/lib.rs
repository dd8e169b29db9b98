//! Reads what an app says to Apache and PHP in its directories (`.htaccess`, `.user.ini`), and says
//! it to other web servers.
//!
//! The files are texts of others. Of their expressions and targets nothing is copied into a
//! configuration: they are read into parts, and written anew with characters that no server takes for
//! its own. What is not understood is named, with its line and the reason.

mod access;
mod apache;
mod caddy;
mod directory;
mod ini;
mod lighttpd;
mod nginx;
mod parse;
mod pattern;
mod php;
mod rewrite;
mod rule;
mod target;
mod uwsgi;

pub use apache::{Apache, Included, MODULES};
pub use caddy::Caddy;
pub use directory::{Directory, Source};
pub use ini::{Ini, read_user_ini};
pub use lighttpd::Lighttpd;
pub use php::{Router, RouterPart, RouterRule};
pub use rule::Place;
pub use stampede_model::fact::LineReason as Why;

/// A directive that a server is not told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Where it stands.
    pub place: Place,
    /// Why.
    pub why: Why,
}

impl Left {
    pub(crate) fn new(place: Place, why: Why) -> Left {
        Left { place, why }
    }
}

/// What a server is told.
#[derive(Clone, Debug, Default)]
pub struct Written<T> {
    /// It, as the server reads it.
    pub what: T,
    /// What it cannot be told.
    pub left: Vec<Left>,
}
