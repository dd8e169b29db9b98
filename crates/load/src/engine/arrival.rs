//! When bytes came, as the kernel stamped them (`SO_TIMESTAMPNS`, socket(7)): as the network handed
//! them over, on loopback while the server's own call sent them. However late we look, and be it that
//! the host stopped our CPU, that is when they came.
//!
//! Of several segments read at once the last one's stamp counts.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Instant;

use rustix::io::Errno;

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
}

impl Wall {
    /// The wall clock is read between two readings of the other, thrice: where the thread was not
    /// stopped in between, the two are closest.
    pub(super) fn measure(epoch: Instant) -> Wall {
        let since_zero = || Nanos::from(Instant::now().saturating_duration_since(epoch));
        let reading = |_| {
            let before = since_zero();
            let wall = WallNanos::now();
            let after = since_zero();
            let middle = before.plus(Nanos(after.since(before).0 / 2));
            let wall = Wall { at_zero: WallNanos(wall.0 - middle.0 as i64), measured: after };
            (after.since(before), wall)
        };
        let readings = [0, 1, 2].map(reading);
        let closest = readings.into_iter().min_by_key(|(apart, _)| *apart);
        closest.expect("there are three").1
    }

    pub(super) fn is_old(self, now: Nanos) -> bool {
        now.since(self.measured) >= OLD
    }

    /// The same moment on the load's clock; zero where it was before.
    pub(super) fn at(self, moment: WallNanos) -> Nanos {
        Nanos(u64::try_from(moment.0 - self.at_zero.0).unwrap_or_default())
    }
}

/// Asks for stamps of all that comes from now on. Without them what comes counts as it is seen.
pub(super) fn ask_for_stamps(socket: &OwnedFd) {
    let _ = super::socket::set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1);
}

/// What the kernel adds to bytes: we ask for nothing else, so there is one at most.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Added {
    head: libc::cmsghdr,
    at: libc::timespec,
}

/// Its size.
pub(super) const ADDED_BYTES: usize = size_of::<Added>();

impl Added {
    /// The stamp in what was added, if there is one.
    pub(super) fn stamp_in(bytes: &[u8]) -> Option<WallNanos> {
        if bytes.len() < ADDED_BYTES {
            return None;
        }
        // SAFETY: so many bytes are there; the type is numbers alone, so whatever they hold is one.
        let added = unsafe { bytes.as_ptr().cast::<Added>().read_unaligned() };
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
    let mut added = MaybeUninit::<Added>::uninit();
    // SAFETY: a message header is numbers and pointers, for which zero is nothing.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
    (message.msg_control, message.msg_controllen) = (added.as_mut_ptr().cast(), ADDED_BYTES);
    // SAFETY: the kernel writes into `buffer` and `added`, no more than their sizes, which it was
    // told, and into `message`; all outlive the call.
    let bytes = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, 0) };
    let Ok(bytes) = usize::try_from(bytes) else {
        let error = io::Error::last_os_error();
        return Err(Errno::from_io_error(&error).unwrap_or(Errno::INVAL));
    };
    let is_whole = message.msg_controllen >= ADDED_BYTES;
    // SAFETY: the kernel says that it wrote all of it.
    let stamp = is_whole.then(|| unsafe { added.assume_init() }).and_then(Added::stamp);
    Ok((bytes, stamp))
}

const SECOND: i64 = 1_000_000_000;
/// For so long at most moments are wrong after somebody set the clock, and never later than when
/// they were seen.
const OLD: Nanos = Nanos::from_millis(10);

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
        ask_for_stamps(&client);
        let (mut server, _) = listener.accept().unwrap();
        // The kernel may still be beginning to stamp.
        std::thread::sleep(Duration::from_millis(50));
        let mut buffer = [0; 64];
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
        let at = wall.at(WallNanos::now());
        let after = Nanos::from(epoch.elapsed());
        // Measured as exactly as two readings are apart.
        let slack = Nanos(20_000);
        assert!(
            before.since(slack) <= at && at <= after.plus(slack),
            "{before:?} {at:?} {after:?}"
        );
        assert_eq!(wall.at(WallNanos(0)), Nanos(0), "long before");
        assert!(!wall.is_old(wall.measured) && wall.is_old(wall.measured.plus(OLD)));
    }

    #[test]
    fn a_unix_socket_has_none_and_works_all_the_same() {
        let (client, mut server) = UnixStream::pair().unwrap();
        let client = OwnedFd::from(client);
        ask_for_stamps(&client);
        server.write_all(b"bytes").unwrap();
        let mut buffer = [0; 64];
        assert_eq!(receive(&client, &mut buffer), Ok((5, None)));
        assert_eq!(Added::stamp_in(&[]), None);
        assert_eq!(Added::stamp_in(&[0; ADDED_BYTES]), None);
    }
}
