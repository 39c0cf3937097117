//! Points in time as documents write them: UTC with exactly three decimals and a final `Z`. Never reads a clock.

use std::fmt;

/// Milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(i64);

impl Timestamp {
    /// From milliseconds since the epoch.
    pub const fn from_milliseconds(milliseconds: i64) -> Self {
        Self(milliseconds)
    }

    /// Milliseconds since the epoch.
    pub const fn milliseconds(self) -> i64 {
        self.0
    }

    /// Reads `YYYY-MM-DDTHH:MM:SS.mmmZ` with a real calendar date, hour at most 23 and second at most 59.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let shape = b"0000-00-00T00:00:00.000Z";
        let fits = |(byte, model): (&u8, &u8)| if *model == b'0' { byte.is_ascii_digit() } else { byte == model };
        if bytes.len() != shape.len() || !bytes.iter().zip(shape).all(fits) {
            return None;
        }
        let number = |from: usize, to: usize| text.get(from..to).and_then(|digits| digits.parse::<i64>().ok());
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        let (hour, minute, second, fraction) = (number(11, 13)?, number(14, 16)?, number(17, 19)?, number(20, 23)?);
        if !(1..=12).contains(&month)
            || day < 1
            || day > days_in_month(year, month)
            || hour > 23
            || minute > 59
            || second > 59
        {
            return None;
        }
        Some(Self(((days_from_civil(year, month, day) * 24 + hour) * 60 + minute) * 60_000 + second * 1000 + fraction))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, rest) = (self.0.div_euclid(86_400_000), self.0.rem_euclid(86_400_000));
        let (year, month, day) = civil_from_days(days);
        let (hour, minute, second) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60);
        let mut text = *b"0000-00-00T00:00:00.000Z";
        let places = [(0, 4, year), (5, 2, month), (8, 2, day), (11, 2, hour), (14, 2, minute), (17, 2, second)];
        for (at, width, number) in places.into_iter().chain([(20, 3, rest % 1000)]) {
            digits(&mut text, at, width, number);
        }
        match std::str::from_utf8(&text) {
            Ok(text) if (0..=9999).contains(&year) => f.write_str(text),
            _ => write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", rest % 1000),
        }
    }
}

/// Writes the last digits of a number at a place: a time is written often, and the general way is slow.
fn digits(text: &mut [u8], at: usize, width: usize, mut number: i64) {
    for place in text.iter_mut().skip(at).take(width).rev() {
        *place = b'0' + u8::try_from(number % 10).unwrap_or(0);
        number /= 10;
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Days of a month of the Gregorian calendar (month 1 to 12).
pub fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    // Years counted from March put the leap day last; 400 years are a whole cycle.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day_of_year - (153 * month_from_march + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for milliseconds in [0, 951_782_400_000, 1_709_164_799_999, 1_796_000_000_123, 4_107_542_399_999] {
            let text = Timestamp(milliseconds).to_string();
            assert_eq!(Timestamp::parse(&text), Some(Timestamp(milliseconds)), "{text}");
        }
        assert_eq!(Timestamp(1_780_304_400_000).to_string(), "2026-06-01T09:00:00.000Z");
    }

    #[test]
    fn impossible_dates_are_refused() {
        for text in [
            "2026-02-30T00:00:00.000Z",
            "2026-13-01T00:00:00.000Z",
            "2026-01-01T24:00:00.000Z",
            "2026-01-01T00:00:60.000Z",
            "2026-01-01T00:00:00Z",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }
}
