//! Lists of CPUs as the kernel writes and reads them (cpuset(7), "List format").

/// Parses `0-3,8` to ascending numbers (`Cpus_allowed_list`, `online`, `thread_siblings_list`).
/// Parts that do not parse are left out.
pub fn parse(text: &str) -> Vec<usize> {
    let mut cpus: Vec<usize> = text
        .trim()
        .split(',')
        .filter_map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Some(first.trim().parse::<usize>().ok()?..=last.trim().parse::<usize>().ok()?)
        })
        // A machine has fewer CPUs than this; an absurd range must not exhaust the memory.
        .flat_map(|range| range.take(CPUS_MAX))
        .collect();
    cpus.sort_unstable();
    cpus.dedup();
    cpus
}

/// Writes `0,1,2,5`, which the kernel reads as it reads ranges.
pub fn format(cpus: &[usize]) -> String {
    cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

/// Linux's own limit: `CONFIG_NR_CPUS` on x86.
const CPUS_MAX: usize = 8192;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_the_kernel_writes_them() {
        assert_eq!(parse("0-3,8\n"), [0, 1, 2, 3, 8]);
        assert_eq!(parse("5,1,1"), [1, 5]);
        assert_eq!(parse("0-99999999999").len(), CPUS_MAX);
        for empty in ["", "\n", "x", "3-", "3-1"] {
            assert!(parse(empty).is_empty(), "{empty:?}");
        }
    }

    #[test]
    fn lists_survive_a_round_trip() {
        for cpus in [&[][..], &[0], &[0, 1, 2, 5], &[3, 1_023]] {
            assert_eq!(parse(&format(cpus)), cpus);
        }
    }
}
