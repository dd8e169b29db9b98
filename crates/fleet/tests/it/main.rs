//! Coordinator and agents together: in simulated time, and over real connections.

mod simulated;
mod simulation;
