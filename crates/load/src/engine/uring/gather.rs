//! Waits for several answers of a crowd in one call.
//!
//! First it looks at what arrived during our work, and does not wait if that is enough. Waiting for
//! more would leave the server without work, and a wake-up costs both sides. Otherwise the kernel
//! counts completions, and wakes the thread when there are enough.

use stampede_model::time::Nanos;

use super::Uring;
use super::ring::GUARD;

impl Uring {
    /// Submits what is queued and waits for several answers, if that many of a `crowd` will arrive
    /// soon. Waits at most about [`GUARD`], and not at all if a part of them ([`ENOUGH`]) is
    /// already there. Returns `false` if it did nothing, because they will not arrive soon. After
    /// `true` there may still be no answer.
    pub(super) fn wait_for_batch(&mut self, until: Nanos, crowd: u32) -> bool {
        let is_far = self.clock.now().plus(GUARD) <= until;
        let Some(answers) = self.clock.batch_to_await(crowd).filter(|_| is_far) else {
            return false;
        };
        self.poll();
        let arrived = self.ring.answers();
        if arrived < (answers / ENOUGH).max(1) {
            self.ring.wait_for(answers - arrived);
            self.ring.take_batch();
            self.clock.count_batch_wait();
        }
        true
    }
}

/// Divisor of the awaited answers: if a quarter is there, and at least one, we do not wait.
const ENOUGH: u32 = 4;

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};
    use std::sync::mpsc;
    use std::time::{Duration, Instant};

    use io_uring::opcode;
    use io_uring::types::Timespec;
    use stampede_model::load::Address;

    use super::super::mark::{OpKind, UserData};
    use super::*;
    use crate::engine::clock::WaitMode;
    use crate::engine::{Engine, TimestampSource, Token};

    const CROWD: u32 = 100;
    const SILENT: UserData = UserData { token: Token(0), generation: 0, kind: OpKind::Other };

    /// An engine that has learned that answers arrive quickly, and has no connection.
    fn quick() -> Uring {
        let nobody = Address::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 9)));
        let mut engine =
            Uring::new(&nobody, 1, WaitMode::Sleep, TimestampSource::Userspace, Instant::now())
                .unwrap();
        for _ in 0..200 {
            (0..1_000).for_each(|_| engine.clock.note_send());
            engine.clock.refresh();
            engine.clock.batch_to_await(CROWD);
        }
        engine
    }

    /// How long a wait for answers that never arrive lasts. It runs on its own thread, so that a
    /// wait without an end is noticed here.
    fn lasts(prepare: fn(&mut Uring)) -> Duration {
        let (to_us, ended) = mpsc::channel();
        std::thread::spawn(move || {
            let mut engine = quick();
            prepare(&mut engine);
            let start = Instant::now();
            let until = engine.refresh().plus(Nanos::SECOND);
            assert!(engine.wait_for_batch(until, CROWD), "they are to come soon");
            let _ = to_us.send(start.elapsed());
        });
        ended.recv_timeout(Duration::from_secs(10)).expect("it ends, though no answer comes")
    }

    #[test]
    fn missing_answers_are_awaited_for_one_ms() {
        let lasted = lasts(|_| {});
        assert!(lasted >= Duration::from_millis(1), "{lasted:?}");
    }

    /// The timer of one wait is left armed for the next, and may expire between them unseen.
    #[test]
    fn a_wait_ends_if_its_timer_expired_before_it_began() {
        lasts(|engine| {
            let answers = engine.clock.batch_to_await(CROWD).unwrap();
            let soon = Box::leak(Box::new(Timespec::new().nsec(100_000)));
            for _ in 0..answers {
                let end = opcode::Timeout::new(soon).build().user_data(SILENT.number());
                engine.ring.push(&end);
            }
            let until = engine.refresh().plus(Nanos::SECOND);
            assert!(engine.wait_for_batch(until, CROWD));
            while engine.next().is_some() {}
            std::thread::sleep(Duration::from_millis(3));
        });
    }
}
