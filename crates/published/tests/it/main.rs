//! Tests of the committed tables, of errors and of what people read.

mod committed;
mod mistakes;
mod shown;
