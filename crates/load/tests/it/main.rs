//! Tests of the generator with real sockets. Tests that change the whole process (its limits, its
//! allocator) are programs of their own beside this one.
#![allow(clippy::duplicate_mod, reason = "the same tests run with both engines")]

mod addresses;
mod answers;
mod bad_fastcgi;
mod bad_tls;
mod corpus;
mod data;
mod early_tls;
mod engine_appends;
mod engine_choice;
mod engine_ends;
mod engine_stamps;
mod http1_torn;
mod kept;
mod loopback;
mod no_ports;
mod parts;
mod refused;
mod time_namespace;
mod tls;
mod traffic;
mod uring;
