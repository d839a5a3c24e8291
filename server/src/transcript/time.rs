//! Times of RFC 3339 in UTC, to the microsecond: `2026-01-31T23:59:59.123456Z`.

use std::time::SystemTime;

use z3950_asn1::moment::Moment;

/// A time from 1970 on; an earlier one becomes the beginning of 1970.
pub(super) fn format(time: SystemTime) -> String {
    let Moment {
        year,
        month,
        day,
        hour,
        minute,
        second,
        nanosecond,
    } = time.into();
    let micros = nanosecond / 1000;
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

/// Parses a time of this form; `None` for any other text.
pub(super) fn parse(text: &str) -> Option<SystemTime> {
    let (date, time) = text.strip_suffix('Z')?.split_once('T')?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    if fraction.len() > 9 {
        return None;
    }
    let [year, month, day] = numbers(date.split('-'))?;
    let [hour, minute, second] = numbers(time.split(':'))?;
    let moment = Moment {
        year,
        month,
        day,
        hour,
        minute,
        second,
        nanosecond: format!("{fraction:0<9}").parse().ok()?,
    };
    moment.time()
}

fn numbers<'a>(parts: impl Iterator<Item = &'a str>) -> Option<[u64; 3]> {
    let numbers: Option<Vec<u64>> = parts.map(|part| part.parse().ok()).collect();
    numbers?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

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
