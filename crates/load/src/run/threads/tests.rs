//! Tests loads of which one thread panics.

use stampede_model::counts::Second;
use stampede_model::time::Nanos;

use super::*;
use crate::recorder::{MeasuredTimes, Recorder};

/// Requests planned in the reported seconds.
struct Planned(u64);

impl Listener for Planned {
    fn second(&mut self, second: &Second) {
        self.0 += second.counts.planned;
    }
}

/// Plans a request in the first second of each load. In the load `panics_in`, the thread number 1
/// panics then, and any other plans ten more once it is stopped.
fn work(number: usize, panics_in: usize, ends: ThreadEnds, stop: &Stop) {
    let ThreadEnds { empty, starts, ready, to_us } = ends;
    let recorder = |empty| Recorder::new(number, MeasuredTimes::ServiceTime, to_us.clone(), empty);
    let recorders: Vec<Recorder> = empty.into_iter().map(recorder).collect();
    let _ = ready.send(Ok(()));
    for (load, mut recorder) in recorders.into_iter().enumerate() {
        starts.recv().expect("it begins");
        recorder.planned(1);
        recorder.next_second(Nanos(0));
        assert!(load != panics_in || number != 1, "injected");
        if load == panics_in {
            // At most 10 s.
            (0..10_000).take_while(|_| !stop.is_asked()).for_each(|_| {
                thread::sleep(Duration::from_millis(1));
            });
            recorder.planned(if stop.is_asked() { 10 } else { 0 });
        }
        recorder.finish(Nanos(0));
    }
}

#[test]
fn a_panic_of_one_load_thread_stops_the_others_and_what_was_measured_is_reported() {
    for (panics_in, expected) in [(0, [3 + 2 * 10, 2]), (1, [3, 3 + 2 * 10])] {
        let (to_us, messages) = mpsc::channel();
        let stop = Stop::default();
        let mut load_threads = LoadThreads::new(&stop);
        for number in 0..3 {
            let stop = stop.clone();
            let spawned = load_threads.spawn(2, to_us.clone(), move |ends| {
                work(number, panics_in, ends, &stop);
                None
            });
            spawned.expect("a thread");
        }
        drop(to_us);
        let planned = [0, 1].map(|_| {
            let mut planned = Planned(0);
            load_threads.run(None, &messages, &Check::default(), &mut planned);
            planned.0
        });
        assert_eq!(planned, expected);
        assert!(stop.is_asked());
        let error = load_threads.join().expect_err("it panicked");
        assert_eq!(error.to_string(), "thread `load 1` panicked: injected");
        assert!(error.hint().is_some_and(|hint| hint.contains("report it")));
    }
}
