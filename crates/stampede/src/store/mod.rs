//! Results on disk: one folder a run, one a trial, written as each trial ends.

pub mod record;
