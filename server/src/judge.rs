//! Judges clients by Z39.50-2003: rules that each cite their section, for what they send.

mod limits;
mod rules;

pub use self::limits::JudgeLimits;
pub use self::rules::{ClientRule, Level, rules};
