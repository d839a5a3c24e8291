//! Judges a server by Z39.50-2003: each check has a session of its own, sends what a client may send, also odd values,
//! and compares the answers with the standard, its clarifications, RFC 2056 and what clients depend on.
//!
//! ```no_run
//! use z3950::Client;
//! use z3950::conformance::{Judge, JudgeOptions, Verdict};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new();
//! let target = client.profiles().resolve("localhost:9999/Default")?;
//! let connector = client.connector(&target.endpoint, None)?;
//! let mut options = JudgeOptions::default();
//! options.databases = target.databases();
//! let mut judge = Judge::new(connector, target.endpoint.host(), target.endpoint.port(), options);
//! judge.learn().await;
//! while let Some(finding) = judge.next().await {
//!     if let Verdict::Fail { wanted, came } = &finding.verdict {
//!         println!("{} ({}): wanted {wanted}, but {came} came", finding.check.name, finding.check.section);
//!     }
//! }
//! std::fs::write("report.xml", judge.report("localhost:9999").to_junit())?;
//! # Ok(())
//! # }
//! ```

mod answers;
mod check;
mod checks;
mod judge;
mod junit;
mod offer;
mod report;
mod requests;
mod trial;

pub use self::check::{Check, Level, Verdict};
pub use self::checks::{Permission, all as all_checks};
pub use self::judge::{Judge, JudgeLimits, JudgeOptions};
pub use self::offer::Offer;
pub use self::report::{Count, Finding, Report};
pub use self::trial::Exchange;

#[cfg(test)]
mod tests;
