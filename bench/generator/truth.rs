//! Checks that the generator prints what the server saw.
//!
//! The server stamps each answer before and after its send call, and each request on its arrival.
//! Each printed percentile must lie between the bounds that follow. In the open model the times
//! without schedule lag are compared too: the lag is the generator's, and is in both columns of
//! the response time.

use crate::bracket::{Bounds, Bracket, Place, SLACK_US, Span, micros};
use crate::cases::{CASES, Case, Sends};
use crate::error::BenchError;
use crate::joined::Joined;
use crate::loaded::NumberedRun;
use crate::peers::{ENGINES, Peer};
use crate::report::{Goal, Report};
use crate::table::{Table, at_share, median};
use crate::{PERCENTILES, Settings};

/// Which time of a request is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Time {
    /// Done − due.
    Response,
    /// Done − due − lag.
    ResponseWithoutLag,
    /// Done − started.
    Service,
}

impl Time {
    fn name(self) -> &'static str {
        match self {
            Time::Response => "response time",
            Time::ResponseWithoutLag => "without lag",
            Time::Service => "service time",
        }
    }

    /// The times of a load.
    fn of(sends: Sends) -> &'static [Time] {
        match sends {
            Sends::Users(_) => &[Time::Service],
            Sends::PerSecond(_) => &[Time::Response, Time::ResponseWithoutLag],
        }
    }

    fn span(self, request: &Joined) -> Span {
        match self {
            Time::Response => request.response_time(),
            Time::ResponseWithoutLag | Time::Service => request.service_time(),
        }
    }

    /// The printed percentiles in µs, in the order of [`PERCENTILES`].
    fn printed(self, run: &NumberedRun) -> Vec<f64> {
        let by_name = |time: &str| {
            let value = |name: &str| run.run.printed(&format!("{time}_{name}_ns")) / 1e3;
            PERCENTILES.iter().map(|(name, _)| value(name)).collect()
        };
        match self {
            Time::Response => by_name("response_time"),
            Time::Service => by_name("service_time"),
            Time::ResponseWithoutLag => {
                let sorted = micros(run.without_lag_ns.iter().copied());
                PERCENTILES.iter().map(|(_, share)| at_share(&sorted, *share)).collect()
            }
        }
    }
}

/// One percentile of one time of a load, in each round.
#[derive(Clone, Debug)]
struct Row {
    time: Time,
    percentile: &'static str,
    rounds: Vec<Round>,
}

/// A printed percentile and its bounds.
#[derive(Clone, Copy, Debug)]
struct Round {
    printed_us: f64,
    bracket: Bracket,
}

impl Round {
    fn is_inside(&self) -> bool {
        self.bracket.place(self.printed_us) == Place::Inside
    }
}

impl Row {
    /// In how many rounds the percentile lay inside.
    fn held(&self) -> usize {
        self.rounds.iter().filter(|round| round.is_inside()).count()
    }

    fn is_inside(&self) -> bool {
        self.held() == self.rounds.len()
    }

    fn median(&self, of: impl Fn(&Round) -> f64) -> f64 {
        median(self.rounds.iter().map(of))
    }

    fn printed_us(&self) -> f64 {
        self.median(|round| round.printed_us)
    }

    fn cells(&self, case: &Case, engine: Peer, lag: String) -> [String; 10] {
        let held = match self.is_inside() {
            true => "yes".to_owned(),
            false => format!("NO, {} of {}", self.held(), self.rounds.len()),
        };
        let micros = |of: fn(&Round) -> f64| format!("{:.1}", self.median(of));
        [
            case.name.to_owned(),
            engine.name().to_owned(),
            self.time.name().to_owned(),
            self.percentile.to_owned(),
            micros(|round| round.bracket.low_us),
            micros(|round| round.printed_us),
            micros(|round| round.bracket.high_us),
            micros(|round| round.bracket.width_us()),
            lag,
            held,
        ]
    }
}

/// Compares all loads with the stamps. `falsify` percent are added to each printed time, to show
/// that the check can fail.
pub fn truth(settings: Settings) -> Result<Report, BenchError> {
    let (rounds, seconds) = (settings.rounds.unwrap_or(5), settings.seconds.unwrap_or(5));
    let factor = 1.0 + f64::from(settings.falsify) / 100.0;
    let mut table = Table::new(&[
        "load",
        "",
        "time",
        "percentile",
        "from µs",
        "printed µs",
        "to µs",
        "width µs",
        "lag µs",
        "inside",
    ]);
    let mut ways = Table::new(&["load", "", "p50 µs", "p99 µs", "shortest µs", "after the start"]);
    let mut goals = Vec::new();
    for engine in ENGINES {
        let (mut inside, mut all, mut in_time) = (0, 0, 0);
        for case in &CASES {
            let runs: Result<Vec<NumberedRun>, BenchError> =
                (0..rounds).map(|_| NumberedRun::measure(case, engine, seconds)).collect();
            let runs = runs?;
            let rows = rows(case, &runs, factor);
            for row in &rows {
                table.row(row.cells(case, engine, lag(row, &rows)));
            }
            all += rows.len();
            inside += rows.iter().filter(|row| row.is_inside()).count();
            let way = Way::of(&runs);
            in_time += usize::from(way.is_possible());
            ways.row(way.cells(case, engine));
        }
        let name = engine.name();
        goals.push(Goal::all(format!("{name}: percentiles between the stamps"), inside, all));
        let what = format!("{name}: loads in which no request arrives before its start");
        goals.push(Goal::all(what, in_time, CASES.len()));
    }
    let (table, ways) = (table.markdown(), ways.markdown());
    let falsified = match settings.falsify {
        0 => String::new(),
        percent => format!("\n**Falsified: {percent} % are added to each printed time.**\n"),
    };
    let text = format!(
        "{falsified}\nMedians of {rounds} rounds of {seconds} s, or of the requests of a closed \
         load\n\n{table}\nFrom the start, as the client says, to the arrival at the \
         server\n\n{ways}"
    );
    Ok(Report { text, goals })
}

