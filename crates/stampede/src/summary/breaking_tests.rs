//! Made-up trials.
