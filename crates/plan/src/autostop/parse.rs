//! Parses criteria from text, with the position of every mistake.

use stampede_model::quantity::parse_length;
use stampede_model::time::Nanos;

use super::error::{AutostopError, Problem};
use super::mask::Mask;
use super::{Codes, Criterion, Level, Over, Percent};

/// Known criteria: name, form, and the fewest and most values (without a tag).
pub(super) const KNOWN: [(&str, &str, (usize, usize)); 13] = [
    ("time", "time(above,seconds)", (2, 2)),
    ("http", "http(mask,level,seconds)", (3, 3)),
    ("net", "net(mask,level,seconds)", (3, 3)),
    ("quantile", "quantile(percentile,above,seconds)", (3, 3)),
    ("instances", "instances(level,seconds)", (2, 2)),
    ("limit", "limit(length)", (1, 1)),
    ("steady_cumulative", "steady_cumulative(percentile,seconds)", (1, 2)),
    ("total_time", "total_time(above,share,seconds)", (3, 3)),
    ("total_http", "total_http(mask,level,seconds)", (3, 3)),
    ("total_net", "total_net(mask,level,seconds)", (3, 3)),
    ("negative_http", "negative_http(mask,level,seconds)", (3, 3)),
    ("negative_net", "negative_net(mask,level,seconds)", (3, 3)),
    ("http_trend", "http_trend(mask,seconds)", (2, 2)),
];

/// Tank's criteria on the data of its monitoring.
const MONITORING: [&str; 2] = ["metric_lower", "metric_higher"];

/// How similar two names must be to be suggested (Jaro-Winkler, 0 to 1).
const SIMILARITY_MIN: f64 = 0.7;

/// Most consecutive seconds; this bounds the memory of a judge.
const SECONDS_MAX: u64 = 86_400;

/// A part of the text: byte range.
#[derive(Clone, Copy)]
struct TextSpan {
    begin: usize,
    end: usize,
}

impl TextSpan {
    fn wrong(self, problem: Problem) -> AutostopError {
        AutostopError { offset: self.begin, length: self.end - self.begin, problem }
    }

    fn of(self, text: &str) -> &str {
        &text[self.begin..self.end]
    }
}

/// Parses all criteria.
pub(super) fn criteria(text: &str) -> Result<Vec<Criterion>, AutostopError> {
    let mut found = Vec::new();
    let mut at = skip(text, 0, is_between);
    while at < text.len() {
        let (criterion, end) = one(text, at)?;
        found.push(criterion);
        at = skip(text, end, is_between);
    }
    match found.is_empty() {
        true => Err(TextSpan { begin: 0, end: 0 }.wrong(Problem::Empty)),
        false => Ok(found),
    }
}

/// The criterion that begins at `at`, and where it ends.
fn one(text: &str, at: usize) -> Result<(Criterion, usize), AutostopError> {
    let name = TextSpan { begin: at, end: skip(text, at, |c| c.is_alphanumeric() || c == '_') };
    if name.begin == name.end {
        let found = text[at..].chars().next().unwrap_or(' ');
        let span = TextSpan { begin: at, end: at + found.len_utf8() };
        return Err(span.wrong(Problem::NoCriterion { found }));
    }
    let written = name.of(text).to_ascii_lowercase();
    let Some((kind, form, count)) = KNOWN.into_iter().find(|(known, ..)| *known == written) else {
        let found = name.of(text).to_owned();
        return Err(name.wrong(match MONITORING.contains(&written.as_str()) {
            true => Problem::Monitoring { found },
            false => Problem::Unknown { nearest: nearest(&written), found },
        }));
    };
    let open = skip(text, name.end, char::is_whitespace);
    if !text[open..].starts_with('(') {
        return Err(name.wrong(Problem::NotOpened { form }));
    }
    let Some(close) = text[open..].find(')').map(|i| open + i) else {
        let end = TextSpan { begin: text.trim_end().len(), end: text.trim_end().len() };
        return Err(end.wrong(Problem::NotClosed { form }));
    };
    let values = values(text, open + 1, close);
    let found = if text[open + 1..close].trim().is_empty() { 0 } else { values.len() };
    if !(count.0..=count.1).contains(&found) {
        let tagged = found == count.1 + 1 && kind != "limit" && kind != "instances";
        return Err(match tagged {
            true => values[found - 1].wrong(Problem::Tag),
            false => {
                TextSpan { begin: open + 1, end: close }.wrong(Problem::WrongCount { form, found })
            }
        });
    }
    Ok((Values { text, values }.build(kind)?, close + 1))
}

/// The values of one criterion, which are as many as its form has.
struct Values<'a> {
    text: &'a str,
    values: Vec<TextSpan>,
}

