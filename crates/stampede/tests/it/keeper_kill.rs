//! Tests that nothing is left after SIGKILL of stampede, of its keeper or of both. The kill comes
//! at a random moment, even during their start or while the working directory is filled. If both
//! are killed at once, the next start removes what they left. Also tests signals that end stampede
//! directly.

use std::fs;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::time::Duration;

use stampede_keeper::{CgroupUse, NamespaceUse, sweep_in};

use crate::keeper_support::roles::{HoldFile, Programs, ready};
use crate::keeper_support::{NOBODY, Sandbox, is_root, namespaces, processes_of, wait_until};

/// Daemons, double forks, separate sessions, and processes that ignore SIGTERM.
const TREE: &str = "trap '' TERM INT HUP
    sleep 1000 &
    (setsid sleep 1000 &)
    (setsid sh -c 'trap \"\" TERM; (sleep 1000 &) ; sleep 1000' &)
    sleep 1000; sleep 1000";

/// The process that gets the signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Victim {
    Stampede(i32),
    Keeper,
    Both,
}

/// The user that stampede runs as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunAs {
    Ourselves,
    Nobody,
}

/// The moment from which the delay counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DelayStart {
    /// The start of stampede: the kill comes during its start.
    Start,
    /// The moment when the stack runs.
    Ready,
}

struct Case {
    from: DelayStart,
    victim: Victim,
    delay: Duration,
    namespaces: NamespaceUse,
    cgroups: CgroupUse,
    run_as: RunAs,
}

fn hold(sandbox: &Sandbox, case: &Case, programs: &Programs) -> Child {
    let port_file = sandbox.directory.path().join("port");
    let (program, arguments, variable) = programs.listen(&port_file);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let mut listener = sandbox.process("web", &program, &arguments);
    listener.env.extend([variable]);
    let held = HoldFile {
        spec: sandbox.stack(vec![sandbox.sh("php", TREE), listener]),
        program: programs.stampede.clone(),
        namespaces: case.namespaces,
        cgroups: case.cgroups,
        work: sandbox.options.work,
        journal: sandbox.options.journal.clone(),
    };
    let file = sandbox.directory.path().join("stack.json");
    fs::write(&file, serde_json::to_vec(&held).unwrap()).unwrap();
    let mut command = programs.hold(&file);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command.stderr(Stdio::null());
    if case.run_as == RunAs::Nobody {
        sandbox.give_to(NOBODY);
        command.uid(NOBODY.0).gid(NOBODY.1);
    }
    // `nohup make test` makes all children ignore SIGHUP, and `make test &` in a script makes them
    // ignore SIGINT. A stampede that only holds a stack would keep ignoring them.
    // SAFETY: between fork and exec nothing but signal(2), which is async-signal-safe.
    unsafe {
        command.pre_exec(|| {
            for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT] {
                libc::signal(signal, libc::SIG_DFL);
            }
            Ok(())
        });
    }
    command.spawn().unwrap()
}

/// The pid of the held stack's keeper, if it already runs.
fn keeper_pid(sandbox: &Sandbox) -> Option<i32> {
    let is_keeper = |line: &String| line.contains("__keeper");
    let line = processes_of(&sandbox.id).into_iter().find(is_keeper)?;
    line.split(' ').next()?.parse().ok()
}

fn send(pid: i32, signal: i32) {
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    let signal = rustix::process::Signal::from_named_raw(signal).unwrap();
    let _ = rustix::process::kill_process(pid, signal);
}

fn run_case(case: &Case, programs: &Programs) {
    let sandbox = Sandbox::with(case.namespaces, case.cgroups);
    let mut stampede = hold(&sandbox, case, programs);
    let pid = i32::try_from(stampede.id()).unwrap();
    if case.from == DelayStart::Ready {
        let reported = stampede.stdout.as_mut().unwrap();
        assert!(ready(reported).is_some(), "the stack does not start");
        assert!(processes_of(&sandbox.id).len() >= 4, "{:?}", processes_of(&sandbox.id));
    }
    std::thread::sleep(case.delay);
    let keeper = || {
        // The victim must exist first.
        let mut found = None;
        wait_until(|| {
            found = keeper_pid(&sandbox);
            found.is_some()
        })
        .expect("the keeper starts");
        found.unwrap()
    };
    match case.victim {
        Victim::Stampede(signal) => send(pid, signal),
        Victim::Keeper => send(keeper(), libc::SIGKILL),
        Victim::Both => {
            let keeper = keeper();
            send(pid, libc::SIGKILL);
            send(keeper, libc::SIGKILL);
        }
    }
    let when = format!(
        "{:?} {:?} {:?} {:?} {:?} after {:?}",
        case.from, case.victim, case.namespaces, case.cgroups, case.run_as, case.delay
    );
    // If its keeper is killed, stampede must end by itself, which this test checks too.
    let mut ended = None;
    wait_until(|| {
        ended = stampede.try_wait().unwrap();
        ended.is_some()
    })
    .unwrap_or_else(|()| {
        let left = sandbox.left();
        let _ = stampede.kill();
        panic!("{when}: stampede does not end, left {left:?}")
    });
    if case.victim == Victim::Both {
        // The processes end without help. The files remain for the next start.
        let gone = wait_until(|| processes_of(&sandbox.id).is_empty());
        gone.unwrap_or_else(|()| panic!("{when}: left {:?}", sandbox.left()));
        // A process that is being killed loses its command line a moment before it disappears.
        // Until then a sweep leaves its files alone.
        let _ = wait_until(|| {
            sweep(&sandbox, case, programs);
            sandbox.left().is_empty()
        });
    }
    sandbox.assert_nothing_left(&when);
    let port: Option<u16> =
        fs::read_to_string(sandbox.directory.path().join("port")).ok().and_then(|p| p.parse().ok());
    if let Some(port) = port {
        wait_until(|| TcpListener::bind(("127.0.0.1", port)).is_ok())
            .unwrap_or_else(|()| panic!("{when}: port {port} is taken"));
    }
}

