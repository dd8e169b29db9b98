//! stub
#![allow(missing_docs)]
pub fn meant(headers: &[(String, String)]) -> Vec<(String, String)> { headers.iter().filter(|(n,_)| n == "content-type").cloned().collect() }
