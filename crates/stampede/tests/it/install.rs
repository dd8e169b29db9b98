//! Tests `stampede install` from the outside. apt-get is a script of the test. Temporary changes to
//! the system happen in a mount namespace of the test.

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::common::{Sandbox, finish, stderr, stdout};
use crate::words::code_or;

const LIMIT: Duration = Duration::from_secs(60);

/// Writes a runtime that needs the given program and packages.
fn runtime(sandbox: &Sandbox, name: &str, program: &str, packages: &str) {
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
install: {{ debian: {{ packages: {packages} }} }}
"
    );
    sandbox.write(&format!("runtimes/{name}/runtime.yaml"), &text);
}

fn program(sandbox: &Sandbox, name: &str, text: &str) {
    sandbox.program(&format!("bin/{name}"), &format!("#!/bin/sh\n{text}"));
}

/// A place with the runtimes `absent` and `here`, and an apt-get that records its arguments.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    runtime(&sandbox, "absent", "no-such-program", "[made-up|other, \"?nowhere\"]");
    runtime(&sandbox, "here", "sh", "[dash]");
    let root = sandbox.path().display();
    program(&sandbox, "dpkg-query", "exit 0\n");
    program(
        &sandbox,
        "apt-get",
        &format!(
            "case \"$*\" in
    *--simulate*nowhere) exit 100 ;;
    *--simulate* | check*) exit 0 ;;
    *update) exit 0 ;;
esac
policy=$(/usr/sbin/policy-rc.d 2>/dev/null; echo $?)
echo \"$* policy=$policy front=$DEBIAN_FRONTEND\" >>{root}/asked
[ -z \"$APT_SLEEPS\" ] || sleep 30
[ -n \"$APT_FAILS\" ] && exit 100
printf '#!/bin/sh\\n' >{root}/bin/no-such-program
chmod 755 {root}/bin/no-such-program
"
        ),
    );
    sandbox
}

fn with_fakes(sandbox: &Sandbox, mut command: Command) -> Command {
    let path = format!("{}:/usr/bin:/bin", sandbox.path().join("bin").display());
    command.env("PATH", path).env("STAMPEDE_RUNTIMES", sandbox.path().join("runtimes"));
    command
}

fn install(sandbox: &Sandbox, args: &[&str]) -> Output {
    let all = [&["install"], args].concat();
    finish(with_fakes(sandbox, sandbox.stampede(&all)), LIMIT)
}

fn is_debian() -> bool {
    let text = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    text.lines().any(|line| line.starts_with("ID") && line.contains("debian"))
}

