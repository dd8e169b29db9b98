//! Nothing outlives stampede: a helper process that ends what was started.

pub mod spec;
