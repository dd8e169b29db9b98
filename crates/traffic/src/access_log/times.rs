//! The times of a log, in the forms that servers write: `10/Oct/2000:13:55:36 -0700`, ISO 8601 and
//! its relatives, `Oct 10 13:55:36 2000`, and seconds (or parts of them) since 1970. A time without
//! a zone is taken as UTC: only differences matter.

use stampede_model::time::Nanos;

/// The first time in a line, as nanoseconds since 1970.
pub(super) fn find(line: &[u8]) -> Option<u64> {
    let line = &line[..line.len().min(SEARCHED_BYTES)];
    (0..line.len()).find_map(|place| {
        let is_begin = place == 0 || !line[place - 1].is_ascii_alphanumeric();
        let may_begin = line[place].is_ascii_digit() || line[place].is_ascii_uppercase();
        (is_begin && may_begin).then(|| begin(&line[place..])).flatten()
    })
}

/// The time that a text begins with.
pub(super) fn begin(text: &[u8]) -> Option<u64> {
    common(text).or_else(|| iso(text)).or_else(|| of_c(text)).or_else(|| epoch(text))
}

/// Reads a text from its beginning.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn number(&mut self, digits: usize) -> Option<u64> {
        let head = self.0.get(..digits)?;
        let number = std::str::from_utf8(head).ok().filter(|_| head.iter().all(u8::is_ascii_digit));
        self.0 = &self.0[digits..];
        number?.parse().ok()
    }

    fn one_of(&mut self, bytes: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        let is_one = bytes.contains(first);
        self.0 = if is_one { rest } else { self.0 };
        is_one.then_some(*first)
    }

    fn month(&mut self) -> Option<u64> {
        let name = self.0.get(..3)?;
        self.0 = &self.0[3..];
        Some(MONTHS.iter().position(|month| *month == name)? as u64 + 1)
    }

    /// `13:55:36`, and a fraction where there is one. In nanoseconds.
    fn clock(&mut self) -> Option<u64> {
        let hours = self.number(2)?;
        self.one_of(b":")?;
        let minutes = self.number(2)?;
        self.one_of(b":")?;
        let seconds = self.number(2)?;
        let is_clock = hours < 24 && minutes < 60 && seconds <= 60;
        let whole = is_clock.then_some((hours * 60 + minutes) * 60 + seconds)?;
        Some(whole * NANOS_PER_SECOND + self.fraction())
    }

    /// `.123` in nanoseconds; 0 where there is none.
    fn fraction(&mut self) -> u64 {
        let [b'.' | b',', b'0'..=b'9', ..] = self.0 else { return 0 };
        let digits = self.0[1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let mut padded = [b'0'; 9];
        let kept = digits.min(9);
        padded[..kept].copy_from_slice(&self.0[1..=kept]);
        self.0 = &self.0[1 + digits..];
        padded.iter().fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'))
    }

    /// How far the local time is ahead of UTC, in seconds: `Z`, `-0700`, ` +02:00`; 0 without.
    fn zone(&mut self) -> i64 {
        let mut reader = Reader(self.0.strip_prefix(b" ").unwrap_or(self.0));
        let Some(sign) = reader.one_of(b"+-") else { return 0 };
        let Some(hours) = reader.number(2) else { return 0 };
        let _ = reader.one_of(b":");
        let Some(minutes) = reader.number(2) else { return 0 };
        let ahead = ((hours * 60 + minutes) * 60) as i64;
        if sign == b'+' { ahead } else { -ahead }
    }
}

/// `10/Oct/2000:13:55:36 -0700`; PHP-FPM and HAProxy leave out parts of it.
fn common(text: &[u8]) -> Option<u64> {
    let mut reader = Reader(text);
    let day = reader.number(2)?;
    let between = reader.one_of(b"/-")?;
    let month = reader.month()?;
    reader.one_of(&[between])?;
    let year = reader.number(4)?;
    reader.one_of(b": ")?;
    let clock = reader.clock()?;
    at(year, month, day, clock, reader.zone())
}

/// `2000-10-10T13:55:36.123Z`, also with a blank (or, in a list of files, slashes) in it.
fn iso(text: &[u8]) -> Option<u64> {
    let mut reader = Reader(text);
    let year = reader.number(4)?;
    let between = reader.one_of(b"-/")?;
    let month = reader.number(2)?;
    reader.one_of(&[between])?;
    let day = reader.number(2)?;
    reader.one_of(b"T \t")?;
    // gin writes `2000/10/10 - 13:55:36`.
    reader.0 = reader.0.strip_prefix(b"- ").unwrap_or(reader.0);
    let clock = reader.clock()?;
    at(year, month, day, clock, reader.zone())
}

