//! Kernel timestamps of received bytes (`SO_TIMESTAMPNS`, socket(7)). They say when the network
//! delivered the bytes; on loopback, that is during the sender's own send call. They are right
//! however late we look, even if the host stopped our CPU.
//!
//! If the kernel has joined segments by then, the timestamp of the last one counts. If the driver
//! of a network card has joined them (GRO), the timestamp of the first one counts.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd};

use rustix::io::Errno;

/// A moment on the kernel's wall clock (`CLOCK_REALTIME`), in ns since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WallNanos(pub i64);

impl WallNanos {
    /// What the wall clock shows.
    pub fn now() -> WallNanos {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        WallNanos(now.tv_sec * SECOND + now.tv_nsec)
    }
}

/// Requests timestamps of everything received from now on. If that fails, [`receive`] returns none.
pub fn enable_timestamps(socket: impl AsFd) {
    let value: libc::c_int = 1;
    // SAFETY: the kernel reads one number of the given size, which outlives the call.
    let _ = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
}

/// Bytes that a TCP socket was given and has not sent yet, because the other side has no room for them
/// (`SIOCOUTQNSD`, linux/sockios.h). 0: none, or the kernel does not say.
pub fn unsent_bytes(socket: impl AsFd) -> u32 {
    let mut bytes: libc::c_int = 0;
    // SAFETY: the kernel writes one number, which outlives the call.
    let result = unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), SIOCOUTQNSD, &raw mut bytes) };
    if result == 0 { u32::try_from(bytes).unwrap_or(0) } else { 0 }
}

/// Reads the length of the queue of what is not sent.
const SIOCOUTQNSD: libc::Ioctl = 0x894b;

/// The control message that the kernel adds to received bytes, in the kernel's layout. We request
/// nothing else, so there is at most one.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct TimestampMessage {
    head: libc::cmsghdr,
    at: libc::timespec,
}

/// Size of the control message.
pub const TIMESTAMP_BYTES: usize = size_of::<TimestampMessage>();

impl TimestampMessage {
    /// The timestamp in the control data; `None` where there is none.
    pub fn find_in(bytes: &[u8]) -> Option<WallNanos> {
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
///
/// # Errors
/// As recv(2).
#[inline]
pub fn receive(socket: impl AsFd, buffer: &mut [u8]) -> Result<(usize, Option<WallNanos>), Errno> {
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let mut added = MaybeUninit::<TimestampMessage>::uninit();
    // SAFETY: a message header consists of numbers and pointers, for which zero is valid.
    let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
    (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
    let room = TIMESTAMP_BYTES as _;
    (message.msg_control, message.msg_controllen) = (added.as_mut_ptr().cast(), room);
    // SAFETY: the kernel writes into `buffer` and `added`, no more than the sizes that it was
    // given, and into `message`. All outlive the call.
    let bytes = unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut message, 0) };
    let Ok(bytes) = usize::try_from(bytes) else {
        return Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL));
    };
    let is_whole = message.msg_controllen >= room;
    // SAFETY: the kernel says that it wrote all of it.
    let timestamp =
        is_whole.then(|| unsafe { added.assume_init() }).and_then(TimestampMessage::timestamp);
    Ok((bytes, timestamp))
}

const SECOND: i64 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn bytes_for_which_the_other_side_has_no_room_are_unsent() {
        use std::io::Read as _;

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        server.write_all(b"short").unwrap();
        assert_eq!(unsent_bytes(&server), 0);
        server.set_nonblocking(true).unwrap();
        let mut written = 5;
        while let Ok(more) = server.write(&[0; 1 << 20]) {
            written += more;
        }
        assert!(unsent_bytes(&server) > 0);
        let mut all = vec![0; written];
        client.read_exact(&mut all).unwrap();
        assert_eq!(unsent_bytes(&server), 0);
        assert_eq!(unsent_bytes(std::io::stderr()), 0, "no socket");
    }

    #[test]
    fn a_timestamp_is_of_the_arrival_and_not_of_the_read() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        enable_timestamps(&client);
        let (mut server, _) = listener.accept().unwrap();
        let mut buffer = [0; 64];
        // The kernel takes a moment to switch timestamping on.
        for _ in 0..1_000 {
            server.write_all(b"?").unwrap();
            if matches!(receive(&client, &mut buffer), Ok((_, Some(_)))) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        for bytes in [&b"first"[..], b"second"] {
            let before = WallNanos::now();
            server.write_all(bytes).unwrap();
            let after = WallNanos::now();
            std::thread::sleep(std::time::Duration::from_millis(20));
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
    fn a_unix_socket_has_no_timestamps_and_works() {
        let (client, mut server) = UnixStream::pair().unwrap();
        enable_timestamps(&client);
        server.write_all(b"bytes").unwrap();
        let mut buffer = [0; 64];
        assert_eq!(receive(&client, &mut buffer), Ok((5, None)));
        assert_eq!(TimestampMessage::find_in(&[]), None);
        assert_eq!(TimestampMessage::find_in(&[0; TIMESTAMP_BYTES]), None);
    }
}
