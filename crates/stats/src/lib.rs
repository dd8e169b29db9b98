//! Pure maths of stampede: no I/O, no clock, and nothing of ours below it.

pub mod compare;
pub mod estimate;
pub mod histogram;
pub mod percentile;
pub mod t;
pub mod unpaired;
