//! What the groups of a stack are called, in all hierarchies alike.
//!
//! A dash in the name of a slice means that it is inside of another one (systemd.slice(5)), so no other part
//! of such a name has one.

use std::path::PathBuf;

use stampede_model::isolation::{CPU_QUOTA_GROUP, CPU_QUOTA_SLICE};

use super::tree::QuotaSpec;

/// Prefix of the directories that stampede creates. It never removes a directory without it or [`PREFIX_OF_SLICES`].
pub(super) const PREFIX: &str = "stampede-";
/// Prefix of the slices that stampede lets systemd make. It stops no slice without it.
const PREFIX_OF_SLICES: &str = "stampede_";
const SUFFIX: &str = ".slice";

/// The names of a stack's groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Names {
    /// Those of stampede's own groups. Has the name of the stack's.
    Own(String),
    /// Those of slices of systemd. Has the name of the stack's, without `.slice`.
    Slices(String),
}

impl Names {
    pub(super) fn own(id: &str) -> Names {
        Names::Own(format!("{PREFIX}{id}"))
    }

    pub(super) fn of_slices(id: &str) -> Names {
        Names::Slices(format!("{PREFIX_OF_SLICES}{}", word(id)))
    }

    pub(super) fn are_slices(&self) -> bool {
        matches!(self, Names::Slices(_))
    }

    /// The group of the stack.
    pub(super) fn stack(&self) -> String {
        match self {
            Names::Own(stack) => stack.clone(),
            Names::Slices(stack) => format!("{stack}{SUFFIX}"),
        }
    }

    /// The group of the quota, below that of the stack.
    pub(super) fn quota(&self) -> String {
        match self {
            Names::Own(_) => CPU_QUOTA_GROUP.to_owned(),
            Names::Slices(stack) => format!("{stack}{CPU_QUOTA_SLICE}"),
        }
    }

    /// The group of a role, below that of the stack, and in that of the `quota` if the role shares one.
    pub(super) fn role(&self, role: &str, quota: Option<&QuotaSpec>) -> PathBuf {
        let quota = quota.filter(|quota| quota.roles.contains(role)).map(|_| self.quota());
        let name = match (self, &quota) {
            (Names::Own(_), _) => leaf_name(role),
            (Names::Slices(stack), quota) => {
                let above = quota
                    .as_deref()
                    .map_or(stack.as_str(), |name| name.strip_suffix(SUFFIX).unwrap_or(name));
                format!("{above}-role_{}{SUFFIX}", word(role))
            }
        };
        quota.map(PathBuf::from).unwrap_or_default().join(name)
    }
}

/// Whether a group is the slice of a stack.
pub(super) fn is_slice_of_ours(name: &str) -> bool {
    name.starts_with(PREFIX_OF_SLICES) && name.ends_with(SUFFIX)
}

/// A part of a slice's name.
fn word(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

/// Returns the directory name of a role. It has no dot, so it is never the name of a control file.
fn leaf_name(role: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    format!("role-{}", role.chars().map(safe).collect::<String>())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use stampede_model::cpus::CpuCount;
    use stampede_model::isolation::is_cpu_quota_group;

    use super::*;

    #[test]
    fn slices_are_inside_of_each_other_by_their_names() {
        let names = Names::of_slices("17-a.b");
        assert_eq!(names.stack(), "stampede_17_a_b.slice");
        assert_eq!(names.role("php-fpm", None), Path::new("stampede_17_a_b-role_php_fpm.slice"));
        let cpus = CpuCount::of_thousandths(500);
        let quota = QuotaSpec { cpus, roles: ["web".to_owned()].into() };
        let shared = Path::new("stampede_17_a_b-cpu_quota.slice");
        let web = shared.join("stampede_17_a_b-cpu_quota-role_web.slice");
        assert_eq!(names.role("web", Some(&quota)), web);
        assert!(is_cpu_quota_group(shared) && !is_cpu_quota_group(&web));
        assert_eq!(names.role("php-fpm", Some(&quota)), names.role("php-fpm", None));
        assert!(is_slice_of_ours(&names.stack()));
        let others = ["stampede-1", "system.slice", "stampede_.scope"];
        assert!(!others.into_iter().any(is_slice_of_ours));
    }
}
