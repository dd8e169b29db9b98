//! Percentiles that rank every planned shot.
