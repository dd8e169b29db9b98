//! When bytes came, as the kernel stamped them (`SO_TIMESTAMPNS`, socket(7)): as the network handed
//! them over, on loopback while the server's own call sent them. However late we look, and be it
//! because the host stopped our CPU, that is when they came.
//!
//! Of segments that the kernel has joined by then the last one's stamp counts, of those that a
//! network card's driver has joined (GRO) the first one's.

use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Instant;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType};

use super::socket::{last_errno, set_option};
use crate::time::Nanos;

/// A moment on the kernel's wall clock (`CLOCK_REALTIME`), ns since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WallNanos(pub(super) i64);

impl WallNanos {
    pub(super) fn now() -> WallNanos {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        WallNanos(now.tv_sec * SECOND + now.tv_nsec)
    }
}

/// How far the wall clock is from the load's. Both go at the same rate, but the wall clock may be
/// set: so it is measured again and again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wall {
    /// What it shows at the load's zero.
    at_zero: WallNanos,
    measured: Nanos,
    /// Stamps from before are of a clock that was set since.
    set: WallNanos,
}

impl Wall {
    /// The wall clock is read between two readings of the other, thrice: where the thread was not
    /// stopped in between, the two are closest.
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

    /// As far as it is known `now`: measured again where that is some time ago.
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

    /// The same moment on the load's clock, zero where it was before; `None` where the clock was
    /// set since.
    pub(super) fn at(self, moment: WallNanos) -> Option<Nanos> {
        let at = Nanos(u64::try_from(moment.0 - self.at_zero.0).unwrap_or_default());
        (moment.0 >= self.set.0).then_some(at)
    }
}

/// Has the kernel stamp whatever comes to this machine for as long as this is held. To begin and to
/// end it takes all CPUs a moment: not for each connection.
#[derive(Debug)]
pub(super) struct Stamping {
    _socket: Option<OwnedFd>,
}

impl Stamping {
    pub(super) fn begin() -> Stamping {
        // Without a socket each connection begins and ends it.
        let socket = rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None).ok();
        socket.iter().for_each(ask_for_stamps);
        Stamping { _socket: socket }
    }
}

/// Asks for stamps of all that comes from now on. Without them what comes counts as it is seen.
pub(super) fn ask_for_stamps(socket: &OwnedFd) {
    let _ = set_option(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1);
}

/// What the kernel says beside bytes, as it lays it out: we ask for nothing else, so there is one
/// at most.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct StampMessage {
    head: libc::cmsghdr,
    at: libc::timespec,
}

/// How much room it takes.
pub(super) const STAMP_BYTES: usize = size_of::<StampMessage>();

impl StampMessage {
    /// The stamp in what was added, if there is one.
    pub(super) fn stamp_in(bytes: &[u8]) -> Option<WallNanos> {
        if bytes.len() < STAMP_BYTES {
            return None;
        }
        // SAFETY: so many bytes are there; the type is numbers alone, so whatever they hold is one.
        let added = unsafe { bytes.as_ptr().cast::<StampMessage>().read_unaligned() };
        added.stamp()
    }

    fn stamp(self) -> Option<WallNanos> {
        let is_stamp = self.head.cmsg_level == libc::SOL_SOCKET
            && self.head.cmsg_type == libc::SCM_TIMESTAMPNS;
        is_stamp.then(|| WallNanos(self.at.tv_sec * SECOND + self.at.tv_nsec))
    }
}

/// As recv(2), and when the last of what it read came, where the kernel says so.
pub(super) fn receive(
    socket: &OwnedFd,
    buffer: &mut [u8],
) -> Result<(usize, Option<WallNanos>), Errno> {
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let mut added = MaybeUninit::<StampMessage>::uninit();
    // SAFETY: a message header is numbers and pointers, for which zero is nothing.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
    let room = STAMP_BYTES as _;
    (message.msg_control, message.msg_controllen) = (added.as_mut_ptr().cast(), room);
    // SAFETY: the kernel writes into `buffer` and `added`, no more than their sizes, which it was
    // told, and into `message`; all outlive the call.
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
/// For so long at most it goes unseen that somebody set the clock; what came then is never later
/// than when it was seen.
const OLD: Nanos = Nanos::from_millis(10);
/// Two measurements differ by as much as a thread was stopped between two readings, thrice in a
/// row. What is further apart was set.
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
        // The kernel takes a moment to begin.
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
        // Measured as exactly as two readings are apart.
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
        // Set forward by a second: what was stamped before would be a second too early.
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
