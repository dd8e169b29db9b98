//! Tests that the servers behave as described.

mod known;
mod null;
