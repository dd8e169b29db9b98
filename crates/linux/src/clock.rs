//! The time of day.

/// The current time as RFC 3339, in local time, to the second.
pub fn now() -> String {
    jiff::Zoned::now().strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}
