//! Ends connections: cancels what the kernel still has of one, then closes its socket.

use std::os::fd::{AsRawFd, IntoRawFd};

use io_uring::types::Fd;
use io_uring::{opcode, squeue};

use super::mark::{GENERATION_MASK, OpKind, UserData};
use super::place::{EndPoll, InFlight, Registration, State};
use super::{Uring, files};
use crate::engine::Token;

impl Uring {
    /// Cancels the operations in flight, then closes. The order matters: an operation keeps its
    /// socket open.
    pub(super) fn close(&mut self, token: Token) {
        let all_user_data = [OpKind::Connect, OpKind::Send, OpKind::Receive, OpKind::HangUp]
            .map(|kind| self.user_data(token, kind));
        let slot = self.slot(token);
        let in_flight = [
            slot.state == State::Connecting,
            slot.sending == InFlight::Yes,
            slot.receiving == InFlight::Yes,
            slot.watching == EndPoll::InFlight,
        ];
        let socket = slot.socket.take();
        let file = std::mem::take(&mut slot.file);
        let in_kernel = match slot.sending {
            InFlight::Yes => Some(std::mem::take(&mut slot.in_kernel)),
            InFlight::No => None,
        };
        slot.generation = slot.generation.wrapping_add(1) & GENERATION_MASK;
        slot.state = State::Closed;
        (slot.sending, slot.receiving, slot.watching) =
            (InFlight::No, InFlight::No, EndPoll::NotBegun);
        slot.wants_receive = false;
        slot.send.clear();
        self.orphans.extend(in_kernel.map(|in_kernel| (all_user_data[1], in_kernel)));
        let Some(socket) = socket else { return };
        for (user_data, in_flight) in all_user_data.into_iter().zip(in_flight) {
            if in_flight {
                let cancel = opcode::AsyncCancel::new(user_data.number()).build();
                self.push(token, &silent(cancel, user_data));
            }
        }
        if let Registration::Registered(file) = file {
            // If this fails, the socket stays open until the place is used again.
            self.push(token, &silent(files::remove(file), all_user_data[0]));
        }
        let close = opcode::Close::new(Fd(socket.as_raw_fd())).build();
        if self.push(token, &silent(close, all_user_data[0])) == InFlight::Yes {
            // The ring closes it.
            let _ = socket.into_raw_fd();
        }
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        // Operations in flight read and write our memory, so they are cancelled one by one.
        // Cancelling all at once takes the kernel a second for 10 000 connections, because its time
        // grows with their square. What is left then is cancelled when the ring is dropped.
        (0..self.slots.len()).for_each(|token| self.close(Token(token as u32)));
        self.ring.submit();
    }
}

/// Makes an operation report only failures, and those are ignored.
pub(super) fn silent(entry: squeue::Entry, of: UserData) -> squeue::Entry {
    let user_data = UserData { kind: OpKind::Other, ..of };
    entry.flags(squeue::Flags::SKIP_SUCCESS).user_data(user_data.number())
}
