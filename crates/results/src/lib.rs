//! Results on disk, and what follows from them: summaries, reports, histories. Nothing here starts a
//! process or opens a socket.
//!
//! ```text
//! store → summary → report
//! ```

pub mod capacity;
pub mod history;
pub mod report;
pub mod store;
pub mod summary;
pub mod tune;