/// Sweeps as the user who owns the journal, because root would rightly refuse that journal.
fn sweep(sandbox: &Sandbox, case: &Case, programs: &Programs) {
    match case.run_as {
        RunAs::Ourselves => {
            let swept = sweep_in(&sandbox.options.journal).unwrap();
            assert!(swept.left.is_empty(), "{swept:?}");
        }
        RunAs::Nobody => {
            let mut command = programs.sweep(&sandbox.options.journal);
            command.stdout(Stdio::null()).uid(NOBODY.0).gid(NOBODY.1);
            assert!(command.status().unwrap().success());
        }
    }
}

/// Runs `count` cases with seeded victims and delays of 0 to 100 ms, four at a time.
fn kill_often(count: u64, namespaces: NamespaceUse, cgroups: CgroupUse, run_as: RunAs) {
    let directory = tempfile::tempdir().unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(directory.path(), mode).unwrap();
    let programs = Programs::copied(directory.path());
    std::thread::scope(|scope| {
        for lane in 0..4_u64 {
            let programs = &programs;
            scope.spawn(move || {
                for number in (lane..count).step_by(4) {
                    let mut random = fastrand::Rng::with_seed(number);
                    let delay = Duration::from_micros(random.u64(0..100_000));
                    let victim = match number % 5 {
                        0 | 1 => Victim::Stampede(libc::SIGKILL),
                        2 | 3 => Victim::Keeper,
                        _ => Victim::Both,
                    };
                    let from = if number % 3 == 0 { DelayStart::Ready } else { DelayStart::Start };
                    run_case(&Case { from, victim, delay, namespaces, cgroups, run_as }, programs);
                }
            });
        }
    });
}

#[test]
#[ignore = "long: 60 s"]
fn killed_at_random_nothing_is_left() {
    if !namespaces() {
        println!("skipped: no PID namespaces here");
        return;
    }
    kill_often(200, NamespaceUse::Allowed, CgroupUse::Allowed, RunAs::Ourselves);
}

#[test]
fn killed_at_random_as_an_ordinary_user_nothing_is_left() {
    if !is_root() {
        println!("skipped: not root, the other tests run as an ordinary user already");
        return;
    }
    kill_often(30, NamespaceUse::Allowed, CgroupUse::Allowed, RunAs::Nobody);
}

#[test]
#[ignore = "long: 16 s"]
fn killed_at_random_with_cgroup_kill_nothing_is_left() {
    kill_often(30, NamespaceUse::Forbidden, CgroupUse::Allowed, RunAs::Ourselves);
}

#[test]
fn killed_at_random_with_the_freezer_nothing_is_left() {
    kill_often(30, NamespaceUse::Forbidden, CgroupUse::OnlyV1, RunAs::Ourselves);
}

#[test]
#[ignore = "long: 17 s"]
fn killed_at_random_with_nothing_but_children_nothing_is_left() {
    kill_often(30, NamespaceUse::Forbidden, CgroupUse::Forbidden, RunAs::Ourselves);
}

#[test]
#[ignore = "long: 10 s"]
fn killed_at_random_as_an_ordinary_user_with_nothing_but_children_nothing_is_left() {
    if !is_root() {
        println!("skipped: not root, the other tests run as an ordinary user already");
        return;
    }
    kill_often(30, NamespaceUse::Forbidden, CgroupUse::Forbidden, RunAs::Nobody);
}

#[test]
fn a_signal_that_ends_stampede_ends_the_stack() {
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGABRT] {
        let (namespaces, cgroups) = (NamespaceUse::Allowed, CgroupUse::Allowed);
        let case = Case {
            from: DelayStart::Ready,
            victim: Victim::Stampede(signal),
            delay: Duration::from_millis(10),
            namespaces,
            cgroups,
            run_as: RunAs::Ourselves,
        };
        run_case(&case, &Programs::built());
    }
}

/// Kills each guard of a running stack, in a separate case each. The held stack itself reports the
/// pids.
#[test]
fn killed_init_ends_the_stack() {
    for namespaces in [NamespaceUse::Allowed, NamespaceUse::Forbidden] {
        let sandbox = Sandbox::with(namespaces, CgroupUse::Allowed);
        let case = Case {
            from: DelayStart::Ready,
            victim: Victim::Both,
            delay: Duration::ZERO,
            namespaces,
            cgroups: CgroupUse::Allowed,
            run_as: RunAs::Ourselves,
        };
        let mut stampede = hold(&sandbox, &case, &Programs::built());
        let reported = ready(stampede.stdout.as_mut().unwrap()).expect("ready");
        send(i32::try_from(reported.init).unwrap(), libc::SIGKILL);
        assert!(!stampede.wait().unwrap().success());
        sandbox.assert_nothing_left("init killed");
    }
}
