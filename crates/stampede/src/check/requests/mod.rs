//! stub
#![allow(missing_docs)]
pub mod crawl { pub struct Crawl(Option<String>); impl Crawl { pub fn new(s: &str, _l: usize) -> Crawl { Crawl(Some(s.to_owned())) } pub fn next(&mut self) -> Option<String> { self.0.take() } pub fn saw(&mut self, _t: &str, _k: &str, _b: &str) {} pub fn foreign(&self) -> usize { 0 } } }
pub mod policy { pub struct Policy; impl Policy { pub fn new(_m: &str, _s: &[String]) -> Policy { Policy } pub fn judge(&self, _a: &crate::check::model::Asked) -> Option<String> { None } } }
pub mod sign_in { pub fn wants_login(_: u16, _: Option<&str>, _: &str, _: Option<&str>) -> bool { false }
pub fn users(n: u32, _: &[String], _: &[std::path::PathBuf]) -> Result<Vec<Vec<(String, String)>>, super::RequestError> { Ok(vec![Vec::new(); n as usize]) } }
#[derive(Debug, thiserror::Error)]
#[error("no")]
pub struct RequestError;
pub struct Listed { pub requests: Vec<super::model::Asked> }
pub fn read(path: &std::path::Path) -> Result<Listed, RequestError> {
    let text = std::fs::read_to_string(path).map_err(|_| RequestError)?;
    Ok(Listed { requests: text.lines().map(|l| super::model::Asked { method: "GET".into(), target: l.into(), ..Default::default() }).collect() })
}
