//! Times as task packages have them: GeneralizedTime in UTC, to the second (X.680 §46).

use std::time::{SystemTime, UNIX_EPOCH};

use z3950_asn1::types::GeneralizedTime;

const SECONDS_A_DAY: u64 = 86_400;

/// `20260101120000Z`. A time before 1970 shows as the beginning of that year.
pub(super) fn generalized(time: SystemTime) -> GeneralizedTime {
    let seconds = time
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let (year, month, day) = date(seconds / SECONDS_A_DAY);
    let of_day = seconds % SECONDS_A_DAY;
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}Z").into()
}

/// Year, month and day of a day counted from 1970-01-01, in the Gregorian calendar.
///
/// Years are counted from March, so that the day that some have more comes last, and in eras of 400 years, which are all of
/// the same length.
fn date(days: u64) -> (u64, u64, u64) {
    const DAYS_AN_ERA: u64 = 146_097;
    const FROM_MARCH_OF_YEAR_0: u64 = 719_468;
    let days = days.saturating_add(FROM_MARCH_OF_YEAR_0);
    let (era, day) = (days / DAYS_AN_ERA, days % DAYS_AN_ERA);
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn days_of_the_calendar() {
        for (seconds, expected) in [
            (0, "19700101000000Z"),
            (951_782_399, "20000228235959Z"),
            (951_782_400, "20000229000000Z"),
            (951_868_800, "20000301000000Z"),
            (1_767_225_599, "20251231235959Z"),
            (4_107_542_400, "21000301000000Z"),
        ] {
            let time = UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!(generalized(time), expected.into(), "{seconds}");
        }
        let before = UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!(generalized(before), "19700101000000Z".into());
    }
}
