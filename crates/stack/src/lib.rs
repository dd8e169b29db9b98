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
pub mod external;
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

pub use answer::{Answer, Masks, client_config, get_with, read as read_answer, sha256};
pub use app::App;
pub use app_manifest::AppManifest;
pub use catalogue::{Catalogue, RuntimeDirectory};
pub use check::RuntimeTraits;
pub use copy::{is_left_out, rewrite_settings_paths, some as copy_some};
pub use database::CountError;
pub use detect::LOOKED_FOR;
pub use dotenv::{env_notices, learn_secrets};
pub use error::{RuntimeError, nearest};
pub use evidence::FpmStatusPage;
pub use list::{RuntimeListing, RuntimeState, describe_runtime, list};
pub use locate::{ExtensionError, LIB, ResolvedNeed, SearchPaths};
pub use logs::LogMarks;
pub use manifest::{BuildRecipe, HeldBy, Mode, Release, RuntimeManifest};
pub use own_database::{
    DATABASE_VARIABLES, DatabaseSeed, OwnDatabase, choose_seed, own_database, with_scratch_database,
};
pub use page::{Accepts, PageRequest, PageResult, Site, path_on_same_host, request_page};
pub use pages::{AnswerContext, Pages};
pub use php_errors::PhpErrors;
pub use plain::{PlainConnector, agent as plain_agent};
pub use port::is_ours as holds_port;
pub use prepare::{Placement, PreparedStack, StackSetup, prepare};
pub use problem::ProgramSource;
pub use ready::{start, start_answering};
pub use setting::{COMMON, CommonSetting, SettingKind, Settings};
pub use start::{Failure, RunningStack, StackHandle, Supervisor};
pub use up::{
    keeper_per_directory, start_cold, start_cold_without_request, start_runtime,
    start_with_any_answer, start_without_any_request,
};
pub use user::User;
pub use verify::{comparable_answer, verify, verify_pages};
pub use watched::{WATCHED, WatchMode};
