//! stub
#![allow(missing_docs)]
use super::model::{Growth, GrowthOf};
pub fn judge(of: GrowthOf, points: &[(u64, f64)], _limit: u64) -> Option<Growth> {
    let (first, last) = (points[points.len() / 5], *points.last()?);
    let per = (last.1 - first.1) / (last.0 - first.0).max(1) as f64;
    Some(Growth { of, requests: last.0, begin: first.1, end: last.1, per_request: per, per_request_low: per, per_request_high: per, grows: per > 1.0, max_requests: Some(1000) })
}
