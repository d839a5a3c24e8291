//! Judges a server by Z39.50-2003, or by SRU 1.1, 1.2 and 2.0. Each check opens a new session or connection and sends valid
//! requests, some of them with unusual values. It compares the answers with the standard, its clarifications, RFC 2056 and the
//! expectations of clients.
//!
//! ```no_run
//! use z3950::Client;
//! use z3950_judge::server::{Judge, JudgeOptions, Verdict};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new();
//! let target = client.profiles().resolve("localhost:2100/books")?;
//! let connector = client.connector(&target.endpoint, None)?;
//! let mut options = JudgeOptions::default();
//! options.databases = target.databases();
//! let mut judge = Judge::new(connector, target.endpoint.host(), target.endpoint.port(), options);
//! judge.learn().await;
//! while let Some(finding) = judge.next().await {
//!     if let Verdict::Fail { wanted, came } = &finding.verdict {
//!         println!("{} ({}): wanted {wanted}, but {came} came", finding.requirement.name, finding.requirement.section);
//!     }
//! }
//! std::fs::write("report.xml", judge.report("localhost:2100").to_junit())?;
//! # Ok(())
//! # }
//! ```

mod answers;
mod check;
mod checks;
mod exchange;
mod finding;
mod judge;
mod learn;
mod ledger;
mod offer;
mod options;
mod report;
mod requests;
mod schedule;
mod secrets;
mod sru;
mod trial;
mod verdict;

pub use self::check::Check;
pub use self::checks::{Permission, all as all_checks};
pub use self::finding::Finding;
pub use self::judge::Judge;
pub use self::ledger::Exchange;
pub use self::offer::{MissingPrerequisite, Offer, ServerOffer, SruOffer};
pub use self::options::{JudgeLimits, JudgeOptions};
pub use self::report::{Count, Report};
pub use self::sru::checks::all as all_sru_checks;
pub use self::verdict::Verdict;

#[cfg(test)]
mod tests;