impl Values<'_> {
    fn build(&self, kind: &str) -> Result<Criterion, AutostopError> {
        let codes = |of, over| self.codes(of, over);
        Ok(match kind {
            "time" => Criterion::Time { above: self.time(0)?, seconds: self.seconds(1)? },
            "quantile" => Criterion::Quantile {
                percentile: self.percentile(0)?,
                above: self.time(1)?,
                seconds: self.seconds(2)?,
            },
            "http" => codes(Codes::Http, Over::Each)?,
            "net" => codes(Codes::Net, Over::Each)?,
            "total_http" => codes(Codes::Http, Over::Total)?,
            "total_net" => codes(Codes::Net, Over::Total)?,
            "negative_http" => codes(Codes::Http, Over::Negative)?,
            "negative_net" => codes(Codes::Net, Over::Negative)?,
            "instances" => {
                Criterion::Instances { level: self.level(0)?, seconds: self.seconds(1)? }
            }
            "limit" => Criterion::Limit { length: self.length(0, "s")? },
            "steady_cumulative" if self.values.len() == 2 => Criterion::SteadyCumulative {
                percentile: Some(self.percentile(0)?),
                seconds: self.seconds(1)?,
            },
            "steady_cumulative" => {
                Criterion::SteadyCumulative { percentile: None, seconds: self.seconds(0)? }
            }
            "total_time" => Criterion::TotalTime {
                above: self.time(0)?,
                share: self.share(1)?,
                seconds: self.seconds(2)?,
            },
            _ => Criterion::HttpTrend { mask: self.mask(0)?, seconds: self.seconds(1)? },
        })
    }

    fn codes(&self, of: Codes, over: Over) -> Result<Criterion, AutostopError> {
        let (mask, level) = (self.mask(0)?, self.level(1)?);
        Ok(Criterion::Codes { of, over, mask, level, seconds: self.seconds(2)? })
    }

    fn mask(&self, i: usize) -> Result<Mask, AutostopError> {
        let found = self.values[i].of(self.text);
        let problem = || Problem::NotAMask { found: found.to_owned() };
        Mask::parse(found).ok_or_else(|| self.values[i].wrong(problem()))
    }

    fn level(&self, i: usize) -> Result<Level, AutostopError> {
        let found = self.values[i].of(self.text);
        let level = match found.strip_suffix('%') {
            Some(share) => percent(share.trim_end()).map(Level::Share),
            None if found.bytes().all(|byte| byte.is_ascii_digit()) => {
                found.parse().ok().filter(|count| *count > 0).map(Level::Count)
            }
            None => None,
        };
        level.ok_or_else(|| self.values[i].wrong(Problem::NotALevel { found: found.to_owned() }))
    }

    fn share(&self, i: usize) -> Result<Percent, AutostopError> {
        let found = self.values[i].of(self.text);
        let share = found.strip_suffix('%').and_then(|share| percent(share.trim_end()));
        share.ok_or_else(|| self.values[i].wrong(Problem::NotAShare { found: found.to_owned() }))
    }

    fn percentile(&self, i: usize) -> Result<Percent, AutostopError> {
        let found = self.values[i].of(self.text);
        let problem = || Problem::NotAPercentile { found: found.to_owned() };
        percent(found).ok_or_else(|| self.values[i].wrong(problem()))
    }

    /// The time of an answer; a number alone means milliseconds, as in Tank.
    fn time(&self, i: usize) -> Result<Nanos, AutostopError> {
        self.length(i, "ms")
    }

    /// A length above 0; `unit` is the unit of a number alone.
    fn length(&self, i: usize, unit: &str) -> Result<Nanos, AutostopError> {
        let found = self.values[i].of(self.text);
        let bare = !found.is_empty() && found.bytes().all(|byte| byte.is_ascii_digit());
        let read = match bare {
            true => parse_length(&format!("{found}{unit}")),
            false => parse_length(found),
        };
        let length = read.ok().filter(|length| length.0 > 0);
        length.ok_or_else(|| self.values[i].wrong(Problem::NotALength { found: found.to_owned() }))
    }

    fn seconds(&self, i: usize) -> Result<u32, AutostopError> {
        let found = self.values[i].of(self.text);
        let whole = |length: &Nanos| length.0.is_multiple_of(Nanos::SECOND.0);
        let length =
            parse_length(found).ok().filter(whole).map(|length| length.0 / Nanos::SECOND.0);
        let seconds = length.filter(|seconds| (1..=SECONDS_MAX).contains(seconds));
        let problem = || Problem::NotSeconds { found: found.to_owned() };
        seconds.map(|seconds| seconds as u32).ok_or_else(|| self.values[i].wrong(problem()))
    }
}

/// Parses a percentage above 0 and at most 100, with at most four decimals.
fn percent(text: &str) -> Option<Percent> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || whole.len() > 3 || !digits(whole) || !digits(decimals) {
        return None;
    }
    if decimals.len() > 4 {
        return None;
    }
    let whole: u32 = whole.parse().ok()?;
    let decimals: u32 = format!("{decimals:0<4}").parse().ok()?;
    let percent = Percent(whole * 10_000 + decimals);
    (percent.0 > 0 && percent <= Percent::WHOLE).then_some(percent)
}

/// The values between `begin` and `end`, split at commas, without the blanks around them.
fn values(text: &str, begin: usize, end: usize) -> Vec<TextSpan> {
    let mut at = begin;
    let span = |value: &str| {
        let from = at + (value.len() - value.trim_start().len());
        at += value.len() + 1;
        TextSpan { begin: from, end: from + value.trim().len() }
    };
    text[begin..end].split(',').map(span).collect()
}

/// First byte at or after `at` whose character is not wanted.
fn skip(text: &str, at: usize, wanted: impl Fn(char) -> bool) -> usize {
    text[at..].find(|c| !wanted(c)).map_or(text.len(), |i| at + i)
}

/// Whether the character may stand between criteria.
fn is_between(c: char) -> bool {
    c.is_whitespace() || c == ','
}

/// The most similar known criterion, if one is similar enough.
fn nearest(found: &str) -> Option<&'static str> {
    KNOWN
        .iter()
        .map(|&(known, ..)| (strsim::jaro_winkler(found, known), known))
        .filter(|&(score, _)| score >= SIMILARITY_MIN)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}
