//! Reads sizes of memory.

/// Reads a size in bytes: `1GiB`, `512M`, `256MB`, `1.5GiB`, `1048576`.
pub fn parse_size(text: &str) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    let unit = text[end..].trim().to_ascii_lowercase();
    let (_, bytes) = SIZE_UNITS.iter().find(|(name, _)| *name == unit)?;
    Some(number * *bytes as f64)
}

/// Units of sizes, in bytes. `M` is 1024², as in PHP, Docker and cgroups; `MB` is 10⁶.
const SIZE_UNITS: [(&str, u64); 15] = [
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("tib", 1 << 40),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("tb", 1_000_000_000_000),
    ("k", 1 << 10),
    ("m", 1 << 20),
    ("g", 1 << 30),
    ("t", 1 << 40),
    ("bytes", 1),
    ("b", 1),
    ("", 1),
];
