//! Decides which errors of a runtime would occur again at another try.

use super::error::RuntimeError;

impl RuntimeError {
    /// Whether the error's hint is to start the runtime alone.
    pub fn suggests_starting_alone(&self) -> bool {
        use RuntimeError as E;
        matches!(
            self,
            E::Ended { .. } | E::NotReady { .. } | E::Unverified { .. } | E::WrongPage { .. }
        )
    }

    /// Whether the same error would occur again. It does if it is about the app, the plan, or this
    /// machine's programs and files, and not about what else was running.
    pub fn is_lasting(&self) -> bool {
        use RuntimeError as E;
        match self {
            E::NotReady { .. }
            | E::Ended { .. }
            | E::Unverified { .. }
            | E::NoDatabase { .. }
            | E::OutOfMemory { .. }
            | E::PortTaken { .. }
            | E::PortStolen { .. }
            | E::Interrupted { .. }
            | E::External { .. }
            | E::AlreadyRunning(_) => false,
            E::Io { .. } | E::Keeper { .. } | E::Lost { .. } => has_lasting_cause(self),
            _ => true,
        }
    }
}

/// Whether a cause of the error is an error of the system that does not go away by itself.
fn has_lasting_cause(error: &(dyn std::error::Error + 'static)) -> bool {
    use std::io::ErrorKind as K;
    let causes = std::iter::successors(Some(error), |error| error.source());
    let mut kinds = causes.filter_map(|cause| Some(cause.downcast_ref::<std::io::Error>()?.kind()));
    kinds.any(|kind| {
        matches!(
            kind,
            K::PermissionDenied
                | K::NotFound
                | K::StorageFull
                | K::QuotaExceeded
                | K::ReadOnlyFilesystem
                | K::NotADirectory
                | K::IsADirectory
        )
    })
}
