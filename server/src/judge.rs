//! Judges clients by Z39.50-2003: rules that each cite their section, for what they send.

mod junit;
mod limits;
mod reactions;
mod report;
mod rules;
mod sheet;
mod text;

pub use self::limits::JudgeLimits;
pub use self::reactions::Reaction;
pub use self::report::{ClientFinding, ClientReport, JudgedSession, RuleCount};
pub use self::rules::{ClientRule, Level, rules};
