//! What requests cost in money: the prices of CPU and memory, and how many servers a rate needs.

use std::str::FromStr;

use super::model::{CaseSummary, LoadModel};

/// What a machine costs, and which rate it is to serve.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prices {
    /// Of a CPU for an hour.
    pub cpu_hour: f64,
    /// Of a GiB of memory for an hour.
    pub gib_hour: f64,
    /// The rate to be served, per second. `None`: none is asked for.
    pub rate_per_second: Option<f64>,
    /// The currency's name. Empty: it has none.
    pub currency: String,
}

/// A part of the text that is not understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PriceError {
    /// The value of a name is no number from 0 on.
    #[error("`{value}` is no price: `{name}` takes a number from 0 on")]
    NoNumber {
        /// `cpu`, `memory` or `rate`.
        name: String,
        /// The value as written.
        value: String,
    },
    /// A name is not known.
    #[error("a price has no `{name}`")]
    Unknown {
        /// The name.
        name: String,
    },
    /// A name, or a currency, is there twice.
    #[error("`{name}` is there twice")]
    Twice {
        /// The name or the currency.
        name: String,
    },
    /// Nothing has a price.
    #[error("nothing has a price")]
    Nothing,
}

impl FromStr for Prices {
    type Err = PriceError;

    /// Parses `cpu=0.03,memory=0.004,rate=2000,EUR`: each part once, in any order.
    fn from_str(text: &str) -> Result<Prices, PriceError> {
        let (mut cpu, mut memory, mut rate, mut currency) = (None, None, None, None);
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let Some((name, value)) = part.split_once('=') else {
                once(&mut currency, part, part.to_owned())?;
                continue;
            };
            let of = match name.trim() {
                "cpu" => &mut cpu,
                "memory" => &mut memory,
                "rate" => &mut rate,
                other => return Err(PriceError::Unknown { name: other.to_owned() }),
            };
            once(of, name, number(name, value.trim())?)?;
        }
        if cpu.is_none() && memory.is_none() {
            return Err(PriceError::Nothing);
        }
        Ok(Prices {
            cpu_hour: cpu.unwrap_or(0.0),
            gib_hour: memory.unwrap_or(0.0),
            rate_per_second: rate,
            currency: currency.unwrap_or_default(),
        })
    }
}

fn number(name: &str, value: &str) -> Result<f64, PriceError> {
    let number = value.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    let (name, value) = (name.to_owned(), value.to_owned());
    number.ok_or(PriceError::NoNumber { name, value })
}

fn once<T>(of: &mut Option<T>, name: &str, value: T) -> Result<(), PriceError> {
    match of.replace(value) {
        None => Ok(()),
        Some(_) => Err(PriceError::Twice { name: name.to_owned() }),
    }
}

/// What a row costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Correct answers per second of one server at [`LOAD`].
    pub rate_per_server: f64,
    /// Price of a million correct answers.
    pub million: f64,
    /// Servers that the wished rate needs.
    pub servers: Option<f64>,
}

/// The share of its CPU, or of its peak, that a server is planned for. The rest is for hours with
/// more visitors, for deployments, and for a server that fails.
pub const LOAD: f64 = 0.6;

/// The cost of a row. A server has the budget's CPUs and the memory that the row used at most; both
/// are paid for whether they are used or not. What it serves follows from CPU per correct answer, and
/// under a closed load also from the throughput, which waiting may limit before CPU does. `None`:
/// CPU or memory is not known.
pub fn cost(case: &CaseSummary, prices: &Prices) -> Option<Cost> {
    let figures = &case.figures;
    let cpus = case.budget_cpus.as_f64();
    let cpu_seconds = figures.cpu_cost_us.known().filter(|us| *us > 0.0)? / 1e6;
    let gib = figures.memory_bytes_max.known()? / f64::from(1 << 30);
    let by_cpu = cpus / cpu_seconds;
    let peak = match case.model {
        LoadModel::Closed => figures.throughput_per_second.known().unwrap_or(by_cpu).min(by_cpu),
        LoadModel::Open => by_cpu,
    };
    let rate_per_server = LOAD * peak;
    if !(rate_per_server.is_finite() && rate_per_server > 0.0) {
        return None;
    }
    let hour = cpus * prices.cpu_hour + gib * prices.gib_hour;
    let hours = 1e6 / rate_per_server / 3_600.0;
    // A rate that fits exactly must not need one more because of a last digit.
    let servers =
        prices.rate_per_second.map(|rate| (rate / rate_per_server - 1e-9).ceil().max(1.0));
    Some(Cost { rate_per_server, million: hour * hours, servers })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Prices, PriceError> {
        text.parse()
    }

    #[test]
    fn prices_are_read_in_any_order() {
        let all = Prices {
            cpu_hour: 0.03,
            gib_hour: 0.004,
            rate_per_second: Some(2_000.0),
            currency: "EUR".to_owned(),
        };
        assert_eq!(read("cpu=0.03,memory=0.004,rate=2000,EUR"), Ok(all.clone()));
        assert_eq!(read("EUR, rate=2000, memory=0.004, cpu=0.03"), Ok(all));
        let free = Prices { gib_hour: 1.0, ..Prices::default() };
        assert_eq!(read("memory=1"), Ok(free));
    }

    #[test]
    fn what_is_no_price_is_refused() {
        let name = |name: &str| name.to_owned();
        for (text, error) in [
            ("", PriceError::Nothing),
            ("EUR,rate=5", PriceError::Nothing),
            ("cpu=1,cpu=2", PriceError::Twice { name: name("cpu") }),
            ("cpu=1,EUR,USD", PriceError::Twice { name: name("USD") }),
            ("cpus=1", PriceError::Unknown { name: name("cpus") }),
            ("cpu=-1", PriceError::NoNumber { name: name("cpu"), value: name("-1") }),
            ("cpu=inf", PriceError::NoNumber { name: name("cpu"), value: name("inf") }),
            ("memory=", PriceError::NoNumber { name: name("memory"), value: name("") }),
        ] {
            assert_eq!(read(text), Err(error), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "[a-z=,. 0-9-]{0,24}") {
            if let Ok(prices) = read(&text) {
                prop_assert!(prices.cpu_hour >= 0.0 && prices.gib_hour >= 0.0);
            }
        }
    }
}