/// All percentiles of a load.
fn rows(case: &Case, runs: &[NumberedRun], factor: f64) -> Vec<Row> {
    let of_time = |time: &Time| {
        let rounds = runs.iter().map(|run| {
            let spans: Vec<Span> = run.requests.iter().map(|one| time.span(one)).collect();
            (Bounds::new(&spans), time.printed(run))
        });
        let rounds: Vec<(Bounds, Vec<f64>)> = rounds.collect();
        let rows = PERCENTILES.iter().enumerate().map(|(at, (percentile, share))| {
            let round = |(bounds, printed): &(Bounds, Vec<f64>)| Round {
                printed_us: printed[at] * factor,
                bracket: bounds.at(*share),
            };
            Row { time: *time, percentile, rounds: rounds.iter().map(round).collect() }
        });
        rows.collect::<Vec<Row>>()
    };
    Time::of(case.sends).iter().flat_map(of_time).collect()
}

/// How much of a response time is the generator's lag; empty for other times. A star marks a
/// percentile that is not the server's: see [`is_marked`].
fn lag(row: &Row, rows: &[Row]) -> String {
    let without = rows
        .iter()
        .find(|other| other.time == Time::ResponseWithoutLag && other.percentile == row.percentile);
    match without.filter(|_| row.time == Time::Response) {
        None => String::new(),
        Some(without) => {
            let (with_us, without_us) = (row.printed_us(), without.printed_us());
            let mark = if is_marked(with_us, without_us) { "*" } else { "" };
            format!("{:.1}{mark}", with_us - without_us)
        }
    }
}

/// Whether `stampede` must mark a percentile: without lag it is more than 5 % and 20 µs shorter.
fn is_marked(with_us: f64, without_us: f64) -> bool {
    let lag_us = with_us - without_us;
    lag_us > 20.0 && lag_us > 0.05 * with_us
}

/// The time from the start of a request to its arrival, in µs.
#[derive(Clone, Copy, Debug)]
struct Way {
    p50_us: f64,
    p99_us: f64,
    shortest_us: f64,
}

impl Way {
    fn of(runs: &[NumberedRun]) -> Way {
        let requests = runs.iter().flat_map(|run| &run.requests);
        let mut ways: Vec<f64> = requests.map(Joined::way_us).collect();
        ways.sort_by(f64::total_cmp);
        let at = |share| at_share(&ways, share);
        Way { p50_us: at(0.5), p99_us: at(0.99), shortest_us: at(0.0) }
    }

    /// Whether no request arrived before the client says that it started, as exactly as the clocks
    /// are known.
    fn is_possible(self) -> bool {
        self.shortest_us >= -SLACK_US
    }

    fn cells(self, case: &Case, engine: Peer) -> [String; 6] {
        [
            case.name.to_owned(),
            engine.name().to_owned(),
            format!("{:.1}", self.p50_us),
            format!("{:.1}", self.p99_us),
            format!("{:.1}", self.shortest_us),
            if self.is_possible() { "yes" } else { "NO" }.to_owned(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(printed: &[f64]) -> Row {
        let bracket = Bracket { low_us: 1_000.0, high_us: 1_004.0 };
        let rounds = printed.iter().map(|us| Round { printed_us: *us, bracket });
        Row { time: Time::Service, percentile: "p50", rounds: rounds.collect() }
    }

    #[test]
    fn one_round_outside_makes_the_row_fail() {
        assert!(row(&[1_001.0, 1_002.0, 1_003.0]).is_inside());
        let row = row(&[1_001.0, 1_002.0, 1_003.0 * 1.02]);
        assert!(!row.is_inside());
        let cells = row.cells(&CASES[0], Peer::Epoll, String::new());
        assert_eq!(cells[4..], ["1000.0", "1002.0", "1004.0", "4.0", "", "NO, 2 of 3"]);
    }

    #[test]
    fn a_percentile_is_marked_where_lag_is_more_than_five_percent_and_twenty_micros() {
        assert!(!is_marked(49.0, 30.0), "19 µs");
        assert!(is_marked(51.0, 30.0), "21 µs");
        assert!(!is_marked(1_000.0, 951.0), "4.9 %");
        assert!(is_marked(1_000.0, 949.0), "5.1 %");
    }

    #[test]
    fn lag_is_shown_beside_the_response_time_only() {
        let row = |time, us| Row { time, ..row(&[us]) };
        let rows = [row(Time::Response, 80.0), row(Time::ResponseWithoutLag, 30.0)];
        assert_eq!(lag(&rows[0], &rows), "50.0*");
        assert_eq!(lag(&rows[1], &rows), "");
    }

    #[test]
    fn a_request_cannot_arrive_before_its_start() {
        let way = |shortest_us| Way { p50_us: 5.0, p99_us: 9.0, shortest_us };
        assert!(way(-4.9).is_possible());
        assert!(!way(-5.1).is_possible());
    }
}
