//! Times of RFC 3339 in UTC, to the microsecond: `2026-01-31T23:59:59.123456Z`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const SECONDS_A_DAY: u64 = 86_400;
/// Days of 400 years, after which the calendar repeats itself.
const DAYS_OF_400_YEARS: u64 = 146_097;

/// A time from 1970 on; an earlier one reads as the first moment of 1970.
pub(super) fn format(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (
        since.as_secs() / SECONDS_A_DAY,
        since.as_secs() % SECONDS_A_DAY,
    );
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let micros = since.subsec_micros();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

/// The time that a text of this form is; `None` for any other.
pub(super) fn parse(text: &str) -> Option<SystemTime> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let [year, month, day] = numbers(date.split('-'))?;
    let [hour, minute, second] = numbers(time.split(':'))?;
    let in_range = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    if !in_range || fraction.len() > 9 {
        return None;
    }
    let nanos = format!("{fraction:0<9}").parse().ok()?;
    let seconds = days(year, month, day)? * SECONDS_A_DAY + hour * 3600 + minute * 60 + second;
    UNIX_EPOCH.checked_add(Duration::new(seconds, nanos))
}

fn numbers<'a>(parts: impl Iterator<Item = &'a str>) -> Option<[u64; 3]> {
    let numbers: Option<Vec<u64>> = parts.map(|part| part.parse().ok()).collect();
    numbers?.try_into().ok()
}

/// Days from 0000-03-01 to 1970-01-01: years here begin in March, so that a leap day ends one.
const DAYS_TO_1970: u64 = 719_468;

/// Year, month and day of so many days after 1970-01-01.
fn date(days: u64) -> (u64, u64, u64) {
    let days = days + DAYS_TO_1970;
    let (era, day) = (days / DAYS_OF_400_YEARS, days % DAYS_OF_400_YEARS);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    (era * 400 + year + next, month, day)
}

/// Days from 1970-01-01 to a date not before it.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    days.checked_sub(DAYS_TO_1970)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_and_read() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (951_782_399, "2000-02-28T23:59:59.000000Z"),
            (951_782_400, "2000-02-29T00:00:00.000000Z"),
            (1_709_251_199, "2024-02-29T23:59:59.000000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000000Z"),
        ] {
            let time = UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!(format(time), text);
            assert_eq!(parse(text), Some(time));
        }
        let time = UNIX_EPOCH + Duration::from_micros(1_500_000);
        assert_eq!(format(time), "1970-01-01T00:00:01.500000Z");
        assert_eq!(parse("1970-01-01T00:00:01.5Z"), Some(time));
        for wrong in [
            "",
            "1970-01-01",
            "1970-13-01T00:00:00Z",
            "0000-01-01T00:00:00Z",
            "1970-01-01T00:00:00+01:00",
            "1970-01-01T00:00:00.1234567890Z",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
