//! Formats numbers and times for messages.

use std::time::{Duration, SystemTime};

use z3950_server::transcript::format_time;

/// Formats a number with its noun, such as `1 record` or `2 records`.
pub(crate) fn counted(number: u64, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        _ => format!("{number} {thing}s"),
    }
}

/// Formats a date, such as `2026-01-31`.
pub(crate) fn date(time: SystemTime) -> String {
    let text = format_time(time);
    text.split('T').next().unwrap_or_default().to_owned()
}

/// Formats a duration in its two largest units, such as `59 s`, `2 h 5 min` or `3 d 0 h`.
pub(crate) fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, _, _) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

#[cfg(test)]
mod tests {
    use std::time::UNIX_EPOCH;

    use super::*;

    #[test]
    fn numbers_and_times_are_words() {
        assert_eq!(counted(0, "record"), "0 records");
        assert_eq!(counted(1, "record"), "1 record");
        assert_eq!(date(UNIX_EPOCH), "1970-01-01");
        for (seconds, words) in [
            (0, "0 s"),
            (59, "59 s"),
            (60, "1 min 0 s"),
            (3599, "59 min 59 s"),
            (7500, "2 h 5 min"),
            (3 * 86_400 + 3599, "3 d 0 h"),
        ] {
            assert_eq!(span(Duration::from_secs(seconds)), words);
        }
    }
}
