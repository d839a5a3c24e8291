//! The units of numbers in settings (counts, octets and times), and the notation of numbers in the file and on the command line.

use std::time::Duration;

use toml::de::DeValue;
use z3950_server::units;

use super::section::{number, string};

/// The unit of a number.
#[derive(Clone, Copy)]
pub(super) enum Unit {
    /// A count without a unit.
    Count,
    /// Octets, written as a number or as a string such as "64KiB".
    Octets,
    /// Nanoseconds, written as a string such as "250ms" or as a number of seconds.
    Time,
    /// Nanoseconds like [`Self::Time`], or [`NEVER`], written as "never", or as 0 on the command line.
    TimeOrNever,
}

/// The value that means there is no time limit.
const NEVER: u64 = u64::MAX;

/// The minimum value of most settings for times, in nanoseconds.
pub(super) const MILLISECOND: u64 = 1_000_000;

impl Unit {
    /// Returns the number for a value in the settings file; `None` if the value is not a number of this unit.
    pub(super) fn read(self, value: &DeValue<'_>) -> Option<u64> {
        match (self, string(value)) {
            (Self::TimeOrNever, Some("never")) => Some(NEVER),
            (Self::Time | Self::TimeOrNever, text) => {
                let seconds = || number(value).map(Duration::from_secs);
                Some(nanoseconds(text.map_or_else(seconds, units::duration)?))
            }
            (Self::Octets, Some(text)) => units::octets(text)?.try_into().ok(),
            (Self::Count | Self::Octets, _) => number(value),
        }
    }

    /// Parses the value of an option. A time is in seconds, and may have decimals.
    ///
    /// # Errors
    /// The value is not a number of this unit.
    pub(super) fn parse(self, text: &str, least: u64) -> Result<u64, String> {
        if let Self::Count | Self::Octets = self {
            let number = text.parse().map_err(|_| "expected a number")?;
            let is_enough = number >= least;
            return is_enough
                .then_some(number)
                .ok_or(format!("must be at least {least}"));
        }
        let time = text
            .parse()
            .ok()
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        match (self, time.map(nanoseconds)) {
            (Self::TimeOrNever, Some(0)) => Ok(NEVER),
            (_, time) => Ok(time.ok_or("expected a number of seconds, such as 0.5")?),
        }
    }

    /// Formats a number in the notation of the settings file, in the largest unit that divides it.
    pub(super) fn shown(self, number: u64) -> String {
        let units: &[(u64, &str)] = match self {
            Self::Count => &[],
            Self::Octets => &[(1 << 20, "MiB"), (1 << 10, "KiB")],
            Self::TimeOrNever if number == NEVER => return "\"never\"".to_owned(),
            Self::Time | Self::TimeOrNever => &[
                (60_000 * MILLISECOND, "m"),
                (1000 * MILLISECOND, "s"),
                (MILLISECOND, "ms"),
            ],
        };
        let mut units = units.iter();
        match units.find(|(size, _)| number >= *size && number.is_multiple_of(*size)) {
            Some((size, unit)) => format!("\"{}{unit}\"", number / size),
            None => number.to_string(),
        }
    }

    /// Returns the kind of value that the settings file must contain, such as "a number", for an error message.
    pub(super) fn expected(self) -> &'static str {
        match self {
            Self::Count => "a number",
            Self::Octets => "a number of octets such as \"64KiB\"",
            Self::Time => "a time such as \"30s\"",
            Self::TimeOrNever => "a time such as \"15m\", or never",
        }
    }

    /// Returns a description of the minimum, for an error message.
    pub(super) fn least(self, least: u64) -> String {
        match self {
            Self::Count | Self::Octets => least.to_string(),
            Self::Time | Self::TimeOrNever => self.shown(least).replace('"', ""),
        }
    }

    /// Returns the sentence about the default value for the help of an option.
    pub(super) fn help(self, default: Option<u64>) -> String {
        let seconds = Duration::from_nanos(default.unwrap_or_default()).as_secs_f64();
        match (self, default) {
            (_, None) => String::new(),
            (Self::Count | Self::Octets, Some(number)) => format!(" [default: {number}]"),
            (Self::Time, _) => format!(" [default: {seconds}]"),
            (Self::TimeOrNever, _) => format!("; 0 for never [default: {seconds}]"),
        }
    }
}

/// Returns a time in nanoseconds, saturating at the maximum.
fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).map_or(NEVER - 1, |time| time.min(NEVER - 1))
}

/// A field type that can hold a number of any unit.
pub(super) trait Number {
    fn put(&mut self, number: u64);
    fn shown(&self) -> Option<u64>;
}

impl Number for u64 {
    fn put(&mut self, number: u64) {
        *self = number;
    }

    fn shown(&self) -> Option<u64> {
        Some(*self)
    }
}

impl Number for usize {
    fn put(&mut self, number: u64) {
        *self = Self::try_from(number).unwrap_or(Self::MAX);
    }

    fn shown(&self) -> Option<u64> {
        u64::try_from(*self).ok()
    }
}

impl Number for u32 {
    fn put(&mut self, number: u64) {
        *self = Self::try_from(number).unwrap_or(Self::MAX);
    }

    fn shown(&self) -> Option<u64> {
        Some(u64::from(*self))
    }
}

impl Number for Duration {
    fn put(&mut self, number: u64) {
        *self = Self::from_nanos(number);
    }

    fn shown(&self) -> Option<u64> {
        Some(nanoseconds(*self))
    }
}

impl<N: Number + Default> Number for Option<N> {
    fn put(&mut self, number: u64) {
        *self = None;
        if number != NEVER {
            self.insert(N::default()).put(number);
        }
    }

    fn shown(&self) -> Option<u64> {
        self.as_ref()?.shown()
    }
}
