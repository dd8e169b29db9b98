//! What stampede speaks about, as data: loads, records of runs, facts and units. Nothing here reads
//! a file, opens a socket or starts a process.

pub mod address;
pub mod agent_places;
pub mod agents;
pub mod app_kind;
pub mod causes;
pub mod counts;
pub mod cpus;
pub mod entry;
pub mod event;
pub mod expectation;
pub mod fact;
pub mod failure;
pub mod ini_text;
pub mod isolation;
pub mod kept;
pub mod lag;
pub mod load;
pub mod machine;
pub mod numbers;
pub mod observed;
pub mod part;
pub mod primary;
pub mod process_group;
pub mod quantity;
pub mod record;
pub mod redirect;
pub mod sample;
pub mod schedule;
pub mod segments;
pub mod stat;
pub mod stop;
pub mod time;
pub mod words;
