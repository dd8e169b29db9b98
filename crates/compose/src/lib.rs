//! Compose projects as documents: which files make one, which of its services answers requests, what
//! shows that it is meant for development, and what has to change so that it runs beside the user's own
//! project. The compose tool and the engine are asked by their command lines, also to start what the stack consists of.

pub mod access;
mod behind_proxy;
pub mod build;
pub mod build_log;
mod choice;
pub mod client;
pub mod code;
pub mod container;
pub mod discover;
mod dockerfile;
mod dockerfile_images;
pub mod edit;
pub mod engine;
mod engine_facts;
pub mod entrance;
pub mod error;
pub mod example;
pub mod fetch;
mod file_problem;
pub mod groups;
pub mod health;
mod hints;
pub mod image;
pub mod known;
mod layers;
pub mod limits;
mod mount_forms;
mod mounted_file;
pub mod news;
mod one_by_one;
mod outside;
pub mod owner;
pub mod php_ini;
mod podman_build;
pub mod private;
pub mod project;
pub mod removal;
mod render;
pub mod said;
pub mod signs;
pub mod stages;
pub mod up;
mod variables;
mod yaml;

pub use error::ComposeError;

#[cfg(test)]
mod public_tests;
