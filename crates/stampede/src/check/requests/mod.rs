//! Which requests a check sends: those of a file, or those that the app itself names by its links
//! and its router.

mod crawl;
mod error;
mod file;
mod form;
mod links;
mod policy;
mod shape;
mod words;

use crate::check::model::{Asked, Skipped};

pub use crawl::{Crawl, PAGES};
pub use error::RequestError;
pub use file::read;
pub use links::{Links, json_links, links};
pub use policy::{METHODS, Policy};

/// Requests, and what of their list is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Listed {
    /// To be asked, each once, in the list's order.
    pub asked: Vec<Asked>,
    /// Not to be asked, and why.
    pub skipped: Vec<Skipped>,
}
