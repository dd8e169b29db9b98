//! Finds the unprivileged user that PHP runs as when stampede is root.

use std::fs;

use serde::Serialize;

/// A user of this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct User {
    /// The login name.
    pub name: String,
    /// The name of the user's group.
    pub group: String,
    /// The user's id.
    pub uid: u32,
    /// The group's id.
    pub gid: u32,
}

/// The users of the distributions' web servers, then the one that exists everywhere.
const NAMES: [&str; 4] = ["www-data", "apache", "http", "nobody"];

/// The user that PHP runs as. `None`: stampede is not root, so that everything runs as stampede's
/// own user; or no such user exists.
pub fn unprivileged() -> Option<User> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let groups = fs::read_to_string("/etc/group").unwrap_or_default();
    NAMES.iter().find_map(|name| find(name, &users, &groups))
}

fn find(name: &str, users: &str, groups: &str) -> Option<User> {
    let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
    let mut fields = line.split(':').skip(2);
    let uid = fields.next()?.parse().ok()?;
    let gid: u32 = fields.next()?.parse().ok()?;
    let wanted = gid.to_string();
    let group = groups.lines().find(|line| line.split(':').nth(2) == Some(&wanted))?;
    let group = group.split(':').next()?.to_string();
    Some(User { name: name.into(), group, uid, gid })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_found_with_its_group() {
        let users = "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/sbin/nologin\n";
        let groups = "root:x:0:\nnogroup:x:65534:\n";
        let user = find("nobody", users, groups).expect("user");
        assert_eq!((user.uid, user.gid, user.group.as_str()), (65534, 65534, "nogroup"));
        assert_eq!(find("www-data", users, groups), None);
    }
}
