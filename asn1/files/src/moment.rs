//! Moments in Coordinated Universal Time, as a date and a time of day, and as the text of an ASN.1 GeneralizedTime.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A moment as a date in the Gregorian calendar and a time of day. The earliest is the beginning of 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// The year, 1970 or later.
    pub year: u64,
    /// The month, 1 to 12.
    pub month: u64,
    /// The day of the month, 1 to 31.
    pub day: u64,
    /// The hour, 0 to 23.
    pub hour: u64,
    /// The minute, 0 to 59.
    pub minute: u64,
    /// The second, 0 to 59, or 60 for a leap second.
    pub second: u64,
    /// The nanoseconds since the start of the second.
    pub nanosecond: u32,
}

const SECONDS_A_DAY: u64 = 86_400;
/// The number of days in 400 years, after which the calendar repeats.
const DAYS_AN_ERA: u64 = 146_097;
/// The number of days from 0000-03-01 to 1970-01-01. Years start in March here, so that a leap day is the last day of
/// its year.
const DAYS_TO_1970: u64 = 719_468;

impl From<SystemTime> for Moment {
    /// Converts a system time to a moment; times before 1970 become the beginning of that year.
    fn from(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let days = (since.as_secs() / SECONDS_A_DAY).saturating_add(DAYS_TO_1970);
        let of_day = since.as_secs() % SECONDS_A_DAY;
        let (era, day) = (days / DAYS_AN_ERA, days % DAYS_AN_ERA);
        let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let day = day - (153 * month + 2) / 5 + 1;
        let (month, next) = match month {
            0..10 => (month + 3, 0),
            _ => (month - 9, 1),
        };
        Self {
            year: era * 400 + year + next,
            month,
            day,
            hour: of_day / 3600,
            minute: of_day / 60 % 60,
            second: of_day % 60,
            nanosecond: since.subsec_nanos(),
        }
    }
}

impl Moment {
    /// Converts the moment to a system time. Returns `None` if a value is out of range, if the month does not have this
    /// day, or if the year is after 9999.
    pub fn time(self) -> Option<SystemTime> {
        let is_one = (1970..=9999).contains(&self.year)
            && (1..=12).contains(&self.month)
            && (1..=self.days_of_month()).contains(&self.day)
            && self.hour < 24
            && self.minute < 60
            && self.second <= 60;
        if !is_one {
            return None;
        }
        let (year, month) = match self.month {
            3.. => (self.year, self.month - 3),
            _ => (self.year - 1, self.month + 9),
        };
        let days = 365 * year + year / 4 - year / 100 + year / 400;
        let days = days + (153 * month + 2) / 5 + self.day - 1;
        let seconds = days.checked_sub(DAYS_TO_1970)? * SECONDS_A_DAY;
        let seconds = seconds + self.hour * 3600 + self.minute * 60 + self.second;
        UNIX_EPOCH.checked_add(Duration::new(seconds, self.nanosecond))
    }

    /// Returns the number of days of the month.
    fn days_of_month(self) -> u64 {
        let is_leap = self.year.is_multiple_of(4)
            && (!self.year.is_multiple_of(100) || self.year.is_multiple_of(400));
        match self.month {
            2 if is_leap => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        }
    }

    /// Returns the date as `YYYYMMDD`.
    pub fn date_digits(self) -> String {
        format!("{:04}{:02}{:02}", self.year, self.month, self.day)
    }

    /// Returns the time as `HHMMSS`.
    pub fn time_digits(self) -> String {
        format!("{:02}{:02}{:02}", self.hour, self.minute, self.second)
    }

    /// Returns the text of a GeneralizedTime without fractions of a second (X.680 §46): `20260101120000Z`.
    pub fn generalized(self) -> String {
        format!("{}{}Z", self.date_digits(), self.time_digits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_days_of_the_calendar() {
        for (seconds, text) in [
            (0, "19700101000000Z"),
            (951_782_399, "20000228235959Z"),
            (951_782_400, "20000229000000Z"),
            (951_868_800, "20000301000000Z"),
            (1_709_251_199, "20240229235959Z"),
            (1_767_225_599, "20251231235959Z"),
            (4_107_542_400, "21000301000000Z"),
        ] {
            let time = UNIX_EPOCH + Duration::new(seconds, 7);
            let moment = Moment::from(time);
            assert_eq!(moment.generalized(), text);
            assert_eq!(moment.time(), Some(time), "{text}");
        }
        let before = UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!(Moment::from(before), Moment::from(UNIX_EPOCH));
    }

    #[test]
    fn days_past_the_end_of_a_month_have_no_time() {
        for (year, month, days) in [
            (2025, 1, 31),
            (2025, 2, 28),
            (2024, 2, 29),
            (2000, 2, 29),
            (2100, 2, 28),
            (2025, 4, 30),
            (2025, 12, 31),
        ] {
            let moment = Moment {
                year,
                month,
                day: days,
                ..Moment::from(UNIX_EPOCH)
            };
            let time = moment.time().expect("the last day of the month");
            assert_eq!(Moment::from(time), moment);
            let after = Moment {
                day: days + 1,
                ..moment
            };
            assert_eq!(after.time(), None, "{after:?}");
        }
    }

    #[test]
    fn invalid_moments_have_no_time() {
        let moment = Moment::from(UNIX_EPOCH);
        for wrong in [
            Moment { year: 0, ..moment },
            Moment {
                year: 10_000,
                ..moment
            },
            Moment {
                month: 13,
                ..moment
            },
            Moment { day: 0, ..moment },
            Moment { hour: 24, ..moment },
            Moment {
                minute: 60,
                ..moment
            },
            Moment {
                second: 61,
                ..moment
            },
        ] {
            assert_eq!(wrong.time(), None, "{wrong:?}");
        }
    }
}
