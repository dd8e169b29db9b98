//! stub
#![allow(missing_docs)]
pub struct Suspect;
pub fn look(_f: &std::path::Path, _k: &str) -> Vec<Suspect> { Vec::new() }
