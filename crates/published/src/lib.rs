//! Published tables beside what stampede measured, and how well their orders agree.
//!
//! ```text
//! file ─▶ Tables ─┐
//!                 ├─ compare ─▶ PublishedComparison ─▶ JSON, text, Markdown
//! run ─▶ Measured ┘
//! ```
//!
//! Times of two machines cannot be compared, but the order of runtimes can. A pair counts only
//! where both sides say something: a publication that prints two values within 1 % makes no claim,
//! and a pair whose difference is not significant here shows nothing. This crate reads one file,
//! and knows nothing about plans and results.

mod claims;
mod compare;
mod comparison;
mod error;
mod figure;
mod markdown;
mod measured;
mod order;
mod pairs;
mod sentence;
mod shown;
mod tables;
mod text;
mod times;

pub use compare::compare;
pub use comparison::{
    BreakingPoints, Cell, CellValue, ClaimCheck, ClaimComparison, ClaimOutcome, ColumnComparison,
    ComparedRow, MissingRow, Order, OrderVerdict, Pair, PairCounts, PairOutcome,
    PublishedComparison, TableComparison,
};
pub use error::{Mistake, TablesError};
pub use figure::{Better, Figure};
pub use markdown::markdown;
pub use measured::{BeforeBreaking, Budget, Measured, MeasuredCase, MeasuredFigure, RoundValue};
pub use tables::{CaseName, Claim, Column, Row, Table, Tables, parse, read, text_of};
pub use text::text;
pub use times::Times;