#[test]
fn print_shows_the_commands_and_runs_none() {
    if !is_debian() {
        println!("SKIPPED: for Debian and its family");
        return;
    }
    let sandbox = sandbox();
    let output = install(&sandbox, &["absent,here", "--print"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("apt-get install")).collect();
    assert_eq!(lines.len(), 1, "{text}");
    assert!(lines[0].ends_with("apt-get install --no-install-recommends made-up"), "{text}");
    assert!(!sandbox.path().join("asked").exists(), "apt-get was asked to install");
}

#[test]
fn installed_packages_are_not_touched() {
    let sandbox = sandbox();
    let output = install(&sandbox, &["here"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stdout(&output).starts_with("nothing is missing: here\n"), "{}", stdout(&output));
    let output = install(&sandbox, &["here", "--print"]);
    assert_eq!(stdout(&output), "# nothing is missing\n");
}

#[test]
fn an_unknown_runtime_is_named_before_anything_is_installed() {
    let sandbox = sandbox();
    let output = install(&sandbox, &["absnet,here"]);
    assert_eq!(output.status.code(), Some(2));
    let error = code_or("unknown_runtime", "unknown runtime `absnet`");
    assert!(stderr(&output).contains(error), "{}", stderr(&output));
    let hint = code_or("hint: unknown_runtime", "did you mean `absent`?");
    assert!(stderr(&output).contains(hint), "{}", stderr(&output));
    assert!(!sandbox.path().join("asked").exists());
}

/// Runs `script` as root in a mount namespace in which /usr/sbin and /run are empty.
fn apart(sandbox: &Sandbox, script: &str) -> Option<Output> {
    if !rustix::process::geteuid().is_root() || !is_debian() {
        println!("SKIPPED: for root on Debian and its family");
        return None;
    }
    let mut command = Command::new("unshare");
    let text = format!(
        "mount -t tmpfs tmpfs /usr/sbin && mount -t tmpfs tmpfs /run || exit 99\n{script}\n\
         ls /usr/sbin /run"
    );
    command.args(["--mount", "sh", "-c", &text]).current_dir(sandbox.path());
    command.env("STAMPEDE", env!("CARGO_BIN_EXE_stampede")).env("TMPDIR", sandbox.tmp());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = finish(with_fakes(sandbox, command), LIMIT);
    if output.status.code() == Some(99) || stderr(&output).contains("unshare failed") {
        println!("SKIPPED: no mount namespace here");
        return None;
    }
    Some(output)
}

fn asked(sandbox: &Sandbox) -> String {
    std::fs::read_to_string(sandbox.path().join("asked")).unwrap_or_default()
}

#[test]
fn packages_are_installed_and_no_service_can_start_meanwhile() {
    let sandbox = sandbox();
    let Some(output) = apart(&sandbox, "\"$STAMPEDE\" install absent; echo rc=$?") else { return };
    let text = stdout(&output);
    assert!(text.contains("installed: absent"), "{text}{}", stderr(&output));
    assert!(text.contains("rc=0"), "{text}{}", stderr(&output));
    let asked = asked(&sandbox);
    assert!(asked.contains(" install --no-install-recommends "), "{asked}");
    assert!(asked.contains(" made-up policy=101 front=noninteractive\n"), "{asked}");
    assert!(text.ends_with("/run:\n\n/usr/sbin:\n"), "something is left: {text}");
}

#[test]
fn a_failure_and_ctrl_c_restore_every_change() {
    let own =
        "printf '#!/bin/sh\\nexit 7\\n' >/usr/sbin/policy-rc.d; chmod 755 /usr/sbin/policy-rc.d\n";
    let ends = [
        ("APT_FAILS=1 \"$STAMPEDE\" install absent; echo rc=$?", "rc=2"),
        (
            "APT_SLEEPS=1 setsid \"$STAMPEDE\" install absent & pid=$!\n\
             for _ in $(seq 200); do [ -s asked ] && break; sleep 0.05; done\n\
             kill -TERM -$pid; wait $pid; echo rc=$?",
            "rc=2",
        ),
    ];
    for (script, expected) in ends {
        let sandbox = sandbox();
        let script = format!("{own}{script}; /usr/sbin/policy-rc.d; echo own=$?");
        let Some(output) = apart(&sandbox, &script) else { return };
        let text = stdout(&output);
        assert!(asked(&sandbox).contains("policy=101"), "{text}{}", stderr(&output));
        assert!(text.contains(expected), "{text}{}", stderr(&output));
        assert!(text.contains("own=7"), "the administrator's policy is back: {text}");
        assert!(text.ends_with("/run:\n\n/usr/sbin:\npolicy-rc.d\n"), "left: {text}");
    }
}

/// The installation is killed with all its processes, as by an out-of-memory killer, so it cannot
/// restore anything. The next start must do so, even if nothing is missing any more.
#[test]
fn changes_of_a_killed_installation_are_restored_by_the_next() {
    let own =
        "printf '#!/bin/sh\\nexit 7\\n' >/usr/sbin/policy-rc.d; chmod 755 /usr/sbin/policy-rc.d\n";
    let script = format!(
        "{own}APT_SLEEPS=1 setsid \"$STAMPEDE\" install absent & pid=$!\n\
         for _ in $(seq 200); do [ -s asked ] && break; sleep 0.05; done\n\
         kill -KILL -$pid; wait $pid\n\
         /usr/sbin/policy-rc.d; echo held=$?\n\
         \"$STAMPEDE\" install here; echo rc=$?\n\
         /usr/sbin/policy-rc.d; echo own=$?; echo files=$(find /run -type f)"
    );
    let sandbox = sandbox();
    let Some(output) = apart(&sandbox, &script) else { return };
    let text = stdout(&output);
    assert!(text.contains("held=101"), "{text}{}", stderr(&output));
    assert!(text.contains("nothing is missing: here"), "{text}{}", stderr(&output));
    assert!(text.contains("rc=0\nown=7\nfiles=\n"), "{text}{}", stderr(&output));
    assert!(text.ends_with("/usr/sbin:\npolicy-rc.d\n"), "left: {text}");
}

#[test]
fn what_people_read() {
    let bare = "rm bin/apt-get; ln -s /bin/bash bin/bash; export PATH=\"$PWD/bin\"\n";
    let packages = "install: {fedora: {packages: [nginx, php-fpm]}}";
    let fedora = format!(
        "sed -i 's/^install:.*/{packages}/' runtimes/absent/runtime.yaml\n\
         echo ID=fedora >os-release; mount --bind os-release /etc/os-release\n"
    );
    let cases = [
        ("print", String::new(), "--print"),
        ("no apt-get", bare.to_owned(), ""),
        ("Fedora", fedora, ""),
        ("json", String::new(), "--json"),
    ];
    let mut page = String::new();
    for (name, before, flag) in cases {
        let script = format!("{before}\"$STAMPEDE\" install absent {flag} 2>&1; echo rc=$?");
        let sandbox = sandbox();
        let Some(output) = apart(&sandbox, &script) else { return };
        let text = stdout(&output);
        let text = text.split("/run:").next().unwrap_or_default();
        page +=
            &format!("# {name}\n{}\n", text.replace(&*sandbox.path().to_string_lossy(), "PLACE"));
    }
    assert_words!(page);
}

/// Without sudo, an ordinary user gets the command to run as root, and nothing is run.
#[test]
fn an_ordinary_user_without_sudo_is_told_what_to_run() {
    let sandbox = sandbox();
    let script = "for sudo in /usr/bin/sudo /bin/sudo; do\n\
                  [ ! -e $sudo ] || mount --bind /dev/null $sudo; done\n\
                  user='setpriv --reuid 65534 --regid 65534 --clear-groups'\n\
                  $user \"$STAMPEDE\" --version >/dev/null 2>&1 || echo unreadable\n\
                  $user \"$STAMPEDE\" install absent 2>&1; echo rc=$?";
    let Some(output) = apart(&sandbox, script) else { return };
    let text = stdout(&output);
    if text.starts_with("unreadable") {
        println!("SKIPPED: an ordinary user may not read the binary");
        return;
    }
    let error = code_or("only_root", "packages are missing, and only root can install them");
    let hint = code_or("only_root", "as root: stampede install absent");
    let advice = format!("error: {error}\n\nhint: {hint}\nrc=2\n");
    assert!(text.starts_with(&advice), "{text}{}", stderr(&output));
    assert!(asked(&sandbox).is_empty(), "apt-get was asked to install");
}
