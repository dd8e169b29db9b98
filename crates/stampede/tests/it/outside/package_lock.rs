//! Tests that an installation waits while another program holds the package lock, as
//! unattended-upgrades does after a boot. Uses real apt and dpkg with a package of the test, in a
//! mount namespace with copies of all that they write: root on Debian and its family.

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Sandbox, finish, stderr, stdout};

const LIMIT: Duration = Duration::from_secs(180);

/// Makes a copy of the machine's package data, and a repository with one package. `hold FILE
/// SECONDS` holds a lock as dpkg does.
const APART: &str = r#"
for directory in /var/lib/dpkg /usr/sbin; do
    mkdir -p "copy$directory" && cp -a "$directory/." "copy$directory/" && mount --bind "copy$directory" "$directory" || exit 99
done
rm -f /usr/sbin/policy-rc.d
for directory in /var/lib/apt /var/cache/apt /etc/apt /run; do mount -t tmpfs tmpfs "$directory" || exit 99; done
mkdir -p /var/lib/apt/lists/partial /var/cache/apt/archives/partial /etc/apt/apt.conf.d /etc/apt/preferences.d \
    /etc/apt/sources.list.d /etc/apt/trusted.gpg.d deb/DEBIAN deb/run/made-up repository
printf '#!/bin/sh\n' >deb/run/made-up/no-such-program
chmod 755 deb/run/made-up/no-such-program
printf 'Package: stampede-made-up\nVersion: 1\nArchitecture: all\nMaintainer: none <none@example.org>\nDescription: none\n' >deb/DEBIAN/control
dpkg-deb --build deb repository/made-up.deb >/dev/null || exit 99
{
    cat deb/DEBIAN/control
    printf 'Filename: ./made-up.deb\nSize: %s\n' "$(stat -c %s repository/made-up.deb)"
    printf 'SHA256: %s\n' "$(sha256sum repository/made-up.deb | cut -d ' ' -f 1)"
} >repository/Packages
chmod -R a+rX . && echo "deb [trusted=yes] file:$PWD/repository ./" >/etc/apt/sources.list
echo 'APT::Sandbox::User "root";' >/etc/apt/apt.conf.d/test
hold() {
    perl -MFcntl -e '
        open(my $lock, ">>", $ARGV[0]) or die;
        my $asked = pack("s! s! x![l!] l! l! i x![l!]", F_WRLCK, 0, 0, 0, 0);
        fcntl($lock, F_SETLK, $asked) or die;
        open(my $told, ">", "held") or die;
        close $told;
        sleep $ARGV[1]' "$1" "$2" >/dev/null 2>&1 &
    holder=$!
    for _ in $(seq 100); do [ -e held ] && break; sleep 0.05; done
    [ -e held ] || exit 98
    rm held
}
# Until the installation says so in `err`.
waits() { for _ in $(seq 1200); do grep -q waiting err && break; sleep 0.05; done; }
"#;

/// One runtime whose program the package brings, and one whose program exists.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    for (name, program, package) in
        [("absent", "no-such-program", "stampede-made-up"), ("here", "sh", "dash")]
    {
        let text = format!(
            "title: {name}
mode: per-request
app_kinds: [callable]
worker_held_by: request
needs: {{ {program}: {{ programs: [{program}] }} }}
common: [workers]
files: []
processes: [{{ role: php, run: {program}, stop: {{ signal: TERM, grace: 1s }} }}]
ready: {{ within: 1s }}
effective_workers: {{ processes: {{ role: php }} }}
install: {{ debian: {{ packages: [{package}] }} }}
"
        );
        sandbox.write(&format!("runtimes/{name}/runtime.yaml"), &text);
    }
    sandbox
}

/// Runs `script` in that namespace; `None`: it is not available here, which is printed.
fn apart(script: &str) -> Option<Output> {
    let os = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let is_debian = os.lines().any(|line| line.starts_with("ID") && line.contains("debian"));
    if !rustix::process::geteuid().is_root() || !is_debian {
        println!("SKIPPED: for root on Debian and its family");
        return None;
    }
    let sandbox = sandbox();
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &format!("{APART}\n{script}")]);
    command.env("STAMPEDE", env!("CARGO_BIN_EXE_stampede")).env("TMPDIR", sandbox.tmp());
    command.env("SCRIPT", concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/install-packages"));
    command.env("STAMPEDE_RUNTIMES", sandbox.path().join("runtimes"));
    command.env("PATH", "/run/made-up:/usr/sbin:/usr/bin:/sbin:/bin");
    command.current_dir(sandbox.path());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = finish(command, LIMIT);
    if output.status.code() == Some(99) || stderr(&output).contains("unshare failed") {
        println!("SKIPPED: no mount namespace here: {}", stderr(&output));
        return None;
    }
    assert_ne!(output.status.code(), Some(98), "the test could not take the lock");
    Some(output)
}

