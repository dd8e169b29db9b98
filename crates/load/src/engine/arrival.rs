//! Kernel timestamps of received bytes (`SO_TIMESTAMPNS`, socket(7)). They say when the network
//! delivered the bytes; on loopback, that is during the server's own send call. They are right
//! however late we look, even if the host stopped our CPU.
//!
//! If the kernel has joined segments by then, the timestamp of the last one counts. If the driver
//! of a network card has joined them (GRO), the timestamp of the first one counts.

use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Instant;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType};

use super::socket::{last_errno, set_option};
use crate::time::Nanos;

/// A moment on the kernel's wall clock (`CLOCK_REALTIME`), in ns since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WallNanos(pub(super) i64);

impl WallNanos {
    pub(super) fn now() -> WallNanos {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        WallNanos(now.tv_sec * SECOND + now.tv_nsec)
    }
}

/// Difference between the wall clock and the load's clock. Both run at the same rate, but the wall
/// clock may be stepped, so the difference is measured again and again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wall {
    /// What the wall clock shows at the zero of the load's clock.
    at_zero: WallNanos,
    measured: Nanos,
    /// Timestamps before this moment are invalid, because the clock was stepped later.
    set: WallNanos,
}

impl Wall {
    /// Measures the difference. Reads the wall clock between two readings of the other clock, three
    /// times, and takes the closest pair: the thread was least interrupted there.
    fn measure(epoch: Instant) -> Wall {
        let since_zero = || Nanos::from(Instant::now().saturating_duration_since(epoch));
        let reading = |_| {
            let before = since_zero();
            let wall = WallNanos::now();
            let after = since_zero();
            let middle = before.plus(Nanos(after.since(before).0 / 2));
            let at_zero = WallNanos(wall.0 - middle.0 as i64);
            (after.since(before), Wall { at_zero, measured: after, set: WallNanos(i64::MIN) })
        };
        let readings = [0, 1, 2].map(reading);
        let closest = readings.into_iter().min_by_key(|(apart, _)| *apart);
        closest.expect("there are three").1
    }

    /// The difference as known at `now`; measures it again when the last measurement is too old.
    pub(super) fn known(before: Option<Wall>, now: Nanos, epoch: Instant) -> Wall {
        match before {
            Some(wall) if now.since(wall.measured) < OLD => wall,
            Some(wall) => wall.followed_by(Wall::measure(epoch)),
            None => Wall::measure(epoch),
        }
    }

    fn followed_by(self, next: Wall) -> Wall {
        let was_set = self.at_zero.0.abs_diff(next.at_zero.0) > APART_MOST;
        let shows = WallNanos(next.at_zero.0 + next.measured.0 as i64);
        Wall { set: if was_set { shows } else { self.set }, ..next }
    }

    /// The same moment on the load's clock; zero where it was earlier. `None` for a timestamp that
    /// was taken before the clock was stepped.
    pub(super) fn at(self, moment: WallNanos) -> Option<Nanos> {
        let at = Nanos(u64::try_from(moment.0 - self.at_zero.0).unwrap_or_default());
        (moment.0 >= self.set.0).then_some(at)
    }
}

/// Makes the kernel timestamp everything that this machine receives while this value exists.
/// Switching it on and off interrupts all CPUs briefly, so it is not done per connection.
#[derive(Debug)]
pub(super) struct Stamping {
    _socket: Option<OwnedFd>,
}

impl Stamping {
    pub(super) fn begin() -> Stamping {
        // If the socket fails, each connection switches timestamping on and off.
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None).ok();
        socket.iter().for_each(ask_for_stamps);
        Stamping { _socket: socket }
    }
}

/// Requests timestamps of everything received from now on. If that fails, bytes count as received
/// when they are read.
pub(super) fn ask_for_stamps(socket: &OwnedFd) {
    let _ = set_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1);
}

/// The control message that the kernel adds to received bytes, in the kernel's layout. We request
/// nothing else, so there is at most one.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct StampMessage {
    head: libc::cmsghdr,
    at: libc::timespec,
}

/// Size of the control message.
pub(super) const STAMP_BYTES: usize = size_of::<StampMessage>();

impl StampMessage {
    /// The timestamp in the control data; `None` where there is none.
    pub(super) fn stamp_in(bytes: &[u8]) -> Option<WallNanos> {
        if bytes.len() < STAMP_BYTES {
            return None;
        }
        // SAFETY: the length was checked, and the type consists of numbers, so any bytes are valid.
        let added = unsafe { bytes.as_ptr().cast::<StampMessage>().read_unaligned() };
        added.stamp()
    }

    fn stamp(self) -> Option<WallNanos> {
        let is_stamp = self.head.cmsg_level == libc::SOL_SOCKET
            && self.head.cmsg_type == libc::SCM_TIMESTAMPNS;
        is_stamp.then(|| WallNanos(self.at.tv_sec * SECOND + self.at.tv_nsec))
    }
}

