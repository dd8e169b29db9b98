//! Says at once what a user should know of an engine's doings: what takes minutes, and what comes differently
//! than was announced.

use std::sync::OnceLock;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use stampede_model::fact::containers::ServiceCode;

/// Something that takes long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LongWork<'a> {
    /// An image is fetched from a registry.
    Fetch {
        /// Its name.
        image: &'a str,
    },
    /// Images are built.
    Build {
        /// What they are for: services, or the image that something is added to.
        of: &'a [String],
    },
    /// A volume, or a directory of this machine, is copied for a trial.
    Copy {
        /// Its name or path.
        from: &'a str,
    },
}

/// What is told while a stack starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News<'a> {
    /// Something takes long.
    Long(LongWork<'a>),
    /// A container's address is not reached from here: requests go to a port of 127.0.0.1 instead.
    Unreached {
        /// The service.
        service: &'a str,
        /// The address.
        address: &'a str,
    },
    /// A service has code from its image that the project mounts.
    Code {
        /// The row of the project.
        row: &'a str,
        /// Where the service has it from.
        service: &'a ServiceCode,
    },
}

/// Whoever shows it.
type Teller = fn(&News<'_>);

/// What takes less is not worth a word.
const PATIENCE: Duration = Duration::from_secs(2);

static TELLER: OnceLock<Teller> = OnceLock::new();

/// From here on `teller` is called for news, such as work that takes longer than two seconds, while it goes
/// on. The first call counts.
pub fn tell_by(teller: Teller) {
    let _ = TELLER.set(teller);
}

/// Tells it now.
pub fn tell(news: &News<'_>) {
    if let Some(teller) = TELLER.get() {
        teller(news);
    }
}

/// Does the work. If it takes long, that is told meanwhile.
pub fn told<T>(work: LongWork<'_>, run: impl FnOnce() -> T) -> T {
    match TELLER.get() {
        Some(teller) => told_to(teller, PATIENCE, work, run),
        None => run(),
    }
}

fn told_to<T>(
    teller: impl Fn(&News<'_>) + Send,
    patience: Duration,
    work: LongWork<'_>,
    run: impl FnOnce() -> T,
) -> T {
    std::thread::scope(|scope| {
        let (working, ended) = mpsc::channel::<()>();
        scope.spawn(move || {
            if ended.recv_timeout(patience) == Err(RecvTimeoutError::Timeout) {
                teller(&News::Long(work));
            }
        });
        let result = run();
        drop(working);
        result
    })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn work_that_takes_long_is_told_once_while_it_goes_on() {
        let told = AtomicUsize::new(0);
        let teller = |news: &News<'_>| {
            assert_eq!(*news, News::Long(LongWork::Fetch { image: "php:8.4-fpm" }));
            told.fetch_add(1, Ordering::SeqCst);
        };
        let fetch = LongWork::Fetch { image: "php:8.4-fpm" };
        let result = told_to(teller, Duration::ZERO, fetch, || {
            while told.load(Ordering::SeqCst) == 0 {
                std::thread::yield_now();
            }
            7
        });
        assert_eq!((result, told.load(Ordering::SeqCst)), (7, 1));
        told_to(teller, Duration::from_secs(60), fetch, || ());
        assert_eq!(told.load(Ordering::SeqCst), 1, "it was quick");
    }
}
