//! What stampede speaks about, as data: loads, records of runs, facts and units. Nothing here reads
//! a file, opens a socket or starts a process.

pub mod counts;
pub mod entry;
pub mod failure;
pub mod load;
pub mod schedule;
pub mod time;
