//! Runs the same tests with io_uring. `ways::engine` looks at the module path.

#[path = "answers.rs"]
mod answers;
#[path = "bad_fastcgi.rs"]
mod bad_fastcgi;
#[path = "bad_tls.rs"]
mod bad_tls;
#[path = "kept.rs"]
mod kept;
#[path = "loopback.rs"]
mod loopback;
