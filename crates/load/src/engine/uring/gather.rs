//! Waits for several answers of a crowd in one call.
//!
//! First it looks at what arrived during our work, and does not wait if that is enough. Waiting for
//! more would leave the server without work, and a wake-up costs both sides. Otherwise the kernel
//! counts completions, and wakes the thread when there are enough.

use super::Uring;
use super::ring::GUARD;
use crate::time::Nanos;

impl Uring {
    /// Submits what is queued and waits for several answers, if that many of a `crowd` will arrive
    /// soon. Waits at most about [`GUARD`], and not at all if a part of them ([`ENOUGH`]) is
    /// already there. Returns `false` if it did nothing, because they will not arrive soon. After
    /// `true` there may still be no answer.
    pub(super) fn gathers(&mut self, until: Nanos, crowd: u32) -> bool {
        let is_far = self.clock.now().plus(GUARD) <= until;
        let Some(answers) = self.clock.gathers(crowd).filter(|_| is_far) else { return false };
        self.look();
        let there = self.ring.answers();
        if there < (answers / ENOUGH).max(1) {
            self.ring.wait_for(answers - there);
            self.ring.take_batch();
            self.clock.gathered();
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

    use super::super::mark::{Mark, What};
    use super::*;
    use crate::engine::clock::Waiting;
    use crate::engine::{Engine, Slot, Stamps};
    use crate::spec::Address;

    const CROWD: u32 = 100;
    const SILENT: Mark = Mark { slot: Slot(0), connection: 0, what: What::Other };

    /// An engine that has learned that answers arrive quickly, and has no connection.
    fn quick() -> Uring {
        let nobody = Address::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 9)));
        let mut engine =
            Uring::new(&nobody, 1, Waiting::Sleep, Stamps::Ours, Instant::now()).unwrap();
        for _ in 0..200 {
            (0..1_000).for_each(|_| engine.clock.sends());
            engine.clock.refresh();
            engine.clock.gathers(CROWD);
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
            assert!(engine.gathers(until, CROWD), "they are to come soon");
            let _ = to_us.send(start.elapsed());
        });
        ended.recv_timeout(Duration::from_secs(10)).expect("it ends, though no answer comes")
    }

    #[test]
    fn answers_that_do_not_come_are_waited_for_a_ms() {
        let lasted = lasts(|_| {});
        assert!(lasted >= Duration::from_millis(1), "{lasted:?}");
    }

    /// The timer of one wait is left armed for the next, and may expire between them unseen.
    #[test]
    fn a_wait_ends_whose_timer_ran_out_before_it() {
        lasts(|engine| {
            let answers = engine.clock.gathers(CROWD).unwrap();
            let soon = Box::leak(Box::new(Timespec::new().nsec(100_000)));
            for _ in 0..answers {
                let end = opcode::Timeout::new(soon).build().user_data(SILENT.number());
                engine.ring.push(&end);
            }
            let until = engine.refresh().plus(Nanos::SECOND);
            assert!(engine.gathers(until, CROWD));
            while engine.next().is_some() {}
            std::thread::sleep(Duration::from_millis(3));
        });
    }
}
