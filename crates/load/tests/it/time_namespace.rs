//! Tests that waits are as long in a time namespace, whose monotonic clock shows hours more, as
//! outside of it: for both engines.

use std::net::{Ipv4Addr, TcpListener};
use std::process::Command;
use std::time::{Duration, Instant};

use io_uring::types::{SubmitArgs, TimeoutFlags, Timespec};
use io_uring::{IoUring, opcode};
use stampede_load::engine::epoll::{Epoll, WaitMode};
use stampede_load::engine::uring::Uring;
use stampede_load::engine::{Engine, Timestamps};
use stampede_model::load::{Address, Addresses};
use stampede_model::time::Nanos;

const LENGTH: Nanos = Nanos::from_millis(60);
/// A busy machine may take so long to wake a thread. Wrong by the namespace's offset is hours.
const LATE: Duration = Duration::from_secs(20);
const OFFSET_S: u64 = 7_200;
/// What the clock showed outside, for the process that is inside.
const OUTSIDE: &str = "STAMPEDE_TEST_CLOCK_OUTSIDE";

fn monotonic() -> Nanos {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    Nanos(now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs())
}

/// Runs itself again in a namespace of its own.
#[test]
fn waits_are_as_long_in_a_time_namespace() {
    if let Ok(outside) = std::env::var(OUTSIDE) {
        return inside(Nanos(outside.parse().unwrap()));
    }
    let offset = OFFSET_S.to_string();
    let unshare = ["--time", "--monotonic", &offset];
    let can = Command::new("unshare").args(unshare).arg("true").output();
    if !can.is_ok_and(|output| output.status.success()) {
        return println!("SKIPPED: no time namespace can be made here");
    }
    let mut again = Command::new("unshare");
    again.args(unshare).arg(std::env::current_exe().unwrap());
    again.args(["--exact", "time_namespace::waits_are_as_long_in_a_time_namespace", "--nocapture"]);
    let output = again.env(OUTSIDE, monotonic().0.to_string()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    print!("{said}");
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("1 passed"), "{said}");
}

fn inside(outside: Nanos) {
    assert!(monotonic().since(outside) >= Nanos::from_secs(OFFSET_S), "no other clock here");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let target = Addresses::from(Address::Tcp(listener.local_addr().unwrap()));
    for wait_mode in [WaitMode::Sleep, WaitMode::Spin] {
        let began = Instant::now();
        waits(&mut Epoll::new(&target, wait_mode, Timestamps::Kernel, began).unwrap());
        match Uring::new(&target, 1, wait_mode, Timestamps::Kernel, began) {
            Ok(mut uring) => {
                waits(&mut uring);
                println!("an absolute timeout of io_uring: {}", absolute_timeout());
            }
            Err(error) => println!("SKIPPED: io_uring: {error}"),
        }
    }
}

fn waits(engine: &mut impl Engine) {
    let begun = Instant::now();
    let until = engine.refresh().plus(LENGTH);
    while engine.refresh() < until {
        engine.wait(until, 1);
        assert!(begun.elapsed() < LATE);
    }
    assert!(begun.elapsed() >= Duration::from_nanos(LENGTH.0));
}

/// What this kernel does with an absolute timeout of a process in a time namespace. The engine has
/// none: this says why.
fn absolute_timeout() -> &'static str {
    let mut ring = IoUring::new(8).unwrap();
    let until = monotonic().plus(LENGTH);
    let at = Timespec::new().sec(until.0 / 1_000_000_000).nsec((until.0 % 1_000_000_000) as u32);
    let timeout = opcode::Timeout::new(&at).flags(TimeoutFlags::ABS).build();
    // SAFETY: the kernel copies the time when the entry is submitted, and `at` lives until then.
    unsafe { ring.submission().push(&timeout) }.unwrap();
    let longest = Timespec::new().sec(1);
    let begun = Instant::now();
    let _ = ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&longest));
    match ring.completion().next() {
        None => "counts from the clock outside, and would end hours late",
        Some(_) if begun.elapsed() < Duration::from_millis(50) => "ends at once",
        Some(_) => "counts from the clock inside",
    }
}
