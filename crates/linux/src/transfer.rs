//! How much a cgroup, a process or a network namespace has read and written so far. The parsers are
//! pure, and return `None` where the text has no figures.
//!
//! Sources: the kernel's admin guide to cgroup v2 (`io.stat`), proc_pid_io(5), proc_pid_net(5).

/// Bytes read from disks and written to them by a cgroup v2 directory and those below it, from
/// `io.stat`: a line for each device. An empty file is a group that has done neither.
pub fn of_group(text: &str) -> (u64, u64) {
    let sum = |key: &str| -> u64 {
        let fields = text.split_ascii_whitespace();
        fields.filter_map(|field| field.strip_prefix(key)?.parse::<u64>().ok()).sum()
    };
    (sum("rbytes="), sum("wbytes="))
}

/// Bytes that a process caused to be read from disks and written to them, from `/proc/PID/io`.
/// Pages that were in the cache are in neither.
pub fn of_process(text: &str) -> Option<(u64, u64)> {
    let after =
        |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.trim().parse().ok());
    Some((after("read_bytes:")?, after("write_bytes:")?))
}

/// Bytes read from these disks and written to them, from `/proc/diskstats`, which counts sectors of
/// 512 bytes.
pub fn of_disks(text: &str, disks: &[&str]) -> (u64, u64) {
    let mut all = (0, 0);
    for line in text.lines() {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let sectors = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok());
        if let (Some(name), Some(read), Some(written)) = (fields.get(2), sectors(5), sectors(9))
            && disks.contains(name)
        {
            all = (all.0 + read * 512, all.1 + written * 512);
        }
    }
    all
}

/// Bytes that these network cards received and sent, from `/proc/net/dev`; without any, as
/// [`of_namespace`].
pub fn of_cards(text: &str, cards: &[&str]) -> Option<(u64, u64)> {
    let is_card = |line: &&str| cards.contains(&line.split(':').next().unwrap_or_default().trim());
    let lines: Vec<&str> = text.lines().filter(is_card).collect();
    match lines.is_empty() {
        true => of_namespace(text),
        false => of_namespace(&lines.join("\n")),
    }
}

/// Bytes that the interfaces of a network namespace received and sent, from `/proc/PID/net/dev`,
/// without its loopback. `None`: it has no other interface.
pub fn of_namespace(text: &str) -> Option<(u64, u64)> {
    let mut found = None;
    for line in text.lines() {
        let Some((name, counters)) = line.split_once(':') else { continue };
        if name.trim() == "lo" {
            continue;
        }
        let counters: Vec<u64> =
            counters.split_ascii_whitespace().filter_map(|one| one.parse().ok()).collect();
        // Eight columns of what was received, then those of what was sent; both begin with bytes.
        if let (Some(received), Some(sent)) = (counters.first(), counters.get(8)) {
            let (all_received, all_sent) = found.unwrap_or((0, 0));
            found = Some((all_received + received, all_sent + sent));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_adds_its_devices() {
        let text = "8:0 rbytes=4096 wbytes=100 rios=1 wios=2 dbytes=7 dios=0\n\
                    259:1 rbytes=1 wbytes=2 rios=1 wios=1\n";
        assert_eq!(of_group(text), (4097, 102));
        assert_eq!(of_group(""), (0, 0));
    }

    #[test]
    fn a_process_counts_what_reached_the_disk() {
        let text = "rchar: 323934931\nwchar: 323929600\nsyscr: 632687\nsyscw: 632675\n\
                    read_bytes: 8192\nwrite_bytes: 323932160\ncancelled_write_bytes: 0\n";
        assert_eq!(of_process(text), Some((8192, 323_932_160)));
        assert_eq!(of_process("rchar: 1\n"), None);
    }

    #[test]
    fn a_namespace_adds_its_interfaces_but_not_loopback() {
        let head = "Inter-|   Receive                            |  Transmit\n \
                    face |bytes packets errs drop fifo frame compressed multicast|bytes packets\n";
        let lo = "    lo: 999 9 0 0 0 0 0 0 999 9 0 0 0 0 0 0\n";
        let other =
            "  eth0: 100 1 0 0 0 0 0 0 2000 3 0 0 0 0 0 0\neth1:5 1 0 0 0 0 0 0 6 1 0 0 0 0 0 0\n";
        assert_eq!(of_namespace(&format!("{head}{lo}{other}")), Some((105, 2006)));
        assert_eq!(of_namespace(&format!("{head}{lo}")), None);
        assert_eq!(of_namespace(""), None);
    }
}
