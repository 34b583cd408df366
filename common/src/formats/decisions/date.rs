//! Days, as `YYYY-MM-DD` and as a number of days since 1970-01-01.

use std::fmt;
use std::str::FromStr;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A day of the Gregorian calendar from the year 1 to 9999, counted from 1970-01-01.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(i32);

impl Date {
    /// Days since 1970-01-01, which is also the day's id.
    pub fn days(self) -> i32 {
        self.0
    }
}

/// Days from 1970-01-01 to a day of the calendar; years begin in March here, so that leap days come last.
fn days_of(year: i32, month: i32, day: i32) -> i32 {
    let year = if month > 2 { year } else { year - 1 };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

fn calendar(days: i32) -> (i32, i32, i32) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let march = (5 * of_year + 2) / 153;
    let (day, month) = (of_year - (153 * march + 2) / 5 + 1, (march + 2) % 12 + 1);
    (year + era * 400 + i32::from(month <= 2), month, day)
}

impl FromStr for Date {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?} is no date such as 2026-07-28");
        let number = |text: &str, len: usize| {
            let digits = text.len() == len && text.bytes().all(|digit| digit.is_ascii_digit());
            if digits { text.parse().ok() } else { None }
        };
        let mut parts = text.split('-');
        let mut next = |len| parts.next().and_then(|part| number(part, len));
        let (year, month, day) =
            next(4).zip(next(2)).zip(next(2)).map(|((y, m), d)| (y, m, d)).ok_or_else(wrong)?;
        let ordinary = (1..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
        let date = Self(if ordinary { days_of(year, month, day) } else { 0 });
        if !ordinary || parts.next().is_some() || calendar(date.0) != (year, month, day) {
            return Err(wrong());
        }
        Ok(date)
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = calendar(self.0);
        write!(f, "{year:04}-{month:02}-{day:02}")
    }
}

impl Serialize for Date {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Date {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        String::deserialize(from)?.parse().map_err(serde::de::Error::custom)
    }
}

/// The time now, as `2026-07-28T12:00:00Z`.
pub fn now() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (days, of_day) = ((seconds / 86_400) as i32, seconds % 86_400);
    format!("{}T{:02}:{:02}:{:02}Z", Date(days), of_day / 3600, of_day / 60 % 60, of_day % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_count_from_1970() {
        let known = [("1970-01-01", 0), ("1969-12-31", -1), ("2000-02-29", 11_016), ("2026-11-20", 20_777)];
        for (text, days) in known {
            let date: Date = text.parse().unwrap();
            assert_eq!((date.days(), date.to_string().as_str()), (days, text));
        }
        for days in -100_000..100_000 {
            assert_eq!(Date(days).to_string().parse(), Ok(Date(days)));
        }
    }

    #[test]
    fn no_other_text_is_a_date() {
        for text in [
            "",
            "2026-7-28",
            "2026-02-29",
            "2026-13-01",
            "2026-00-10",
            "2026-01-01-",
            "+026-01-01",
            "2026/01/01",
        ] {
            assert!(text.parse::<Date>().is_err(), "{text}");
        }
    }
}
