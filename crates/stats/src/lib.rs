//! The statistics of stampede as pure functions: no I/O, no clock, and no other crate of the
//! workspace.

pub mod baseline;
pub mod best;
pub mod bootstrap;
pub mod change;
mod chi;
pub mod compare;
pub mod drift;
pub mod dunnett;
pub mod energy;
pub mod estimate;
pub mod histogram;
pub mod kendall;
pub mod knee;
pub mod letters;
pub mod normal;
pub mod pelt;
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
