//! Buffers that the kernel receives into. They are passed in both directions through a ring in
//! shared memory (`IORING_REGISTER_PBUF_RING`, io_uring_register_buf_ring(3)).

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::io;
use std::mem::offset_of;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::Submitter;
use io_uring::types::{BufRingEntry, RecvMsgOut};

use crate::engine::Timestamps;
use crate::engine::arrival::{TIMESTAMP_BYTES, TimestampMessage, WallNanos};

/// All buffers of one ring. The kernel may write to them from the registration until the ring is
/// gone, so they must be dropped after the ring.
#[derive(Debug)]
pub(super) struct Buffers {
    ring: Pages,
    bytes: Pages,
    count: u16,
    /// Number of buffers given to the kernel so far, wrapping; the kernel reads it.
    tail: u16,
}

impl Buffers {
    /// Registers as many buffers as `connections` can fill at once, within bounds, with the ring of
    /// `submitter` as group [`GROUP`]. All are given to the kernel.
    ///
    /// # Errors
    /// The kernel is older than 5.19.
    pub(super) fn register(submitter: &Submitter<'_>, connections: u32) -> io::Result<Buffers> {
        // A power of two, as the kernel demands.
        let count = connections.clamp(COUNT_MIN, COUNT_MAX).next_power_of_two() as u16;
        let ring = Pages::new(usize::from(count) * size_of::<RingEntry>());
        let bytes = Pages::new(usize::from(count) * STRIDE_BYTES);
        let address = ring.0.as_ptr() as u64;
        // SAFETY: `ring` is page-aligned memory for `count` entries, and outlives the kernel's
        // ring, see above.
        unsafe { submitter.register_buf_ring_with_flags(address, count, GROUP, 0)? };
        let mut buffers = Buffers { ring, bytes, count, tail: 0 };
        (0..count).for_each(|number| buffers.give_back(number));
        Ok(buffers)
    }

    /// What was received into a buffer whose first `length` bytes the kernel filled.
    pub(super) fn part(&self, number: u16, length: usize, timestamps: Timestamps) -> ReceivedPart {
        if timestamps == Timestamps::Userspace || length == 0 {
            return ReceivedPart { number, from: 0, length, timestamp: None };
        }
        let message = RecvMsgOut::parse(self.filled(number, length), &HEADER.0);
        let message = message.expect("the kernel leaves the room that it was told");
        let from = length - message.payload_data().len();
        ReceivedPart {
            number,
            from,
            length,
            timestamp: TimestampMessage::find_in(message.control_data()),
        }
    }

    pub(super) fn bytes(&self, part: ReceivedPart) -> &[u8] {
        &self.filled(part.number, part.length)[part.from..]
    }

    /// The first `length` bytes of a buffer that the kernel filled and gave to us.
    fn filled(&self, number: u16, length: usize) -> &[u8] {
        assert!(number < self.count && length <= BUFFER_BYTES, "the kernel names our own buffers");
        // SAFETY: inside `bytes`, initialised by `alloc_zeroed`; between its completion and
        // `give_back` the kernel does not write to it.
        unsafe {
            let begin = self.bytes.0.as_ptr().add(usize::from(number) * STRIDE_BYTES);
            std::slice::from_raw_parts(begin, length)
        }
    }

    /// Gives a buffer to the kernel, which may fill it at once.
    pub(super) fn give_back(&mut self, number: u16) {
        let base = self.ring.0.as_ptr().cast::<RingEntry>();
        let address = self.bytes.0.as_ptr() as u64 + u64::from(number) * STRIDE_BYTES as u64;
        // SAFETY: the index is below `count`, so the entry lies inside `ring`, whose pages are
        // zeroed and aligned. The kernel reads the entry only after the tail has passed it. The tail
        // lies in the first entry, and the kernel reads it at any time. So everything is written
        // through raw pointers: a reference to that entry would include the tail.
        unsafe {
            let entry = base.add(usize::from(self.tail % self.count));
            (&raw mut (*entry).address).write(address);
            (&raw mut (*entry).length).write(BUFFER_BYTES as u32);
            (&raw mut (*entry).number).write(number);
            self.tail = self.tail.wrapping_add(1);
            AtomicU16::from_ptr(&raw mut (*base).tail).store(self.tail, Ordering::Release);
        }
    }
}

/// An entry of the ring of buffers, the kernel's `struct io_uring_buf`.
#[repr(C)]
struct RingEntry {
    address: u64,
    length: u32,
    number: u16,
    /// Of the first entry: the tail of the ring. Of the others it is not used.
    tail: u16,
}

const _: () = assert!(
    size_of::<RingEntry>() == size_of::<BufRingEntry>()
        && align_of::<RingEntry>() == align_of::<BufRingEntry>()
        && offset_of!(RingEntry, tail) == 14
);

/// The result of one receive.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceivedPart {
    /// Number of its buffer.
    pub(super) number: u16,
    /// Where the bytes begin; before them is the kernel's message header.
    from: usize,
    /// Where the bytes end.
    length: usize,
    /// When the last of the bytes arrived; `None` without a timestamp.
    pub(super) timestamp: Option<WallNanos>,
}

impl ReceivedPart {
    /// Whether there are no bytes, which means the end of a connection.
    pub(super) fn is_empty(self) -> bool {
        self.from == self.length
    }
}

/// The message header of a multishot `recvmsg`: it only says how much room to leave for control
/// messages. The kernel reads it on submission, possibly some time after it was queued.
pub(super) struct Header(pub(super) libc::msghdr);

// SAFETY: all pointers in it are null.
unsafe impl Sync for Header {}

pub(super) static HEADER: Header = {
    // SAFETY: a message header consists of numbers and pointers, for which zero is valid.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_controllen = TIMESTAMP_BYTES as _;
    Header(header)
};

/// Zeroed memory that begins at a page boundary.
#[derive(Debug)]
struct Pages(NonNull<u8>, Layout);

impl Pages {
    fn new(bytes: usize) -> Pages {
        let layout = Layout::from_size_align(bytes, PAGE_BYTES).expect("a few MB");
        // SAFETY: the layout's size is not zero.
        let memory = unsafe { alloc_zeroed(layout) };
        match NonNull::new(memory) {
            Some(memory) => Pages(memory, layout),
            None => handle_alloc_error(layout),
        }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: from `alloc_zeroed` with this layout.
        unsafe { dealloc(self.0.as_ptr(), self.1) };
    }
}

/// The only group of the ring.
pub(super) const GROUP: u16 = 0;
/// Fewest buffers: the answers of one batch, each in its own buffer. Few, so that they stay in the
/// CPU's caches.
const COUNT_MIN: u32 = 128;
/// Most buffers. Where they do not suffice, a receive ends and must be submitted again. That costs
/// as much as ten answers.
const COUNT_MAX: u32 = 2048;
/// A usual answer fits into one buffer, together with its 48 bytes of headers. All buffers have 1
/// to 17 MB, but only the touched pages take memory.
const BUFFER_BYTES: usize = 8 * 1024;
/// Distance from one buffer to the next. It is no power of two: the beginnings of all buffers,
/// where the answers are, would then share a few cache sets and evict each other.
const STRIDE_BYTES: usize = BUFFER_BYTES + 320;
const PAGE_BYTES: usize = 4096;
