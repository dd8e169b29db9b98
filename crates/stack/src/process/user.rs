//! Finds the unprivileged user that PHP runs as when stampede is root.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use stampede_linux::run::TimedCommand;

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

/// A directory service that does not answer must not keep stampede from starting.
const ASKED_WITHIN: Duration = Duration::from_secs(5);

/// The user that PHP runs as. `None`: stampede is not root, so that everything runs as stampede's
/// own user; or no such user exists.
pub fn unprivileged() -> Option<User> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    Accounts { files: Path::new("/etc"), getent: Path::new("getent") }.first_of(&NAMES)
}

/// The users and groups of a machine. A directory service may have more than the files. The C
/// library of a static binary knows no such service, and `getent` asks it.
struct Accounts<'a> {
    /// The directory of `passwd` and `group`.
    files: &'a Path,
    /// The program.
    getent: &'a Path,
}

impl Accounts<'_> {
    /// The first of the users that exists with its group. Files go first, for all names: no
    /// program is started where one of them has a user.
    fn first_of(&self, names: &[&str]) -> Option<User> {
        let (users, groups) = (self.file("passwd"), self.file("group"));
        let in_files = names.iter().find_map(|name| find(name, &users, &groups));
        in_files.or_else(|| names.iter().find_map(|name| self.found(name, &users, &groups)))
    }

    /// A user of whom the files lack the line or the group's line.
    fn found(&self, name: &str, users: &str, groups: &str) -> Option<User> {
        let users = match line_of(users, NAME, name) {
            Some(_) => users.to_owned(),
            None => self.asked("passwd", name)?,
        };
        let gid = line_of(&users, NAME, name)?.split(':').nth(GID)?;
        let groups = match line_of(groups, ID, gid) {
            Some(_) => groups.to_owned(),
            None => self.asked("group", gid)?,
        };
        find(name, &users, &groups)
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.files.join(name)).unwrap_or_default()
    }

    /// What `getent` prints: lines as in the file. `None`: there is no such line, or no `getent`.
    fn asked(&self, database: &str, key: &str) -> Option<String> {
        let output = TimedCommand::new(self.getent, ASKED_WITHIN).args([database, key]).run();
        String::from_utf8(output.ok()?.stdout).ok()
    }
}

fn find(name: &str, users: &str, groups: &str) -> Option<User> {
    let user: Vec<&str> = line_of(users, NAME, name)?.split(':').collect();
    let (uid, gid) = (user.get(ID)?.parse().ok()?, user.get(GID)?.parse().ok()?);
    let group = line_of(groups, ID, user[GID])?.split(':').next()?.to_owned();
    Some(User { name: name.into(), group, uid, gid })
}

/// The line with this text in its field `number`.
fn line_of<'a>(lines: &'a str, number: usize, text: &str) -> Option<&'a str> {
    lines.lines().find(|line| line.split(':').nth(number) == Some(text))
}

/// Fields of a line of `passwd`, of `group`, and of both.
const NAME: usize = 0;
const ID: usize = 2;
const GID: usize = 3;

#[cfg(test)]
mod tests {
    use stampede_testing::program::write_program;

    use super::*;

    #[test]
    fn a_user_is_found_with_its_group() {
        let users = "root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/sbin/nologin\n";
        let groups = "root:x:0:\nnogroup:x:65534:\n";
        let user = find("nobody", users, groups).expect("user");
        assert_eq!((user.uid, user.gid, user.group.as_str()), (65534, 65534, "nogroup"));
        assert_eq!(find("www-data", users, groups), None);
        assert_eq!(find("nobody", users, "root:x:0:\n"), None);
        assert_eq!(find("nobody", "nobody:x:65534\n", groups), None);
    }

    /// A machine with these files, and a `getent` that knows these lines and writes down what it
    /// is asked.
    fn machine(passwd: &str, group: &str, service: &[(&str, &str)]) -> tempfile::TempDir {
        let machine = tempfile::tempdir().expect("a directory");
        let put = |name: &str, text: &str| {
            fs::write(machine.path().join(name), text).expect("a file");
        };
        put("passwd", passwd);
        put("group", group);
        let cases = service.iter().map(|(key, line)| format!("'{key}') echo '{line}' ;;\n"));
        let cases: String = cases.collect();
        let asked = machine.path().join("asked");
        let getent = format!(
            "#!/bin/sh\necho \"$*\" >>'{}'\ncase \"$*\" in\n{cases}*) exit 2 ;;\nesac\n",
            asked.display()
        );
        write_program(&machine.path().join("getent"), &getent);
        machine
    }

    fn first_of(machine: &tempfile::TempDir, names: &[&str]) -> (Option<User>, Vec<String>) {
        let getent = machine.path().join("getent");
        let user = Accounts { files: machine.path(), getent: &getent }.first_of(names);
        let asked = fs::read_to_string(machine.path().join("asked")).unwrap_or_default();
        (user, asked.lines().map(str::to_owned).collect())
    }

    fn user(name: &str, uid: u32, group: &str, gid: u32) -> Option<User> {
        Some(User { name: name.into(), group: group.into(), uid, gid })
    }

    #[test]
    fn getent_is_asked_for_what_the_files_lack() {
        let www = "www-data:x:900:901::/var/www:/bin/false";
        let service = [("passwd www-data", www), ("group 901", "web:x:901:a,b")];
        // Both are missing.
        let machine_of = machine("root:x:0:0::/root:/bin/sh\n", "root:x:0:\n", &service);
        let (found, asked) = first_of(&machine_of, &["apache", "www-data"]);
        assert_eq!(found, user("www-data", 900, "web", 901));
        assert_eq!(asked, ["passwd apache", "passwd www-data", "group 901"]);
        // The group alone is missing, or only the user.
        let machine_of = machine(&format!("{www}\n"), "", &service);
        let (found, asked) = first_of(&machine_of, &["www-data"]);
        assert_eq!((found, asked), (user("www-data", 900, "web", 901), vec!["group 901".into()]));
        let machine_of = machine("", "sites:x:901:\n", &service);
        let (found, asked) = first_of(&machine_of, &["www-data"]);
        let expected = vec!["passwd www-data".to_owned()];
        assert_eq!((found, asked), (user("www-data", 900, "sites", 901), expected));
    }

    #[test]
    fn getent_is_not_asked_where_a_file_has_a_user() {
        let machine = machine("nobody:x:65534:65534::/:/bin/false\n", "nogroup:x:65534:\n", &[]);
        let (found, asked) = first_of(&machine, &["www-data", "nobody"]);
        assert_eq!((found, asked), (user("nobody", 65534, "nogroup", 65534), vec![]));
    }

    #[test]
    fn there_is_no_user_where_nobody_knows_one() {
        let machine = machine("", "", &[("passwd nobody", "nobody:x:65534:65534::/:")]);
        let (found, asked) = first_of(&machine, &["www-data", "nobody"]);
        assert_eq!((found, asked.len()), (None, 3));
        fs::remove_file(machine.path().join("getent")).expect("removed");
        assert_eq!(first_of(&machine, &["nobody"]).0, None);
    }
}
