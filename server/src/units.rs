//! Parses times and sizes (`500ms`, `1.5s`, `15m`; `4096`, `64KiB`, `1MiB`), and converts counts for APDUs.

use std::time::Duration;

/// Parses a time with its unit, `ms`, `s`, `m` or `h`; a number without a unit is in seconds. Returns `None` for any other text,
/// and on overflow.
pub fn duration(text: &str) -> Option<Duration> {
    let (number, seconds) = split(
        text,
        &[
            ("ms", 0.001),
            ("s", 1.0),
            ("m", 60.0),
            ("h", 3600.0),
            ("", 1.0),
        ],
    )?;
    let plain = number
        .bytes()
        .all(|octet| octet.is_ascii_digit() || octet == b'.');
    let number: f64 = number.parse().ok().filter(|_| plain)?;
    Duration::try_from_secs_f64(number * seconds).ok()
}

/// Parses a number of octets, with or without one of the units `KiB`, `MiB` and `GiB`. Returns `None` for any other text.
pub fn octets(text: &str) -> Option<usize> {
    let (number, unit) = split(
        text,
        &[
            ("KiB", 1 << 10),
            ("MiB", 1 << 20),
            ("GiB", 1 << 30),
            ("", 1),
        ],
    )?;
    number.parse::<usize>().ok()?.checked_mul(unit)
}

/// Converts a count to the integer type used in APDUs, saturating at its maximum.
pub(crate) fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Splits text into a number and the value of its unit; `None` for any other text.
fn split<'a, T: Copy>(text: &'a str, units: &[(&str, T)]) -> Option<(&'a str, T)> {
    let (unit, value) = units.iter().find(|(unit, _)| text.ends_with(unit))?;
    let number = text.strip_suffix(unit)?.trim_end();
    number
        .starts_with(|first: char| first.is_ascii_digit())
        .then_some((number, *value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_have_units() {
        for (text, milliseconds) in [
            ("500ms", Some(500)),
            ("2", Some(2_000)),
            ("1.5s", Some(1_500)),
            ("0", Some(0)),
            ("15m", Some(900_000)),
            ("1 h", Some(3_600_000)),
            ("", None),
            ("s", None),
            ("-1s", None),
            ("1e3", None),
            ("soon", None),
            ("99999999999999999999999h", None),
        ] {
            let expected = milliseconds.map(Duration::from_millis);
            assert_eq!(duration(text), expected, "{text}");
        }
        for (text, expected) in [
            ("4096", Some(4096)),
            ("64KiB", Some(65_536)),
            ("2 MiB", Some(2 << 20)),
            ("1GiB", Some(1 << 30)),
            ("1.5MiB", None),
            ("99999999999GiB", None),
            ("KiB", None),
            ("-1", None),
        ] {
            assert_eq!(octets(text), expected, "{text}");
        }
    }
}