/// `Oct 10 13:55:36 2000`, as `ctime` writes it; a fraction may follow the seconds.
fn of_c(text: &[u8]) -> Option<u64> {
    let mut reader = Reader(text);
    let month = reader.month()?;
    reader.one_of(b" ")?;
    let day = match reader.one_of(b" ") {
        Some(_) => reader.number(1)?,
        None => reader.number(2)?,
    };
    reader.one_of(b" ")?;
    let clock = reader.clock()?;
    reader.one_of(b" ")?;
    at(reader.number(4)?, month, day, clock, 0)
}

/// Seconds since 1970 with a fraction where there is one, or milli-, micro- or nanoseconds: what it
/// is shows in the number of digits, for all times from 2001 to 2286.
fn epoch(text: &[u8]) -> Option<u64> {
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut reader = Reader(text);
    let unit_ns = match digits {
        10 => NANOS_PER_SECOND,
        13 => 1_000_000,
        16 => 1_000,
        19 => 1,
        _ => return None,
    };
    let whole = reader.number(digits)?.checked_mul(unit_ns)?;
    let fraction = reader.fraction() / (NANOS_PER_SECOND / unit_ns);
    let ends = reader.0.first().is_none_or(|byte| !byte.is_ascii_alphanumeric() && *byte != b'-');
    ends.then_some(whole.saturating_add(fraction))
}

/// Nanoseconds since 1970 of a local time that is `ahead` seconds ahead of UTC.
fn at(year: u64, month: u64, day: u64, clock_ns: u64, ahead: i64) -> Option<u64> {
    if !(1970..2500).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // The years begin in March, so that the leap day is the last one of its year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1;
    let seconds = (days as i64 - DAYS_BEFORE_1970) * 86_400 - ahead;
    u64::try_from(seconds).ok()?.checked_mul(NANOS_PER_SECOND)?.checked_add(clock_ns)
}

const NANOS_PER_SECOND: u64 = Nanos::SECOND.0;
const MONTHS: [&[u8]; 12] = [
    b"Jan", b"Feb", b"Mar", b"Apr", b"May", b"Jun", b"Jul", b"Aug", b"Sep", b"Oct", b"Nov", b"Dec",
];
/// Days from 1 March of the year 0 to 1 January 1970 in the Gregorian calendar.
const DAYS_BEFORE_1970: i64 = 719_468;
/// Bytes of a line in which a time is searched for.
const SEARCHED_BYTES: usize = 1 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    /// The same moment in all forms: `date -u -d '2000-10-10 20:55:36' +%s` is 971211336.
    #[test]
    fn all_forms_of_one_time_are_equal() {
        const WHOLE: u64 = 971_211_336 * NANOS_PER_SECOND;
        let whole = [
            "10/Oct/2000:13:55:36 -0700",
            "10/Oct/2000:20:55:36",
            "10/Oct/2000 20:55:36",
            "2000-10-10T20:55:36Z",
            "2000-10-10T13:55:36-07:00",
            "2000-10-10T22:55:36+0200",
            "2000-10-10 20:55:36 +0000",
            "2000-10-10\t20:55:36",
            "2000/10/10 - 20:55:36",
            "Oct 10 20:55:36 2000",
            "0971211336",
            "0971211336.000",
            "0971211336000",
            "0971211336000000",
            "0971211336000000000",
        ];
        for text in whole {
            assert_eq!(begin(text.as_bytes()), Some(WHOLE), "{text}");
            let line = format!("<13>a 1.2.3.4 [{text}] \"GET /\" 2001-01-01T00:00:00Z");
            assert_eq!(find(line.as_bytes()), Some(WHOLE), "{line}");
        }
        for text in
            ["2000-10-10T20:55:36.1234567Z", "2000-10-10 20:55:36,1234567", "0971211336.1234567"]
        {
            assert_eq!(begin(text.as_bytes()), Some(WHOLE + 123_456_700), "{text}");
        }
        let leap = begin(b"29/Feb/2024:00:00:00 +0000").unwrap();
        assert_eq!(begin(b"01/Mar/2024:00:00:00 +0000").unwrap() - leap, 86_400 * NANOS_PER_SECOND);
        assert_eq!(begin(b"1970-01-01T00:00:00Z"), Some(0));
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "10.0.0.1",
            "2000",
            "12345",
            "10/Foo/2000:13:55:36",
            "2000-13-10T20:55:36Z",
            "2000-10-10",
            "99999999999",
            "1700000000a",
            "25:00:00",
            "Oct 10 20:55:36",
        ] {
            assert_eq!(begin(text.as_bytes()), None, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_input_panics(text in "[0-9A-Za-z/:.,+ -]{0,40}") {
            let _ = (begin(text.as_bytes()), find(text.as_bytes()));
        }
    }
}
