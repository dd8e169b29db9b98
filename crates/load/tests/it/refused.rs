//! Tests the generator where the kernel is too old, or a seccomp profile too strict, for what it
//! would rather use.

use std::io;

use stampede_known_server::{Answer, Behaviour, ConnectionAction, KnownServer};
use stampede_load::spec::EngineChoice;
use stampede_load::{Generator as _, InProcess, Listener, Load, LoadError, LoadResult};
use stampede_model::counts::Second;
use stampede_model::load::{Address, Arrivals, Model, Until, WhenFull};
use stampede_model::schedule::Segments;
use stampede_model::stop::Stop;
use stampede_model::time::Nanos;
use stampede_testing::seccomp::{Refused, with_refused};
use stampede_traffic::Request;

use crate::engine_ends;

struct NoListener;

impl Listener for NoListener {
    fn second(&mut self, _: &Second) {}
}

fn load(server: &KnownServer, model: Model, engine: EngineChoice) -> Load {
    let stampede_known_server::Address::Tcp(address) = *server.address() else {
        panic!("{}", server.address())
    };
    let load = Load::new(Address::Tcp(address), model, []);
    let get = Request::build("GET", "/", &[], b"", load.habits, None).expect("a request");
    Load { traffic: [get].into(), engine, ..load }
}

fn load_result(load: &Load) -> Result<LoadResult, LoadError> {
    let result = InProcess.run(load, &Stop::default(), &mut NoListener)?;
    let counts = &result.counts;
    assert_eq!(counts.planned, counts.ok + counts.failed_total() + counts.dropped, "{counts:?}");
    Ok(result)
}

fn concurrency(concurrency: u32, requests: u64) -> Model {
    Model::Closed { concurrency, until: Until::Requests(requests) }
}

fn schedule(schedule: &str) -> Model {
    Model::Open {
        schedule: Segments::parse(schedule).expect("a schedule"),
        arrivals: Arrivals::Uniform,
        max_in_flight: 1_000,
        when_full: WhenFull::Queue,
    }
}

/// The error number of `epoll_pwait2` on no epoll at all.
fn errno_of_epoll_pwait2() -> Option<i32> {
    let (none, room) = (std::ptr::null::<libc::c_void>(), 0);
    // SAFETY: the descriptor is invalid, so the kernel touches no memory.
    unsafe { libc::syscall(libc::SYS_epoll_pwait2, -1, none, room, none, none, 0) };
    io::Error::last_os_error().raw_os_error()
}

/// `ENOSYS` from a kernel before 5.11, `EPERM` from a profile that is older than the call.
#[test]
fn epoll_waits_by_a_timer_if_epoll_pwait2_is_refused() {
    let server = KnownServer::start(Behaviour::default()).expect("a server");
    let silent = Behaviour::answering(Answer::none(ConnectionAction::Hold));
    let silent = KnownServer::start(silent).expect("a server");
    for errno in [libc::EPERM, libc::ENOSYS] {
        let refused = Refused::always(libc::SYS_epoll_pwait2, errno);
        with_refused(refused, || {
            assert_eq!(errno_of_epoll_pwait2(), Some(errno), "not refused");
            let sent = |model| load_result(&load(&server, model, EngineChoice::Epoll));
            let open = sent(schedule("const(400,500ms)")).expect("a load");
            assert_eq!((open.counts.ok, open.scheduled), (200, Nanos::from_millis(500)));
            let closed = sent(concurrency(4, 200)).expect("a load");
            assert_eq!((closed.counts.ok, closed.connections.opened), (200, 4));
            let unanswered = load(&silent, concurrency(3, 6), EngineChoice::Epoll);
            let unanswered = Load { timeout: Nanos::from_millis(100), ..unanswered };
            let unanswered = load_result(&unanswered).expect("a load");
            assert_eq!(unanswered.counts.failed["net:timeout"], 6);
        });
    }
}

#[test]
fn a_request_for_io_uring_fails_where_it_is_refused_and_the_default_works() {
    let server = KnownServer::start(Behaviour::default()).expect("a server");
    let buffers = Some(REGISTER_PBUF_RING);
    for refused in [
        Refused::always(libc::SYS_io_uring_setup, libc::EPERM),
        Refused::always(libc::SYS_io_uring_setup, libc::ENOSYS),
        Refused::always(libc::SYS_io_uring_setup, libc::ENOMEM),
        // Before Linux 5.19.
        Refused { call: libc::SYS_io_uring_register, operation: buffers, errno: libc::EINVAL },
    ] {
        with_refused(refused, || {
            let sent = |engine| load_result(&load(&server, concurrency(8, 200), engine));
            let result = sent(EngineChoice::default()).expect("a load");
            assert_eq!((result.engine.as_str(), result.counts.ok), ("epoll", 200), "{refused:?}");
            let Err(LoadError::Engine(why)) = sent(EngineChoice::IoUring) else {
                panic!("{refused:?}")
            };
            assert_eq!(why.raw_os_error(), Some(refused.errno));
        });
    }
}

/// Sockets are not registered before Linux 6.13, or where the limit on open files forbids it. A
/// single registration may fail for want of memory.
#[test]
fn io_uring_works_without_registered_sockets() {
    let server = KnownServer::start(Behaviour::default()).expect("a server");
    for (operation, errno) in
        [(REGISTER_FILES2, libc::EMFILE), (REGISTER_FILES_UPDATE, libc::ENOMEM)]
    {
        let call = libc::SYS_io_uring_register;
        with_refused(Refused { call, operation: Some(operation), errno }, || {
            let load = load(&server, concurrency(4, 400), EngineChoice::IoUring);
            let result = load_result(&load).expect("a load");
            assert_eq!((result.counts.ok, result.connections.opened), (400, 4), "{operation}");
            engine_ends::with_io_uring_a_connection_ends_at_once();
        });
    }
}

/// As if the kernel had no memory left during the load: its queue fills up, and stays full.
#[test]
fn operations_that_io_uring_cannot_take_are_failed_requests() {
    let server = KnownServer::start(Behaviour::default()).expect("a server");
    with_refused(Refused::always(libc::SYS_io_uring_enter, libc::EAGAIN), || {
        // Each connection queues one operation at least, and the queue holds 256.
        let load = load(&server, concurrency(400, 400), EngineChoice::IoUring);
        let load = Load { timeout: Nanos::from_millis(300), ..load };
        let counts = load_result(&load).expect("a load").counts;
        assert!(counts.failed.contains_key("net:errno-12"), "{counts:?}");
        assert_eq!((counts.planned, counts.failed_total()), (400, 400), "{counts:?}");
    });
}

/// Operations of `io_uring_register`.
const REGISTER_FILES_UPDATE: u32 = 6;
const REGISTER_FILES2: u32 = 13;
const REGISTER_PBUF_RING: u32 = 22;
