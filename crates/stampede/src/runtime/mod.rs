//! Starts runtimes from directories of data, and verifies what each of them is.
//!
//! ```text
//! Catalogue → prepare → Prepared → start → Running → verify → Observed
//! ```
//! Nothing here names a runtime: adding a runtime adds only its directory.

mod answer;
mod app;
mod app_manifest;
mod catalogue;
mod check;
mod cold;
mod copy;
mod database;
mod deployed;
mod detect;
mod dotenv;
mod entry;
mod error;
mod evidence;
mod fastcgi;
mod framework;
mod front;
mod lasting;
mod library;
mod list;
mod listen_address;
mod locate;
mod logs;
mod manifest;
mod own_database;
mod page;
mod pages;
mod php_errors;
mod plain;
mod port;
mod preparation;
mod prepare;
mod problem;
mod reach;
mod ready;
mod setting;
mod stable;
mod start;
mod template;
mod up;
mod user;
mod verify;
mod watched;
mod working_directory;

pub use answer::{Answer, Masks};
pub(crate) use answer::{client_config, get_with, read as read_answer, sha256};
pub use app::App;
pub use app_manifest::AppManifest;
pub use catalogue::{Catalogue, RuntimeDirectory};
pub use check::Traits;
pub(crate) use copy::{is_left_out, lead_settings, some as copy_some};
pub use database::{CountError, ROLE as DATABASE_ROLE};
pub(crate) use detect::LOOKED_FOR;
pub use dotenv::{env_notices, learn_secrets};
pub use error::{RuntimeError, ended, has, nearest};
pub use evidence::Pool;
pub use list::{Listed, State, list, listed};
pub use locate::{ExtensionError, LIB, Located, Places};
pub use logs::LogMarks;
pub use manifest::{AppKind, Get, HeldBy, Mode, Release, RuntimeManifest};
pub use own_database::{
    DATABASE_VARIABLES, Fill, OwnDatabase, filling, own_database, with_scratch,
};
pub use page::{
    Accepts, Arrived, Endless, Followed, PageRequest, Redirect, Site, arrive, inside, is_redirect,
};
pub(crate) use pages::{Pages, Place};
pub use php_errors::PhpErrors;
pub(crate) use plain::{Plain, agent as plain_agent};
pub(crate) use port::ours as holds_port;
pub use prepare::{Placement, Prepared, PreparedStack, prepare};
pub use problem::GivenBy;
pub use ready::{start, start_answering};
pub use setting::{COMMON, Common, Kind, Settings};
pub(crate) use stable::without_numbers;
pub use start::{Failure, Guard, Keep, Running};
pub use up::{under, up, up_answering, up_cold, up_silent, up_unasked};
pub use user::User;
pub use verify::{answer_of, verify, verify_pages};
pub use watched::{WATCHED, WatchMode};
