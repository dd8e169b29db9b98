//! Coordinator and agents together: in simulated time, and over real connections.

mod corpus;
mod simulated;
mod simulation;