/// Receives like recv(2), and also returns when the last of the bytes arrived, where the kernel
/// says so.
pub(super) fn receive(
    socket: &OwnedFd,
    buffer: &mut [u8],
) -> Result<(usize, Option<WallNanos>), Errno> {
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let mut added = MaybeUninit::<StampMessage>::uninit();
    // SAFETY: a message header consists of numbers and pointers, for which zero is valid.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
    let room = STAMP_BYTES as _;
    (message.msg_control, message.msg_controllen) = (added.as_mut_ptr().cast(), room);
    // SAFETY: the kernel writes into `buffer` and `added`, no more than the sizes that it was
    // given, and into `message`. All outlive the call.
    let bytes = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0) };
    let Ok(bytes) = usize::try_from(bytes) else {
        return Err(last_errno());
    };
    let is_whole = message.msg_controllen >= room;
    // SAFETY: the kernel says that it wrote all of it.
    let stamp = is_whole.then(|| unsafe { added.assume_init() }).and_then(StampMessage::stamp);
    Ok((bytes, stamp))
}

const SECOND: i64 = 1_000_000_000;
/// Longest time for which a stepped clock goes unnoticed. Timestamps from that time are at least
/// never later than when the bytes were seen.
const OLD: Nanos = Nanos::from_millis(10);
/// Largest difference of two measurements without a step. Three readings in a row may all be
/// interrupted, but not by 100 µs. A larger difference means that the clock was stepped.
const APART_MOST: u64 = 100_000;

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_stamp_is_of_the_arrival_and_not_of_the_look() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let client = OwnedFd::from(client);
        let _stamping = Stamping::begin();
        ask_for_stamps(&client);
        let (mut server, _) = listener.accept().unwrap();
        let mut buffer = [0; 64];
        // The kernel takes a moment to switch timestamping on.
        for _ in 0..1_000 {
            server.write_all(b"?").unwrap();
            if matches!(receive(&client, &mut buffer), Ok((_, Some(_)))) {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        for bytes in [&b"first"[..], b"second"] {
            let before = WallNanos::now();
            server.write_all(bytes).unwrap();
            let after = WallNanos::now();
            std::thread::sleep(Duration::from_millis(20));
            let (count, stamp) = receive(&client, &mut buffer).unwrap();
            assert_eq!(&buffer[..count], bytes);
            let stamp = stamp.expect("TCP is stamped");
            assert!(before.0 <= stamp.0 && stamp.0 <= after.0, "{before:?} {stamp:?} {after:?}");
        }
        drop(server);
        assert_eq!(receive(&client, &mut buffer), Ok((0, None)), "an end has no stamp");
    }

    #[test]
    fn a_moment_is_the_same_on_both_clocks() {
        let epoch = Instant::now();
        std::thread::sleep(Duration::from_millis(5));
        let wall = Wall::measure(epoch);
        let before = Nanos::from(epoch.elapsed());
        let at = wall.at(WallNanos::now()).expect("nobody set it");
        let after = Nanos::from(epoch.elapsed());
        // The difference is as exact as two readings are close.
        let slack = Nanos(20_000);
        assert!(
            before.since(slack) <= at && at <= after.plus(slack),
            "{before:?} {at:?} {after:?}"
        );
        assert_eq!(wall.at(WallNanos(0)), Some(Nanos(0)), "long before");
    }

    #[test]
    fn a_stamp_from_before_the_clock_was_set_says_nothing() {
        let epoch = Instant::now();
        let wall = Wall::measure(epoch);
        let again = |at_zero: i64| {
            let next = Wall { at_zero: WallNanos(at_zero), measured: Nanos(5_000), ..wall };
            wall.followed_by(next)
        };
        let same = again(wall.at_zero.0 + 50_000);
        assert_eq!(same.at(WallNanos(same.at_zero.0 + 4_000)), Some(Nanos(4_000)));
        // Stepped forward by a second: earlier timestamps would be a second too early.
        let set = again(wall.at_zero.0 + SECOND);
        assert_eq!(set.at(WallNanos(wall.at_zero.0 + 4_000)), None);
        assert_eq!(set.at(WallNanos(set.at_zero.0 + 4_000)), None, "not known which");
        assert_eq!(set.at(WallNanos(set.at_zero.0 + 6_000)), Some(Nanos(6_000)));
        let later = set.followed_by(Wall { measured: Nanos(9_000), ..set });
        assert_eq!(later.set, set.set, "it stays known");
    }

    #[test]
    fn the_wall_clock_is_measured_again_after_a_while() {
        let epoch = Instant::now();
        let first = Wall::known(None, Nanos(0), epoch);
        let soon = first.measured.plus(OLD).since(Nanos(1));
        assert_eq!(Wall::known(Some(first), soon, epoch).measured, first.measured);
        let again = Wall::known(Some(first), first.measured.plus(OLD), epoch);
        assert!(again.measured > first.measured);
    }

    #[test]
    fn a_unix_socket_has_none_and_works_all_the_same() {
        let (client, mut server) = UnixStream::pair().unwrap();
        let client = OwnedFd::from(client);
        ask_for_stamps(&client);
        server.write_all(b"bytes").unwrap();
        let mut buffer = [0; 64];
        assert_eq!(receive(&client, &mut buffer), Ok((5, None)));
        assert_eq!(StampMessage::stamp_in(&[]), None);
        assert_eq!(StampMessage::stamp_in(&[0; STAMP_BYTES]), None);
    }
}
