//! Starts runtimes from directories of data, and verifies what each of them is.
//!
//! ```text
//! StackRequest ─resolve─▶ StackSpec ─materialise, start─▶ Box<dyn Stack> ─verify─▶ ObservedState
//! ```
//! A [`Provider`] does this: for processes of this machine, for containers of a compose project, or
//! for servers that already run. Nothing outside of it knows which. Nothing here names a runtime: adding a runtime adds only its directory.

mod answer;
mod app;
mod app_file;
mod app_manifest;
mod catalogue;
mod client;
mod common_need;
mod compose;
mod composer;
mod cookies;
mod copy;
mod database;
mod database_choice;
mod deployed;
mod detect;
mod differences;
mod directory;
mod directory_files;
mod dotenv;
mod entries;
mod entry;
mod error;
mod evidence;
pub mod external;
mod fastcgi;
mod framework;
mod front;
mod hint;
mod images;
#[cfg(test)]
mod known_frameworks_tests;
mod lasting;
mod library;
mod list;
mod locate;
mod logs;
mod manifest;
mod outside;
mod own_database;
mod ownership;
mod page;
mod pages;
mod php_constraint;
mod place;
mod placement;
mod problem;
mod process;
mod provider;
mod resolve;
mod run_php;
mod setting;
mod spec;
mod stable;
mod template;

pub use answer::{Answer, Masks, sha256};
pub use app::App;
pub use app_manifest::AppManifest;
pub use catalogue::{Catalogue, RuntimeDirectory};
pub use client::{ClientError, SingleClient};
pub use compose::{ComposeError, ComposeProvider};
pub use cookies::{CookieChange, CookieJar, cookie_changes};
pub use copy::{SettingsPaths, is_left_out, rewrite_settings_paths, some as copy_some};
pub use database::CountError;
pub use directory_files::RuleForm;
pub use dotenv::{env_notices, learn_secrets};
pub use entries::{LOOKED_FOR, looks_like_app, may_be_app};
pub use error::{RuntimeError, nearest};
pub use evidence::FpmStatusPage;
pub use hint::entries_hint;
pub use list::{RuntimeListing, RuntimeState, describe_runtime, list};
pub use locate::{ExtensionError, LIB, ResolvedNeed, SearchPaths};
pub use logs::LogMarks;
pub use manifest::{BuildRecipe, HeldBy, Mode, Release, RuntimeManifest};
pub use own_database::{
    DATABASE_VARIABLES, DatabaseSeed, OwnDatabase, choose_seed, with_scratch_database,
};
pub use page::{
    Accepts, PageRequest, PageResult, Site, SiteRequest, origin, path_on_same_host, request_page,
};
pub use pages::{AnswerContext, Pages};
pub use placement::Placement;
pub use problem::ProgramSource;
pub use process::app_path::bind_mount;
pub use process::denied::DeniedFiles;
pub use process::materialise::{PreparedStack, StackSetup};
pub use process::php_log::{PhpLog, PhpMessages};
pub use process::port::is_ours as holds_port;
pub use process::stack::{Failure, ProcessStack, StackHandle, Supervisor};
pub use process::user::{User, unprivileged};
pub use process::watched::{WATCHED, WatchMode};
pub use process::working_directory::check_way;
pub use process::{ProcessProvider, Supervise};
pub use provider::{Endpoint, Logs, NoLogs, Provider, Providers, Stack, StackLoss, StackRequest};
pub use resolve::RuntimeTraits;
pub use setting::{COMMON, CommonSetting, DirectoryKind, SettingKind, Settings};
pub use spec::{Caches, Readiness, StackSpec, StartPurpose};
