//! Cells, their order, and one measured execution of each.

pub mod verdict;
