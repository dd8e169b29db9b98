//! Watches what the whole stack spends, once a second, for 1 % of a CPU at most.

pub mod sample;
