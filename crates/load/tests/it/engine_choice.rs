//! Tests which engine a load gets, and what happens where io_uring is forbidden.

use std::time::Duration;

use stampede_known_server::{Answer, Behaviour, KnownServer};
use stampede_load::spec::{EngineChoice, Load};
use stampede_load::traffic::Request;
use stampede_load::{Generator as _, InProcess, Listener, LoadError, LoadResult};
use stampede_model::counts::Second;
use stampede_model::load::{Address, Arrivals, Model, Until, WhenFull};
use stampede_model::schedule::Segments;
use stampede_model::stop::Stop;

struct NoListener;

impl Listener for NoListener {
    fn second(&mut self, _: &Second) {}
}

fn load_result(change: impl FnOnce(&mut Load)) -> Result<LoadResult, LoadError> {
    let answer = Behaviour::answering_after(Duration::ZERO, Answer::ok());
    let server = KnownServer::start(answer).expect("a known server");
    let stampede_known_server::Address::Tcp(address) = *server.address() else {
        panic!("{}", server.address())
    };
    let mut load = Load::new(Address::Tcp(address), concurrency(8), []);
    change(&mut load);
    let get = Request::build("GET", "/", &[], b"", load.habits, None).expect("a request");
    load.traffic = [get].into();
    InProcess.run(&load, &Stop::default(), &mut NoListener)
}

fn concurrency(concurrency: u32) -> Model {
    Model::Closed { concurrency, until: Until::Requests(200) }
}

fn engine(change: impl FnOnce(&mut Load)) -> String {
    let result = load_result(change).expect("a load");
    assert_eq!(result.counts.failed_total(), 0, "{:?}", result.counts);
    result.engine
}

#[test]
fn every_load_uses_epoll_unless_io_uring_is_requested() {
    assert_eq!(engine(|_| {}), "epoll");
    assert_eq!(engine(|load| load.model = concurrency(1)), "epoll");
    let schedule = Segments::parse("const(100,1s)").expect("a schedule");
    let (arrivals, when_full) = (Arrivals::Uniform, WhenFull::Queue);
    let open = Model::Open { schedule, arrivals, max_in_flight: 1_000, when_full };
    assert_eq!(engine(|load| load.model = open), "epoll");
}

/// Makes `io_uring_setup` fail with EPERM for this thread and those that it starts, as the seccomp
/// profiles of containers do.
fn forbid_io_uring() {
    let step = |code: u32, jump_true, value| libc::sock_filter {
        code: code as u16,
        jt: jump_true,
        jf: 0,
        k: value,
    };
    let refused = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let mut steps = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0), // the number of the system call
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 1, libc::SYS_io_uring_setup as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
        step(libc::BPF_RET | libc::BPF_K, 0, refused),
    ];
    let filter = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the arguments are only numbers.
    let promised = unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) };
    // SAFETY: the kernel copies the filter during the call.
    let set =
        unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) };
    assert_eq!((promised, set), (0, 0), "{}", std::io::Error::last_os_error());
}

#[test]
fn a_request_for_io_uring_fails_where_it_is_forbidden() {
    let work = || {
        forbid_io_uring();
        assert_eq!(engine(|_| {}), "epoll");
        let asked = load_result(|load| load.engine = EngineChoice::IoUring);
        let Err(LoadError::Engine(why)) = asked else { panic!("{asked:?}") };
        assert_eq!(why.raw_os_error(), Some(libc::EPERM));
    };
    std::thread::spawn(work).join().expect("no panic");
}
