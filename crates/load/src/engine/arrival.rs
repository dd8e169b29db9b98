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
use stampede_model::time::Nanos;

use super::socket::{last_errno, set_option};

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
pub(super) struct WallClockOffset {
    /// What the wall clock shows at the zero of the load's clock.
    at_zero: WallNanos,
    measured: Nanos,
    /// Timestamps before this moment are invalid, because the clock was stepped later.
    stepped_at: WallNanos,
}

impl WallClockOffset {
    /// Measures the difference. Reads the wall clock between two readings of the other clock, three
    /// times, and takes the closest pair: the thread was least interrupted there.
    fn measure(epoch: Instant) -> WallClockOffset {
        let since_zero = || Nanos::from(Instant::now().saturating_duration_since(epoch));
        let reading = |_| {
            let before = since_zero();
            let wall = WallNanos::now();
            let after = since_zero();
            let middle = before.plus(Nanos(after.since(before).0 / 2));
            let at_zero = WallNanos(wall.0 - middle.0 as i64);
            (
                after.since(before),
                WallClockOffset { at_zero, measured: after, stepped_at: WallNanos(i64::MIN) },
            )
        };
        let readings = [0, 1, 2].map(reading);
        let closest = readings.into_iter().min_by_key(|(apart, _)| *apart);
        closest.expect("there are three").1
    }

    /// The difference as known at `now`, when the wall clock `shows` this. Measures it again when the
    /// last measurement is too old, or when the wall clock was stepped.
    pub(super) fn current(
        before: Option<WallClockOffset>,
        (now, shows): (Nanos, WallNanos),
        epoch: Instant,
    ) -> WallClockOffset {
        match before {
            Some(wall) if now.since(wall.measured) < OFFSET_AGE_MAX && wall.fits(now, shows) => {
                wall
            }
            Some(wall) => wall.updated_by(WallClockOffset::measure(epoch)),
            None => WallClockOffset::measure(epoch),
        }
    }

    /// Whether the wall clock shows about what it should, soon after `now`.
    fn fits(self, now: Nanos, shows: WallNanos) -> bool {
        (shows.0 - self.at_zero.0).abs_diff(now.0 as i64) <= OFFSET_CHANGE_MAX
    }

    fn updated_by(self, next: WallClockOffset) -> WallClockOffset {
        let was_stepped = self.at_zero.0.abs_diff(next.at_zero.0) > OFFSET_CHANGE_MAX;
        let shows = WallNanos(next.at_zero.0 + next.measured.0 as i64);
        WallClockOffset { stepped_at: if was_stepped { shows } else { self.stepped_at }, ..next }
    }

    /// The same moment on the load's clock; zero where it was earlier. `None` for a timestamp that
    /// was taken before the clock was stepped.
    pub(super) fn at(self, moment: WallNanos) -> Option<Nanos> {
        let at = Nanos(u64::try_from(moment.0 - self.at_zero.0).unwrap_or_default());
        (moment.0 >= self.stepped_at.0).then_some(at)
    }
}

/// Makes the kernel timestamp everything that this machine receives while this value exists.
/// Switching it on and off interrupts all CPUs briefly, so it is not done per connection.
#[derive(Debug)]
pub(super) struct TimestampingGuard {
    _socket: Option<OwnedFd>,
}

impl TimestampingGuard {
    pub(super) fn begin() -> TimestampingGuard {
        // If the socket fails, each connection switches timestamping on and off.
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None).ok();
        socket.iter().for_each(enable_timestamps);
        TimestampingGuard { _socket: socket }
    }
}

/// Requests timestamps of everything received from now on. If that fails, bytes count as received
/// when they are read.
pub(super) fn enable_timestamps(socket: &OwnedFd) {
    let _ = set_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1);
}

/// The control message that the kernel adds to received bytes, in the kernel's layout. We request
/// nothing else, so there is at most one.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct TimestampMessage {
    head: libc::cmsghdr,
    at: libc::timespec,
}

/// Size of the control message.
pub(super) const TIMESTAMP_BYTES: usize = size_of::<TimestampMessage>();

impl TimestampMessage {
    /// The timestamp in the control data; `None` where there is none.
    pub(super) fn find_in(bytes: &[u8]) -> Option<WallNanos> {
        if bytes.len() < TIMESTAMP_BYTES {
            return None;
        }
        // SAFETY: the length was checked, and the type consists of numbers, so any bytes are valid.
        let added = unsafe { bytes.as_ptr().cast::<TimestampMessage>().read_unaligned() };
        added.timestamp()
    }

