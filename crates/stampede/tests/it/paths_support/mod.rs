//! Support for the tests of paths and of requests: the reference as data, a client that sends any
//! target, and the pages that tell what differs.

pub mod ask;
pub mod reasons;
pub mod reference;
