//! Support for the tests of paths: the reference as data, and a client that sends any target.

pub mod ask;
pub mod reference;