#[test]
#[ignore = "long: 12 s"]
fn each_lock_is_waited_for_and_its_holder_named() {
    let Some(output) = apart(
        "for lock in /var/lib/dpkg/lock-frontend /var/lib/dpkg/lock /var/lib/apt/lists/lock \
         /var/cache/apt/archives/lock; do
            : >err
            hold $lock 300
            \"$STAMPEDE\" install absent >out 2>err & pid=$!
            waits; sleep 1; kill $holder; wait $pid; echo rc=$?
            grep -c \"perl (pid $holder) holds the lock \\`$lock\\`; waiting (Ctrl-C stops)\" err
            cat out err >&2
            dpkg --purge stampede-made-up >/dev/null
         done
         : >err
         hold /var/lib/dpkg/lock-frontend 300
         bash \"$SCRIPT\" words stampede-made-up 2>err & pid=$!
         waits; kill $holder; wait $pid; echo rc=$?
         [ -e /usr/sbin/policy-rc.d ] || echo clean",
    ) else {
        return;
    };
    let (text, errors) = (stdout(&output), stderr(&output));
    assert_eq!(text, "rc=0\n1\n".repeat(4) + "stampede-made-up\nrc=0\nclean\n", "{errors}");
    assert_eq!(errors.matches("installed: absent").count(), 4, "{errors}");
    assert!(!errors.contains("cannot fix") && !errors.contains("warning"), "{errors}");
}

#[test]
fn what_is_installed_needs_no_lock() {
    let Some(output) = apart(
        "hold /var/lib/dpkg/lock-frontend 60
         \"$STAMPEDE\" install here; echo rc=$?
         bash \"$SCRIPT\" words dash; echo rc=$?
         kill $holder",
    ) else {
        return;
    };
    let (text, errors) = (stdout(&output), stderr(&output));
    assert!(text.starts_with("nothing is missing: here\n"), "{text}{errors}");
    assert!(text.ends_with("rc=0\nrc=0\n") && !errors.contains("waiting"), "{text}{errors}");
}

/// During the wait, services must not be touched yet. The wait also has a limit.
#[test]
fn a_wait_ends_with_ctrl_c_and_by_its_limit() {
    let own =
        "printf '#!/bin/sh\\nexit 7\\n' >/usr/sbin/policy-rc.d; chmod 755 /usr/sbin/policy-rc.d";
    let began = Instant::now();
    let Some(output) = apart(&format!(
        "{own}
         hold /var/lib/dpkg/lock-frontend 600
         : >err
         \"$STAMPEDE\" install absent 2>err & pid=$!
         waits
         /usr/sbin/policy-rc.d; echo meanwhile=$?
         kill -INT $pid; wait $pid; echo rc=$?
         /usr/sbin/policy-rc.d; echo after=$?
         : >err
         bash \"$SCRIPT\" words stampede-made-up 2>err & pid=$!
         waits
         kill -TERM $pid; wait $pid; echo rc=$?
         export STAMPEDE_LOCK_WAIT=2
         \"$STAMPEDE\" install absent; echo rc=$?
         kill $holder
         /usr/sbin/policy-rc.d; echo own=$?; ls /usr/sbin/policy* /run"
    )) else {
        return;
    };
    let (text, errors) = (stdout(&output), stderr(&output));
    assert!(
        text.starts_with("meanwhile=7\nrc=2\nafter=7\nrc=143\nrc=2\nown=7\n"),
        "{text}{errors}"
    );
    assert!(text.ends_with("/usr/sbin/policy-rc.d\n\n/run:\n"), "something is left: {text}");
    assert!(
        errors.contains("error: another program uses the package manager: perl (pid "),
        "{errors}"
    );
    assert!(errors.contains("hint: wait for it to end, or look at it with `ps -fp "), "{errors}");
    assert!(!errors.contains("cannot fix"), "{errors}");
    assert!(began.elapsed() < LIMIT - Duration::from_secs(30), "{errors}");
}

/// For a lock of an open file the kernel reports no pid, and a pid from another container has no
/// meaning here.
#[test]
fn a_holder_without_a_pid_gets_another_hint() {
    let Some(output) = apart(
        "perl -MFcntl -e '
            open(my $lock, \">>\", \"/var/lib/dpkg/lock\") or die;
            # F_OFD_SETLK
            my $asked = pack(\"s! s! x![l!] l! l! i x![l!]\", F_WRLCK, 0, 0, 0, 0);
            fcntl($lock, 37, $asked) or die;
            open(my $told, \">\", \"held\") or die;
            close $told;
            sleep 300' >/dev/null 2>&1 &
         holder=$!
         for _ in $(seq 100); do [ -e held ] && break; sleep 0.05; done
         [ -e held ] || exit 98
         STAMPEDE_LOCK_WAIT=2 bash \"$SCRIPT\" words stampede-made-up; echo rc=$?
         kill $holder",
    ) else {
        return;
    };
    let (text, errors) = (stdout(&output), stderr(&output));
    assert_eq!(text, "rc=2\n", "{errors}");
    assert!(
        errors.contains("a program that cannot be seen from here holds the lock `"),
        "{errors}"
    );
    assert!(errors.contains("hint: another container or namespace holds it"), "{errors}");
    assert!(!errors.contains("ps -fp") && !errors.contains("pid"), "{errors}");
}
