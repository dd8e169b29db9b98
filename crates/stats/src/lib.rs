//! Pure maths of stampede: no I/O, no clock, and nothing of ours below it.

pub mod baseline;
pub mod best;
pub mod bootstrap;
mod chi;
pub mod compare;
pub mod drift;
pub mod dunnett;
pub mod estimate;
pub mod histogram;
pub mod knee;
pub mod letters;
pub mod normal;
pub mod percentile;
pub mod random;
pub mod rounds;
pub mod search;
pub mod slope;
pub mod steady;
pub mod t;
pub mod tukey;
pub mod unpaired;
pub mod usl;
