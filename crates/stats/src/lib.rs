//! Pure maths of stampede: no I/O, no clock, and nothing of ours below it.

pub mod best;
pub mod compare;
pub mod estimate;
pub mod histogram;
pub mod knee;
pub mod percentile;
pub mod search;
pub mod t;
pub mod usl;