    fn timestamp(self) -> Option<WallNanos> {
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
    let mut added = MaybeUninit::<TimestampMessage>::uninit();
    // SAFETY: a message header consists of numbers and pointers, for which zero is valid.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
    let room = TIMESTAMP_BYTES as _;
    (message.msg_control, message.msg_controllen) = (added.as_mut_ptr().cast(), room);
    // SAFETY: the kernel writes into `buffer` and `added`, no more than the sizes that it was
    // given, and into `message`. All outlive the call.
    let bytes = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0) };
    let Ok(bytes) = usize::try_from(bytes) else {
        return Err(last_errno());
    };
    let is_whole = message.msg_controllen >= room;
    // SAFETY: the kernel says that it wrote all of it.
    let timestamp =
        is_whole.then(|| unsafe { added.assume_init() }).and_then(TimestampMessage::timestamp);
    Ok((bytes, timestamp))
}

const SECOND: i64 = 1_000_000_000;
/// How long a measurement is used. The clocks drift apart by less than 1 ns meanwhile; a step is
/// noticed at the next wait.
const OFFSET_AGE_MAX: Nanos = Nanos::from_millis(10);
/// Largest difference of two measurements without a step. Three readings in a row may all be
/// interrupted, but not by 100 µs. A larger difference means that the clock was stepped.
const OFFSET_CHANGE_MAX: u64 = 100_000;

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_timestamp_is_of_the_arrival_and_not_of_the_read() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let client = OwnedFd::from(client);
        let _stamping = TimestampingGuard::begin();
        enable_timestamps(&client);
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
            let (count, timestamp) = receive(&client, &mut buffer).unwrap();
            assert_eq!(&buffer[..count], bytes);
            let timestamp = timestamp.expect("TCP is stamped");
            assert!(
                before.0 <= timestamp.0 && timestamp.0 <= after.0,
                "{before:?} {timestamp:?} {after:?}"
            );
        }
        drop(server);
        assert_eq!(receive(&client, &mut buffer), Ok((0, None)), "an end has no stamp");
    }

    #[test]
    fn a_moment_is_the_same_on_both_clocks() {
        let epoch = Instant::now();
        std::thread::sleep(Duration::from_millis(5));
        let wall = WallClockOffset::measure(epoch);
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
    fn a_timestamp_from_before_a_clock_step_is_ignored() {
        let epoch = Instant::now();
        let wall = WallClockOffset::measure(epoch);
        let again = |at_zero: i64| {
            let next =
                WallClockOffset { at_zero: WallNanos(at_zero), measured: Nanos(5_000), ..wall };
            wall.updated_by(next)
        };
        let same = again(wall.at_zero.0 + 50_000);
        assert_eq!(same.at(WallNanos(same.at_zero.0 + 4_000)), Some(Nanos(4_000)));
        // Stepped forward by a second: earlier timestamps would be a second too early.
        let stepped_at = again(wall.at_zero.0 + SECOND);
        assert_eq!(stepped_at.at(WallNanos(wall.at_zero.0 + 4_000)), None);
        assert_eq!(stepped_at.at(WallNanos(stepped_at.at_zero.0 + 4_000)), None, "not known which");
        assert_eq!(stepped_at.at(WallNanos(stepped_at.at_zero.0 + 6_000)), Some(Nanos(6_000)));
        let later = stepped_at.updated_by(WallClockOffset { measured: Nanos(9_000), ..stepped_at });
        assert_eq!(later.stepped_at, stepped_at.stepped_at, "it stays known");
    }

    #[test]
    fn the_wall_clock_is_measured_again_after_a_while() {
        let epoch = Instant::now();
        let first = WallClockOffset::current(None, (Nanos(0), WallNanos(0)), epoch);
        let shown = |at: Nanos| WallNanos(first.at_zero.0 + at.0 as i64);
        let is_kept = |at: Nanos, shows: WallNanos| {
            WallClockOffset::current(Some(first), (at, shows), epoch).measured == first.measured
        };
        let late = first.measured.plus(OFFSET_AGE_MAX);
        let soon = late.since(Nanos(1));
        assert!(is_kept(soon, shown(soon)));
        assert!(!is_kept(late, shown(late)), "too old");
        assert!(!is_kept(soon, shown(soon.plus(Nanos::SECOND))), "the clock was stepped");
        assert!(!is_kept(soon, shown(Nanos(0))), "stepped back");
    }

    #[test]
    fn a_unix_socket_has_no_timestamps_and_works() {
        let (client, mut server) = UnixStream::pair().unwrap();
        let client = OwnedFd::from(client);
        enable_timestamps(&client);
        server.write_all(b"bytes").unwrap();
        let mut buffer = [0; 64];
        assert_eq!(receive(&client, &mut buffer), Ok((5, None)));
        assert_eq!(TimestampMessage::find_in(&[]), None);
        assert_eq!(TimestampMessage::find_in(&[0; TIMESTAMP_BYTES]), None);
    }
}
