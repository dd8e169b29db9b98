//! Reads thread groups: how many users there are, and for how long.

use roxmltree::Node;
use stampede_model::load::Until;
use stampede_model::time::Nanos;

use super::super::{Found, Omission, ProposedLoad};
use super::values::{Values, property};

/// A thread group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Group {
    users: u32,
    until: Option<Until>,
}

impl Group {
    /// Reads a group with so many requests. `None`: how many users it has is not known, or it is of
    /// a kind that is not.
    pub fn read(
        element: Node<'_, '_>,
        requests: usize,
        values: &Values,
        found: &mut Found,
    ) -> Option<Group> {
        let name = element.tag_name().name();
        let name = name.rsplit('.').next().unwrap_or(name);
        let group = match name {
            "ThreadGroup" => Group::plain(element, requests, values, found),
            "ConcurrencyThreadGroup" => Group::of_plugin(element, values, found),
            _ => None,
        };
        if group.is_none() {
            found.leave_out(values.line(element), Omission::Setting { name: name.to_owned() });
        }
        group
    }

    fn plain(
        element: Node<'_, '_>,
        requests: usize,
        values: &Values,
        found: &mut Found,
    ) -> Option<Group> {
        let users = count(values.number(element, "ThreadGroup.num_threads"))?;
        ramp(element, "ThreadGroup.ramp_time", users, values, found);
        let length = values.number(element, "ThreadGroup.duration");
        let length = length.filter(|_| values.is_on(element, "ThreadGroup.scheduler"));
        if let Some(length) = length.and_then(|seconds| nanos(seconds, 1.0)) {
            return Some(Group { users, until: Some(Until::For(length)) });
        }
        let controller = property(element, "ThreadGroup.main_controller");
        let loops = controller.and_then(|node| values.number(node, "LoopController.loops"));
        let total = loops.and_then(|loops| count(Some(loops))).map(|loops| {
            u64::from(loops).saturating_mul(u64::from(users)).saturating_mul(requests as u64)
        });
        Some(Group { users, until: total.filter(|total| *total > 0).map(Until::Requests) })
    }

    /// The concurrency thread group of a widely used plugin.
    fn of_plugin(element: Node<'_, '_>, values: &Values, found: &mut Found) -> Option<Group> {
        let users = count(values.number(element, "TargetLevel"))?;
        ramp(element, "RampUp", users, values, found);
        // Lengths are minutes unless the unit is S.
        let unit = values.text(element, "Unit").unwrap_or_default();
        let seconds = if unit == "S" { 1.0 } else { 60.0 };
        let length = values.number(element, "Hold").and_then(|hold| nanos(hold, seconds));
        Some(Group { users, until: length.map(Until::For) })
    }
}

/// Notes that the users of a group do not all start at once.
fn ramp(element: Node<'_, '_>, name: &str, users: u32, values: &Values, found: &mut Found) {
    let Some(property) = property(element, name) else { return };
    let is_ramp = values.number(element, name).is_none_or(|seconds| seconds > 0.0);
    if is_ramp && users > 1 {
        found.leave_out(values.line(property), Omission::Ramp { name: name.to_owned() });
    }
}

/// The load of groups that run side by side: their users together.
pub(super) fn proposed(groups: &[Group]) -> Option<ProposedLoad> {
    let users = groups.iter().fold(0u32, |sum, group| sum.saturating_add(group.users));
    let lengths = groups.iter().filter_map(|group| match group.until {
        Some(Until::For(length)) => Some(length),
        _ => None,
    });
    let counts = groups.iter().filter_map(|group| match group.until {
        Some(Until::Requests(count)) => Some(count),
        _ => None,
    });
    let until = lengths
        .max()
        .map(Until::For)
        .or_else(|| counts.reduce(u64::saturating_add).map(Until::Requests));
    (users > 0).then_some(ProposedLoad::Users { users, until })
}

/// A whole number from 1 on.
fn count(number: Option<f64>) -> Option<u32> {
    let number = number.filter(|number| *number >= 1.0 && *number <= f64::from(u32::MAX))?;
    Some(number as u32)
}

/// A length above 0 and of at most a week.
fn nanos(length: f64, unit_seconds: f64) -> Option<Nanos> {
    let seconds = length * unit_seconds;
    let longest = stampede_model::quantity::LONGEST;
    let length = Nanos((seconds.max(0.0) * 1e9) as u64);
    (length > Nanos(0) && length <= longest).then_some(length)
}
