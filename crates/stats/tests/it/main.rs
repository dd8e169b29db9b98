//! Checks promises of the statistics in simulated runs.

mod baseline;
mod simulated;
